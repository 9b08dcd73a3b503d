//! The raw store and leases on a partitioned table: the server names the partition that refused a
//! row.

use std::time::Duration;

use idem_runtime::policy::{Lease, OnLapse};
use idem_runtime::store::Outcome;
use idem_runtime::{Error, IdempotencyKey};
use idem_tests::postgres::{Shop, fresh_key};
use idem_tests::settings::store;
use serde_json::json;
use sqlx::{AssertSqlSafe, Executor as _};

use crate::refusals::{PARTITIONED, like};

async fn partitioned() -> (Shop, IdempotencyKey) {
    let shop = Shop::open(2).await;
    shop.run(PARTITIONED).await;
    let first = fresh_key();
    let store = store();
    let mut tx = shop.pool.begin().await.expect("a transaction");
    let mut bound = store.in_connection(&mut *tx);
    let claimed = bound.begin(&first, "pay", &json!({"amount": 1})).await;
    let Ok(Outcome::Fresh(claim)) = claimed else {
        panic!("{claimed:?}");
    };
    let recorded = bound.commit(claim, &json!({"id": 1})).await;
    recorded.expect("recorded");
    tx.commit().await.expect("committed");
    (shop, first)
}

#[tokio::test]
async fn a_claim_of_the_store_that_meets_a_competitors_record_in_a_partition_needs_a_fresh_transaction()
 {
    let (shop, first) = partitioned().await;
    let (store, key) = (store(), fresh_key());
    let mut tx = shop.pool.begin().await.expect("a transaction");
    let mut bound = store.in_connection(&mut *tx);
    let claimed = bound.begin(&key, "pay", &json!({"amount": 1})).await;
    let Ok(Outcome::Fresh(claim)) = claimed else {
        panic!("{claimed:?}");
    };
    shop.run(&like(&first, &key)).await;
    let refused = bound.commit(claim, &json!({"id": 2})).await;
    assert!(
        matches!(refused, Err(Error::FreshTransactionNeeded)),
        "{refused:?}"
    );
    tx.rollback().await.expect("nothing of it is kept");
    let mut tx = shop.pool.begin().await.expect("a transaction");
    let mut bound = store.in_connection(&mut *tx);
    let again = bound.begin(&key, "pay", &json!({"amount": 1})).await;
    assert!(
        matches!(again, Ok(Outcome::PriorResult { .. })),
        "{again:?}"
    );
}

#[tokio::test]
async fn a_lease_that_meets_a_competitors_record_in_a_partition_is_answered_by_it() {
    let (shop, first) = partitioned().await;
    let (store, key) = (store(), fresh_key());
    let mut observer = shop.observer().await;
    let mut competitor = shop.pool.begin().await.expect("a transaction");
    let insert = AssertSqlSafe(like(&first, &key));
    competitor
        .execute(sqlx::raw_sql(insert))
        .await
        .expect("written");
    let mut connection = shop.database.connect().await;
    let lease = Lease::new(Duration::from_mins(5), OnLapse::Unknown).expect("within bounds");
    let mut bound = store.in_connection(&mut connection);
    let request = json!({"amount": 1});
    let (asked, ()) = tokio::join!(bound.begin_leased(&key, "pay", &request, lease), async {
        observer.until_blocked(1).await;
        competitor.commit().await.expect("committed");
    });
    assert!(
        matches!(asked, Ok(Outcome::PriorResult { .. })),
        "{asked:?}"
    );
}
