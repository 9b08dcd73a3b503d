//! Stands for authentication: whose request it is, in the header `x-tenant`.

use std::task::{Context, Poll};

use http::Request;
use idem_runtime::Scope;
use tower::{Layer, Service};

#[derive(Debug, Clone, Copy)]
pub(crate) struct TenantLayer;

#[derive(Debug, Clone)]
pub(crate) struct TenantService<S>(S);

impl<S> Layer<S> for TenantLayer {
    type Service = TenantService<S>;

    fn layer(&self, inner: S) -> Self::Service {
        TenantService(inner)
    }
}

impl<S: Service<Request<B>>, B> Service<Request<B>> for TenantService<S> {
    type Response = S::Response;
    type Error = S::Error;
    type Future = S::Future;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        self.0.poll_ready(cx)
    }

    fn call(&mut self, mut request: Request<B>) -> S::Future {
        let tenant = request.headers().get("x-tenant");
        if let Some(tenant) = tenant.and_then(|tenant| tenant.to_str().ok()) {
            let scope = Scope::new(tenant).expect("a scope");
            request.extensions_mut().insert(scope);
        }
        self.0.call(request)
    }
}
