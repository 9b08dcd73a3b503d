//! The route, without a server.

use idem_axum::testing::{post_json, send, twice};
use idem_runtime::testing;
use sqlx::SqlitePool;
use testing_handlers::web::app;
use testing_handlers::{PlaceOrder, Placed};

fn order(item: &str) -> PlaceOrder {
    let item = item.to_owned();
    PlaceOrder { item }
}

#[sqlx::test]
async fn a_retry_over_http_is_a_replay(pool: SqlitePool) {
    testing::install(&pool).await;
    let app = app(pool);
    let placed = twice(&app, || post_json("/orders", "order-1", &order("tea"))).await;
    assert_eq!(placed.status, 201);
    assert_eq!(placed.json::<Placed>().number, 1);

    let refused = send(&app, post_json("/orders", "order-1", &order("coffee"))).await;
    assert_eq!(
        (refused.status.as_u16(), &*refused.problem().code),
        (422, "mismatch")
    );
}

#[sqlx::test]
#[should_panic(expected = "is no replay of the first")]
async fn a_refusal_that_is_not_recorded_is_no_replay(pool: SqlitePool) {
    testing::install(&pool).await;
    let app = app(pool);
    twice(&app, || post_json("/orders", " ", &order("tea"))).await;
}
