//! A middleware of the RPC server that sees what each call says of its key.

use std::sync::Arc;

use idem_runtime::meta::MetaNames;
use jsonrpsee_core::middleware::{Batch, BatchEntry, Notification, Request, RpcServiceT};
use serde_json::value::RawValue;
use tower_layer::Layer;

use crate::key::{Position, Sent};

/// A middleware of the RPC server that puts into the extensions of each call what it says of its key, and whether it is alone or
/// in a batch. It knows batches, so it is needed for the header ([`HeaderLayer`](crate::HeaderLayer)). The method then reads
/// the key, by its own names: those of its [`Module`](crate::Module), or those given to [`key`](crate::key()).
///
/// ```
/// use idem_jsonrpc::IdempotencyLayer;
/// use jsonrpsee::server::Server;
/// use jsonrpsee::server::middleware::rpc::RpcServiceBuilder;
///
/// let rpc = RpcServiceBuilder::new().layer(IdempotencyLayer::default());
/// let builder = Server::builder().set_rpc_middleware(rpc);
/// ```
///
/// jsonrpsee runs no method for a notification, with a key or without: nothing happens, and nobody is told. If a
/// notification has a key, its sender seems to expect an effect, and the layer emits a warning (`tracing`, target `idem`).
#[derive(Debug, Clone, Default)]
pub struct IdempotencyLayer {
    names: Arc<MetaNames>,
}

impl IdempotencyLayer {
    /// Creates a layer that knows a notification's key by these names. [`Module::layer`](crate::Module::layer) makes one with
    /// the names of a module.
    pub fn new(names: MetaNames) -> Self {
        Self {
            names: Arc::new(names),
        }
    }

    pub(crate) fn shared(names: &Arc<MetaNames>) -> Self {
        Self {
            names: Arc::clone(names),
        }
    }
}

impl<S> Layer<S> for IdempotencyLayer {
    type Service = IdempotencyService<S>;

    fn layer(&self, inner: S) -> Self::Service {
        IdempotencyService {
            inner,
            names: Arc::clone(&self.names),
        }
    }
}

/// The service of an [`IdempotencyLayer`].
#[derive(Debug, Clone)]
pub struct IdempotencyService<S> {
    inner: S,
    names: Arc<MetaNames>,
}

impl<S> IdempotencyService<S> {
    fn insert(request: &mut Request<'_>, position: Position) {
        let params = request.params.as_deref().map(RawValue::get);
        let sent = Sent::of(params, position);
        request.extensions.insert(sent);
    }

    fn look_at(&self, notification: &Notification<'_>, position: Position) {
        let params = notification.params.as_deref().map(RawValue::get);
        let key = Sent::of(params, position).key(&notification.extensions, &self.names);
        if key.is_meant() {
            tracing::warn!(
                target: "idem",
                method = notification.method_name(),
                "a notification has an idempotency key, but notifications run no method: send a call with an id"
            );
        }
    }
}

impl<S: RpcServiceT> RpcServiceT for IdempotencyService<S> {
    type MethodResponse = S::MethodResponse;
    type NotificationResponse = S::NotificationResponse;
    type BatchResponse = S::BatchResponse;

    fn call<'a>(
        &self,
        mut request: Request<'a>,
    ) -> impl Future<Output = Self::MethodResponse> + Send + 'a {
        Self::insert(&mut request, Position::Single);
        self.inner.call(request)
    }

    fn batch<'a>(
        &self,
        mut batch: Batch<'a>,
    ) -> impl Future<Output = Self::BatchResponse> + Send + 'a {
        for entry in batch.iter_mut().flatten() {
            match entry {
                BatchEntry::Call(request) => Self::insert(request, Position::InBatch),
                BatchEntry::Notification(notification) => {
                    self.look_at(notification, Position::InBatch);
                }
            }
        }
        self.inner.batch(batch)
    }

    fn notification<'a>(
        &self,
        notification: Notification<'a>,
    ) -> impl Future<Output = Self::NotificationResponse> + Send + 'a {
        self.look_at(&notification, Position::Single);
        self.inner.notification(notification)
    }
}
