//! JSON-RPC: jsonrpsee's server as a service of tower, with the layer of its HTTP server and that of the calls.

use bytes::Bytes;
use http::Request;
use http_body_util::{BodyExt as _, Full};
use idem_jsonrpc::{Call, HeaderLayer, Module, Refusal};
use idem_runtime::IdempotencyKey;
use idem_tests_counting::Ledger;
use jsonrpsee::RpcModule;
use jsonrpsee::server::middleware::rpc::RpcServiceBuilder;
use jsonrpsee::server::{HttpResponse, Server, stop_channel};
use jsonrpsee::types::ErrorObjectOwned;
use serde_json::{Value, json};
use tower::Service as _;

use crate::Outcome;
use crate::at_once::{self, AnswerKind};
use crate::shop::{self, KEY, ORDER, Order, Outcomes, PlaceOrder};
use crate::stretch::JSONRPC;

const METHOD: &str = "orders.place";

fn bare() -> Outcome<RpcModule<()>> {
    let mut methods = RpcModule::new(());
    methods.register_async_method(METHOD, |params, _, _| async move {
        let order: Order = params.parse()?;
        Ok::<_, ErrorObjectOwned>(shop::placed(order))
    })?;
    Ok(methods)
}

fn edge() -> Outcome<Module<()>> {
    let mut methods = Module::new(());
    methods.register_idempotent(
        METHOD,
        PlaceOrder,
        |order: Order, key: IdempotencyKey, _: Call<()>| async move {
            shop::outcome_of(&key, order).map_err(Refusal::from)
        },
    )?;
    Ok(methods)
}

pub(crate) fn measure(ledger: &mut Ledger, outcomes: &Outcomes) -> Outcome {
    let (stop, _server) = stop_channel();
    let bare = Server::builder()
        .to_service_builder()
        .build(bare()?, stop.clone());
    let edge = edge()?;
    let edge = Server::builder()
        .set_http_middleware(tower::ServiceBuilder::new().layer(HeaderLayer::new()))
        .set_rpc_middleware(RpcServiceBuilder::new().layer(edge.layer()))
        .to_service_builder()
        .build(edge.into_rpc_module(), stop);
    at_once::measure(
        ledger,
        outcomes,
        &JSONRPC,
        || {
            let (mut service, request) = (bare.clone(), request(false));
            async move { whole(service.call(request).await.expect("an answer")).await }
        },
        || {
            let (mut service, request) = (edge.clone(), request(true));
            async move { whole(service.call(request).await.expect("an answer")).await }
        },
        |answer| kind_of(&answer),
    )
}

/// A request as a server hands it over; with a key it has passed an authentication.
fn request(has_key: bool) -> Request<Full<Bytes>> {
    let mut params: Value = serde_json::from_str(ORDER).expect("JSON");
    let mut request = Request::post("/").header("content-type", "application/json");
    if has_key {
        params["_meta"] = json!({ "dev.idem/idempotencyKey": KEY });
        request = request.extension(shop::scope());
    }
    let call = json!({ "jsonrpc": "2.0", "id": 1, "method": METHOD, "params": params });
    let body = Full::from(call.to_string());
    request.body(body).expect("a request")
}

async fn whole(response: HttpResponse) -> Bytes {
    let body = response.into_body().collect().await;
    body.expect("a whole body").to_bytes()
}

fn kind_of(answer: &[u8]) -> AnswerKind {
    let answer: Value = serde_json::from_slice(answer).expect("JSON");
    if answer["result"]["_meta"]["dev.idem/idempotentReplayed"] == true {
        AnswerKind::Replay
    } else if answer["result"]["number"] == 2 {
        AnswerKind::Result
    } else {
        assert_eq!(answer["error"]["data"]["status"], 422, "{answer}");
        AnswerKind::Refusal
    }
}
