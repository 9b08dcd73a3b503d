//! What tonic's client sends.

use std::collections::HashMap;

use idem_tests_grpc::proto::{Order, Placed};
use tonic::{Request, Response, Status};

pub(crate) use crate::refusals::{Refused, is_replay, refused, why};
use crate::shop::Shop;

/// An order of `item` by the tenant `acme`, without a key.
pub(crate) fn unkeyed(item: &str) -> Request<Order> {
    let sizes = HashMap::new();
    let item = item.to_owned();
    let mut request = Request::new(Order { item, sizes });
    let metadata = request.metadata_mut();
    metadata.insert("x-tenant", "acme".parse().expect("ASCII"));
    request
}

/// The same under `key`.
pub(crate) fn order(key: &str, item: &str) -> Request<Order> {
    let mut request = unkeyed(item);
    let metadata = request.metadata_mut();
    metadata.insert("idempotency-key", key.parse().expect("ASCII"));
    request
}

/// Places an order.
pub(crate) async fn send_order(
    shop: &Shop,
    request: Request<Order>,
) -> Result<Response<Placed>, Status> {
    shop.client().place(request).await
}
