//! Statements kept by name behind a pooler in transaction mode, whose clients share one server connection:
//! each client counts its names from `sqlx_s_1` on.

use idem_runtime::{Error, IdempotencyKey, idempotent};
use idem_tests::postgres::payments::{self, Paid, Pay, PayError};
use idem_tests::postgres::{Pooler, Shop, fresh_key};
use sqlx::postgres::PgTransaction;
use sqlx::{AssertSqlSafe, Connection as _, Executor as _, PgConnection, PgPool, SqlSafeStr as _};

const CMD: Pay = Pay { amount: 1 };

/// Pays by a statement without a name.
#[idempotent(namespace = "payments", operation = "pay")]
async fn pay(
    tx: &mut PgTransaction<'_>,
    key: &IdempotencyKey,
    cmd: &Pay,
) -> Result<Paid, PayError> {
    let id = sqlx::query_scalar("INSERT INTO payment (key, amount) VALUES ($1, $2) RETURNING id")
        .bind(key.as_str())
        .bind(cmd.amount)
        .persistent(false)
        .fetch_one(&mut **tx)
        .await?;
    Ok(Paid { id })
}

struct Clients {
    pooler: Pooler,
    shop: Shop,
    first: PgPool,
    second: PgPool,
}

impl Clients {
    /// Two clients that keep statements, whose units of work are fused or not.
    async fn open(fused: &str) -> Self {
        let (database, pooler) = Pooler::with_one_server().await;
        Self {
            first: careless(&pooler, fused),
            second: careless(&pooler, fused),
            shop: Shop::furnish(database, 1).await,
            pooler,
        }
    }

    /// Makes the server connection forget statements.
    async fn forget(&self, names: &[&str]) {
        for name in names {
            let mut client = self.pooler.connect().await;
            let text = AssertSqlSafe(format!("DEALLOCATE {name}"));
            client.execute(text).await.expect(name);
        }
    }

    /// A third client, whose first statement by name this is.
    async fn prepare(&self, statement: &'static str) {
        let options = self.pooler.careless_options();
        let mut client = PgConnection::connect_with(&options)
            .await
            .expect("a client");
        client
            .prepare(statement.into_sql_str())
            .await
            .expect(statement);
        // Gone without a word: the pooler keeps the server connection as it is.
        client.close_hard().await.expect("it is closed");
    }

    async fn names(&self) -> Vec<String> {
        sqlx::query_scalar(
            "SELECT name FROM pg_prepared_statements WHERE name LIKE 'sqlx%' ORDER BY name",
        )
        .persistent(false)
        .fetch_all(&mut self.pooler.connect().await)
        .await
        .expect("the server answers")
    }
}

fn careless(pooler: &Pooler, fused: &str) -> PgPool {
    pooler.pool(
        1,
        pooler.careless_options().options([("idem.fused", fused)]),
    )
}

/// The SQLSTATE of the body's own error.
fn of_the_body(answer: Result<idem_runtime::Replayable<Paid>, PayError>) -> String {
    match answer {
        Err(PayError::Database(error)) => {
            let error = error.as_database_error().expect("the server's word");
            error.code().expect("a SQLSTATE").into_owned()
        }
        other => panic!("no error of the body: {other:?}"),
    }
}

#[tokio::test]
async fn a_bodys_statement_kept_by_name_meets_anothers_behind_a_pooler_and_has_no_second_effect() {
    let clients = Clients::open("on").await;
    let Clients { shop, first, .. } = &clients;
    let key = fresh_key();
    let paid = payments::pay(first, &key, &CMD).await;
    assert!(!paid.expect("nobody else is there").replayed());
    assert_eq!(clients.names().await, ["sqlx_s_1"]);

    // The name is taken, and the next one is not.
    let key = fresh_key();
    let refused = payments::pay(&clients.second, &key, &CMD).await;
    assert_eq!(of_the_body(refused), "42P05");
    shop.assert_no_effect(&key).await;
    let paid = payments::pay(&clients.second, &key, &CMD).await;
    assert!(!paid.expect("by another name").replayed());
    shop.assert_one_effect(&key).await;

    // It is not known here, or is that of a statement with fewer values.
    let key = fresh_key();
    clients.forget(&["sqlx_s_1"]).await;
    let refused = payments::pay(first, &key, &CMD).await;
    assert_eq!(of_the_body(refused), "26000");
    clients.prepare("SELECT $1::int").await;
    let refused = payments::pay(first, &key, &CMD).await;
    assert_eq!(of_the_body(refused), "08P01");
    shop.assert_no_effect(&key).await;

    // It is that of a statement which takes the same values: that one runs, and no error tells.
    clients.forget(&["sqlx_s_1"]).await;
    clients
        .prepare("SELECT 0 * length($1::text) + $2::bigint AS id")
        .await;
    for replayed in [false, true] {
        let paid = payments::pay(first, &key, &CMD).await;
        let paid = paid.expect("somebody's statement runs");
        assert_eq!((paid.id, paid.replayed()), (CMD.amount, replayed));
    }
    assert_eq!(shop.effects(&key).await, (0, 1));
}

/// Before a body the call heals, as often as once; behind it, it is refused as retryable.
#[tokio::test]
async fn the_librarys_statements_kept_by_name_behind_a_pooler_are_prepared_anew() {
    let clients = Clients::open("off").await;
    let Clients { shop, first, .. } = &clients;
    let healed = async |pool: &PgPool, at: &str| {
        let key = fresh_key();
        let paid = pay(pool, &key, &CMD).await;
        let paid = paid.unwrap_or_else(|error| panic!("{at}: {error:?}"));
        assert!(!paid.replayed(), "{at}");
        shop.assert_one_effect(&key).await;
    };
    let refused = async |pool: &PgPool, code: &str| {
        let key = fresh_key();
        let refusal = pay(pool, &key, &CMD).await.expect_err(code).refusal();
        let Error::StatementsLost(error) = &refusal else {
            panic!("{code}: {refusal:?}");
        };
        assert_eq!(error.code().as_deref(), Some(code));
        assert!(refusal.is_retryable());
        let text = refusal.to_string();
        assert!(text.contains("statement_cache_capacity(0)"), "{text}");
        shop.assert_no_effect(&key).await;
        let paid = pay(pool, &key, &CMD).await;
        assert!(!paid.expect("by other names").replayed(), "{code}");
        shop.assert_one_effect(&key).await;
    };
    healed(first, "nobody else is there").await;
    // The look-up's and the record's.
    assert_eq!(clients.names().await, ["sqlx_s_1", "sqlx_s_2"]);

    // Both of the first attempts meet a name that is taken.
    refused(&clients.second, "42P05").await;
    clients.forget(&["ALL"]).await;
    clients.prepare("SELECT 1").await;
    let third = careless(&clients.pooler, "off");
    healed(&third, "the first name is taken").await;
    assert_eq!(clients.names().await, ["sqlx_s_1", "sqlx_s_2", "sqlx_s_3"]);

    // The look-up's is not known, or another's with fewer values or with values of another form.
    clients.forget(&["ALL"]).await;
    healed(&third, "all are forgotten").await;
    for statement in [
        "SELECT $1::int",
        "SELECT $1::int4, $2::int4, $3::int4",
        "SELECT $1::int8, $2::int8, $3::int8",
    ] {
        clients.forget(&["ALL"]).await;
        let fourth = careless(&clients.pooler, "off");
        healed(&fourth, "nobody else is there").await;
        clients.forget(&["ALL"]).await;
        clients.prepare(statement).await;
        healed(&fourth, statement).await;
    }

    // The record's: after a body, whose writes are undone.
    clients.forget(&["ALL"]).await;
    let fifth = careless(&clients.pooler, "off");
    healed(&fifth, "nobody else is there").await;
    clients.forget(&["sqlx_s_2"]).await;
    refused(&fifth, "26000").await;
}
