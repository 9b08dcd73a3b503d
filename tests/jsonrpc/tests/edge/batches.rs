//! Batches: each call has a key of its own.

use idem_tests_jsonrpc::Shop;
use serde_json::{Value, json};

use crate::client::{call, order, parsed, refusal, request, send, text};

fn numbered(id: u8, mut call: Value) -> Value {
    call["id"] = json!(id);
    call
}

#[tokio::test]
async fn each_call_of_a_batch_has_its_own_key_and_two_with_one_key_are_one_intent() {
    let shop = Shop::open().await;
    let batch = json!([
        numbered(1, order("a", "tea")),
        numbered(2, order("b", "tea")),
        numbered(3, order("a", "tea")),
        numbered(4, order("a", "coffee")),
        numbered(5, call("orders.place", None, json!({ "item": "tea" }))),
        numbered(6, call("orders.count", None, json!({}))),
    ]);
    let answers = send(&shop, &batch).await;
    let numbers = (0..3).map(|at| answers[at]["result"]["number"].clone());
    assert_eq!(numbers.collect::<Vec<_>>(), [json!(1), json!(2), json!(1)]);
    let replayed =
        |at: usize| answers[at]["result"]["_meta"]["dev.idem/idempotentReplayed"].clone();
    assert_eq!(
        [replayed(0), replayed(1), replayed(2)],
        [json!(null), json!(null), json!(true)]
    );
    assert_eq!(refusal(&answers[3]), (-32041, "mismatch"));
    assert_eq!(refusal(&answers[4]), (-32602, "key-missing"));
    assert_eq!(answers[5]["result"], 2);
    // The same batch again.
    let again = send(&shop, &batch).await;
    let numbers = (0..3).map(|at| again[at]["result"]["number"].clone());
    assert_eq!(numbers.collect::<Vec<_>>(), [json!(1), json!(2), json!(1)]);
    assert_eq!(shop.count().await, (2, 2));
}

#[tokio::test]
async fn a_batch_with_the_header_is_refused_by_its_name() {
    let shop = Shop::open().await;
    let batch = json!([
        numbered(1, order("a", "tea")),
        numbered(2, call("orders.place", None, json!({ "item": "tea" }))),
        numbered(3, call("orders.note", None, json!({ "a": 1 }))),
    ]);
    let keyed = request(&shop, &batch).header("idempotency-key", "a");
    let answers = parsed(&text(keyed).await);
    for at in 0..3 {
        assert_eq!(refusal(&answers[at]), (-32602, "invalid"));
        assert_eq!(
            answers[at]["error"]["data"]["detail"],
            "header `Idempotency-Key` is for a single call: give each call of a batch or of a socket a key of its own, in its `params._meta`"
        );
    }
    // So is a batch of one.
    let one = request(&shop, &json!([order("a", "tea")])).header("idempotency-key", "a");
    assert_eq!(refusal(&parsed(&text(one).await)[0]), (-32602, "invalid"));
    assert_eq!(shop.count().await, (0, 0));
}
