//! One call of a service that cannot leave its worker, made from a task that may.

use std::any::Any;
use std::fmt;
use std::panic::{AssertUnwindSafe, resume_unwind};
use std::pin::pin;
use std::rc::Rc;

use actix_web::body::{BoxBody, MessageBody};
use actix_web::dev::{Payload, Service, ServiceRequest, ServiceResponse};
use actix_web::{Error, HttpMessage as _, HttpRequest, HttpResponse, rt};
use futures_util::FutureExt as _;
use futures_util::future::{Either, select};
use idem_runtime::Attempt;
use idem_tower::Buffered;
use tokio::sync::oneshot;
use tracing::{Instrument as _, Span};

use crate::convert;
use crate::sent_body::{self, SentBody};

/// What the service is called with, and where its response goes: they may leave the worker.
pub(crate) struct Handoff {
    begin: oneshot::Sender<(http::Request<Buffered>, Span)>,
    answer: oneshot::Receiver<Result<http::Response<SentBody>, Panic>>,
}

type Panic = Box<dyn Any + Send>;

/// Marks a response that is the service's, among its extensions: others are the layer's.
#[derive(Debug, Clone, Copy)]
pub(crate) struct OfService;

/// The worker has ended the service before its response.
#[derive(Debug)]
pub(crate) struct WorkerGone;

impl fmt::Display for WorkerGone {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the worker ended before the service answered")
    }
}

impl std::error::Error for WorkerGone {}

/// What stays on the worker.
pub(crate) enum OnWorker {
    /// The service was not called.
    Request(HttpRequest),
    /// The head of the service's response.
    Response(HttpRequest, HttpResponse<()>),
    /// The service's error, of which the response was made.
    Error(Error),
}

/// Waits on this worker for the call, and makes it if it comes. The call goes on if the receiver is dropped.
pub(crate) fn prepare<S, B>(
    service: Rc<S>,
    request: HttpRequest,
) -> (Handoff, oneshot::Receiver<OnWorker>)
where
    S: Service<ServiceRequest, Response = ServiceResponse<B>, Error = Error> + 'static,
    B: MessageBody + 'static,
{
    let (begin, request_to_serve) = oneshot::channel();
    let (answered, answer) = oneshot::channel();
    let (stays, on_worker) = oneshot::channel();
    let waiting = async move {
        // The receivers may be gone: with their client, or with their worker.
        match request_to_serve.await {
            Ok((plain, span)) => {
                let served = serve(&*service, request, plain, stays, answered);
                served.instrument(span).await;
            }
            Err(_) => drop(stays.send(OnWorker::Request(request))),
        }
    };
    rt::spawn(waiting);
    (Handoff { begin, answer }, on_worker)
}

async fn serve<S, B>(
    service: &S,
    request: HttpRequest,
    plain: http::Request<Buffered>,
    stays: oneshot::Sender<OnWorker>,
    mut answered: oneshot::Sender<Result<http::Response<SentBody>, Panic>>,
) where
    S: Service<ServiceRequest, Response = ServiceResponse<B>, Error = Error>,
    B: MessageBody + 'static,
{
    let (parts, body) = plain.into_parts();
    let mut request = ServiceRequest::from_parts(request, Payload::from(body.data().clone()));
    let call = AssertUnwindSafe(async move {
        // The layer has edited them.
        convert::set_headers(request.headers_mut(), &parts.headers);
        if let Some(attempt) = parts.extensions.get::<Attempt>() {
            request.extensions_mut().insert(attempt.clone());
        }
        answer_of(service.call(request).await)
    })
    .catch_unwind();
    // As a future of tower is dropped: whoever waits has given the run up.
    let served = match select(pin!(call), pin!(answered.closed())).await {
        Either::Left((served, _)) => served,
        Either::Right(_) => return,
    };
    let (on_worker, plain, body) = match served {
        Ok(answer) => answer,
        Err(panic) => {
            let _ = answered.send(Err(panic));
            return;
        }
    };
    let (body, sender) = sent_body::channel(body);
    let mut response = plain.map(|()| body);
    response.extensions_mut().insert(OfService);
    // The order counts: whoever has the answer finds what has stayed.
    let _ = stays.send(on_worker);
    if answered.send(Ok(response)).is_ok() {
        sender.send().await;
    }
}

/// Splits an answer into what stays on the worker, and the head and the body that leave it. The response of an error is made here
/// once: an error may have no other.
fn answer_of<B: MessageBody + 'static>(
    answer: Result<ServiceResponse<B>, Error>,
) -> (OnWorker, http::Response<()>, BoxBody) {
    match answer {
        Ok(response) => {
            let (request, response) = response.into_parts();
            let (head, body) = response.into_parts();
            let plain = convert::plain_head(&head);
            (OnWorker::Response(request, head), plain, body.boxed())
        }
        Err(error) => {
            let (head, body) = error.error_response().into_parts();
            (OnWorker::Error(error), convert::plain_head(&head), body)
        }
    }
}

impl Handoff {
    /// Calls the service with this request.
    ///
    /// # Errors
    /// Returns [`WorkerGone`] if the service did not come to its response.
    ///
    /// # Panics
    /// Panics if the service does.
    pub(crate) async fn call(
        self,
        request: http::Request<Buffered>,
    ) -> Result<http::Response<SentBody>, WorkerGone> {
        // The service's spans are below that of the run.
        let begun = self.begin.send((request, Span::current()));
        begun.map_err(|_| WorkerGone)?;
        match self.answer.await {
            Ok(Ok(response)) => Ok(response),
            Ok(Err(panic)) => resume_unwind(panic),
            Err(_) => Err(WorkerGone),
        }
    }
}
