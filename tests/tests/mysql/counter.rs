//! A table with an `AUTO_INCREMENT` column.

use idem_tests::mysql::payments::{Pay, pay};
use idem_tests::mysql::{Shop, fresh_key};
use sqlx::MySqlPool;

const CMD: Pay = Pay { amount: 1 };

/// Returns how many statements a further call sends in a session that has called before.
async fn statements(pool: &MySqlPool) -> Vec<i64> {
    let mut costs = Vec::new();
    let asked = "SELECT CAST(variable_value AS SIGNED) FROM information_schema.session_status \
         WHERE variable_name = 'QUESTIONS'";
    for _ in 0..5 {
        let before: i64 = sqlx::query_scalar(asked)
            .fetch_one(pool)
            .await
            .expect("a count");
        pay(pool, &fresh_key(), &CMD).await.expect("fresh");
        let after: i64 = sqlx::query_scalar(asked)
            .fetch_one(pool)
            .await
            .expect("a count");
        costs.push(after - before);
    }
    costs.split_off(2)
}

#[tokio::test]
async fn a_call_costs_no_more_where_the_table_has_a_counter_of_its_own() {
    let plain = Shop::open(1).await;
    let counted = Shop::open(1).await;
    counted
        .run("ALTER TABLE idem_record ADD COLUMN id BIGINT NOT NULL AUTO_INCREMENT UNIQUE")
        .await;
    assert_eq!(
        statements(&counted.pool).await,
        statements(&plain.pool).await
    );
}
