//! A middleware that stops a worker before or behind its request.

use std::sync::Arc;

use http::Extensions;
use idem_tests::patience::in_time;
use reqwest::{Request, Response};
use reqwest_middleware::{ClientBuilder, ClientWithMiddleware, Middleware, Next, Result};
use tokio::sync::Semaphore;

use crate::subject::client;

/// Where it stops.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stop {
    BeforeSending,
    WithTheAnswer,
}

#[derive(Clone)]
pub(crate) struct Gate {
    stop: Stop,
    came: Arc<Semaphore>,
    opened: Arc<Semaphore>,
}

impl Gate {
    pub(crate) fn at(stop: Stop) -> Self {
        Self {
            stop,
            came: Arc::new(Semaphore::new(0)),
            opened: Arc::new(Semaphore::new(0)),
        }
    }

    /// Returns a client that stops here.
    pub(crate) fn client(&self) -> ClientWithMiddleware {
        ClientBuilder::from_client(client())
            .with(self.clone())
            .build()
    }

    /// Waits until a request has come.
    pub(crate) async fn until_come(&self) {
        let came = in_time("a request comes to the gate", self.came.acquire()).await;
        came.expect("it is never closed").forget();
    }

    /// Lets one request go on.
    pub(crate) fn open(&self) {
        self.opened.add_permits(1);
    }

    async fn pass(&self) {
        self.came.add_permits(1);
        let opened = self.opened.acquire().await;
        opened.expect("it is never closed").forget();
    }
}

#[async_trait::async_trait]
impl Middleware for Gate {
    async fn handle(
        &self,
        request: Request,
        extensions: &mut Extensions,
        next: Next<'_>,
    ) -> Result<Response> {
        if self.stop == Stop::BeforeSending {
            self.pass().await;
        }
        let response = next.run(request, extensions).await;
        if self.stop == Stop::WithTheAnswer {
            self.pass().await;
        }
        response
    }
}
