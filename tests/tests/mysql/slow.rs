//! A COMMIT that the server delays: it is killed, dropped, or waited for.

use idem_runtime::Error;
use idem_tests::mysql::payments::{Pay, pay};
use idem_tests::mysql::{Options, Server, Shop, fresh_key};
use idem_tests::proxy::{Fate, Proxy};
use sqlx::{Executor as _, MySqlConnection};

use crate::competitors::payer;

const CMD: Pay = Pay { amount: 1 };

/// A separate server whose COMMITs wait for the session beside it.
async fn held() -> (Server, Shop, MySqlConnection) {
    let server = Server::start(&Options::new()).expect("a server");
    let shop = Shop::open_on(&server, 1).await;
    let mut holder = shop.database.connect().await;
    for stage in ["START", "FLUSH", "BLOCK_DDL", "BLOCK_COMMIT"] {
        let order = sqlx::AssertSqlSafe(format!("BACKUP STAGE {stage}"));
        holder.execute(order).await.expect("no other backup runs");
    }
    (server, shop, holder)
}

async fn let_go(holder: &mut MySqlConnection) {
    holder
        .execute("BACKUP STAGE END")
        .await
        .expect("it is ours");
}

const COMMITS: &str = "EXISTS (SELECT 1 FROM information_schema.processlist \
     WHERE db = DATABASE() AND info = 'COMMIT' AND state = 'Waiting for backup lock')";

#[tokio::test]
async fn a_session_killed_in_commit_is_resolved_and_never_paid_twice() {
    let (_server, shop, mut holder) = held().await;
    let key = fresh_key();
    let kill = async {
        let mut observer = shop.observer().await;
        observer.until(COMMITS).await;
        let id: i64 = sqlx::query_scalar(
            "SELECT id FROM information_schema.processlist WHERE db = DATABASE() AND info = 'COMMIT'",
        )
        .fetch_one(&mut shop.database.connect().await)
        .await
        .expect("it is shown");
        let kill = sqlx::AssertSqlSafe(format!("KILL CONNECTION {id}"));
        shop.database
            .connect()
            .await
            .execute(kill)
            .await
            .expect("it lives");
        observer.until_gone(u64::try_from(id).expect("an id")).await;
        let_go(&mut holder).await;
    };
    let (paid, ()) = tokio::join!(pay(&shop.pool, &key, &CMD), kill);
    let effects = shop.effects(&key).await;
    match paid {
        Ok(paid) => {
            assert!(!paid.replayed());
            assert_eq!(effects, (1, 1));
        }
        Err(error) => {
            let refusal = error.refusal();
            assert!(matches!(refusal, Error::Unavailable(_)), "{refusal:?}");
            assert_eq!(effects, (0, 0));
        }
    }
    let paid = pay(&shop.pool, &key, &CMD).await.expect("a retry is safe");
    assert_eq!(paid.replayed(), effects == (1, 1));
    shop.assert_one_effect(&key).await;
}

#[tokio::test]
async fn a_process_killed_while_its_commit_runs_leaves_its_key_fresh_or_complete() {
    let (_server, shop, mut holder) = held().await;
    let key = fresh_key();
    let (mut child, _lines) = payer(&["once", &shop.database.url(), key.as_str()]);
    let mut observer = shop.observer().await;
    observer.until(COMMITS).await;
    child.kill().await.expect("it runs");
    let_go(&mut holder).await;
    observer.until_no_transaction().await;
    let effects = shop.effects(&key).await;
    assert!(matches!(effects, (0, 0) | (1, 1)), "{effects:?}");
    let paid = pay(&shop.pool, &key, &CMD).await.expect("a retry is safe");
    assert_eq!(paid.replayed(), effects == (1, 1));
    shop.assert_one_effect(&key).await;
}

#[tokio::test]
async fn a_commit_still_running_is_waited_for() {
    let (_server, shop, mut holder) = held().await;
    let key = fresh_key();
    let link = Proxy::to(shop.database.options()).await;
    let pool = shop.pool_by(1, link.options());
    link.next_commit(Fate::CutClient);
    let release = async {
        link.reached().await;
        // The call has lost its session, which is still committing, and has opened another.
        let mut observer = shop.observer().await;
        observer.until(COMMITS).await;
        observer
            .until(
                "(SELECT count(*) FROM information_schema.processlist WHERE db = DATABASE() \
                 AND id <> CONNECTION_ID()) >= 3",
            )
            .await;
        let_go(&mut holder).await;
    };
    let (paid, ()) = tokio::join!(pay(&pool, &key, &CMD), release);
    assert!(!paid.expect("it was executed").replayed());
    let again = pay(&shop.pool, &key, &CMD).await.expect("it is recorded");
    assert!(again.replayed());
    shop.assert_one_effect(&key).await;
}

#[tokio::test]
async fn a_commit_that_runs_on_past_the_bound_is_unknown_and_safe_to_retry() {
    let (_server, shop, mut holder) = held().await;
    let key = fresh_key();
    let link = Proxy::to(shop.database.options()).await;
    let pool = shop.pool_by(1, link.options());
    link.next_commit(Fate::CutClient);
    let refusal = pay(&pool, &key, &CMD).await.expect_err("it still runs");
    let refusal = refusal.refusal();
    assert!(matches!(refusal, Error::CommitUnknown(_)), "{refusal:?}");
    let refusal = pay(&shop.pool, &key, &CMD)
        .await
        .expect_err("it still runs");
    let refusal = refusal.refusal();
    assert!(matches!(refusal, Error::InFlight { .. }), "{refusal:?}");
    let_go(&mut holder).await;
    shop.observer().await.until_no_transaction().await;
    let paid = pay(&shop.pool, &key, &CMD).await.expect("it has ended");
    assert!(paid.replayed());
    shop.assert_one_effect(&key).await;
}
