//! A replay is shown to `authorize` and `on_replay` before it is answered: on every database, in a transaction and
//! under a lease.

mod desk;

use idem_runtime::{Error, ReplayExt as _, schema};
use idem_tests::patience::in_time;
use idem_tests::sqlite::Journal;

use crate::desk::{Cents, Desk, PayError, Payment};

/// The handlers of one database, and their laws. The pool has one connection: a review that ran inside the call's
/// transaction, or before its connection is given back, would wait for ever.
// It would indent the attributes further each time.
#[rustfmt::skip]
macro_rules! on {
    ($name:ident { $database:ty, $pool:ty, $tx:ty } open: $open:expr) => {
        mod $name {
            use std::sync::Arc;

            use idem_runtime::policy::RecordFailures;
            use idem_runtime::{IdempotencyKey, Operation, idempotent};

            use super::*;
            use crate::desk::{act, may_see, may_see_mail, raised};

            type Pool = $pool;

            #[idempotent(
                namespace = "reviewed",
                failures = "record",
                skip(desk),
                allow(pool),
                authorize = may_see,
                on_replay = raised
            )]
            async fn pay(
                tx: &mut $tx,
                key: &IdempotencyKey,
                desk: &Desk<Pool>,
                cents: Cents,
            ) -> Result<Payment, PayError> {
                let _ = tx;
                act(desk, cents)
            }

            #[idempotent(
                namespace = "reviewed",
                lease = "5m",
                failures = "record",
                skip(desk),
                authorize = may_see_mail,
                on_replay = raised_leased
            )]
            async fn mail(
                _: &idem_runtime::Attempt,
                key: &IdempotencyKey,
                desk: Arc<Desk<Pool>>,
                cents: Cents,
            ) -> Result<Payment, PayError> {
                act(&desk, cents)
            }

            async fn raised_leased(
                key: &IdempotencyKey,
                desk: &Arc<Desk<Pool>>,
                cents: &Cents,
                payment: Payment,
            ) -> Result<Payment, PayError> {
                raised(key, desk, cents, payment).await
            }

            async fn open() -> ($database, Arc<Desk<Pool>>) {
                let database: $database = $open;
                let mut conn = database.connect().await;
                schema::create_if_missing(&mut conn).await.expect("made");
                let desk = Desk::of(database.pool(1));
                (database, Arc::new(desk))
            }

            #[tokio::test]
            async fn a_first_run_is_not_reviewed_and_each_replay_is() {
                let (_database, desk) = open().await;
                let key = key("first");
                for (round, asked) in [(0, 0), (1, 1), (2, 2)] {
                    let paid = in_time("the review ends", pay(desk.pool(), &key, &desk, Cents(5)));
                    let paid = paid.await.expect("he may see it");
                    assert_eq!(paid.replayed(), round > 0);
                    // Edited for whoever gets the replay, and not in the record.
                    assert_eq!(paid.id, if round > 0 { 105 } else { 5 });
                    assert_eq!(desk.asked(), vec!["paid 5"; asked]);
                }
                assert_eq!(desk.runs(), 1);
            }

            #[tokio::test]
            async fn who_has_lost_his_right_gets_the_refusal_and_the_record_stays() {
                let (_database, desk) = open().await;
                let key = key("lost");
                pay(desk.pool(), &key, &desk, Cents(5))
                    .await
                    .expect("it ran");
                desk.forbid();
                let denied = pay(desk.pool(), &key, &desk, Cents(5)).replayable().await;
                let denied = denied.expect_err("he may not see it");
                assert!(!denied.replayed());
                assert!(matches!(denied.into_inner(), PayError::Forbidden));
                desk.allow();
                let paid = pay(desk.pool(), &key, &desk, Cents(5))
                    .await
                    .expect("he may again");
                assert!(paid.replayed() && desk.runs() == 1);
            }

            #[tokio::test]
            async fn an_operation_without_the_attribute_is_reviewed_as_well() {
                const PAY: Operation<RecordFailures> = Operation::new("reviewed", "plain").record_failures();

                let (_database, desk) = open().await;
                let pay = async |name: &str, cents: i64| {
                    let key = key(name);
                    let paid = PAY.run_reviewed(
                        desk.pool(),
                        &key,
                        &cents,
                        async |seen| may_see(&key, &desk, &Cents(cents), seen).await,
                        async |payment| raised(&key, &desk, &Cents(cents), payment).await,
                        async |_: &mut $tx| act(&desk, Cents(cents)),
                    );
                    in_time("the review ends", paid.replayable()).await
                };
                for (replayed, id) in [(false, 5), (true, 105)] {
                    let paid = pay("plain", 5).await.expect("he may see it");
                    assert_eq!((paid.replayed(), paid.id), (replayed, id));
                    let failed = pay("failed", -1).await.expect_err("declined");
                    assert_eq!(failed.replayed(), replayed);
                }
                desk.forbid();
                for (name, cents) in [("plain", 5), ("failed", -1)] {
                    let denied = pay(name, cents).await.expect_err("he may not see it");
                    assert!(!denied.replayed());
                    assert!(matches!(denied.into_inner(), PayError::Forbidden));
                }
                assert_eq!(desk.runs(), 2);
            }

            #[tokio::test]
            async fn a_recorded_failure_is_reviewed_and_not_edited() {
                let (_database, desk) = open().await;
                let key = key("failed");
                for replayed in [false, true] {
                    let failed = pay(desk.pool(), &key, &desk, Cents(-1)).replayable().await;
                    let failed = failed.expect_err("declined");
                    assert_eq!(failed.replayed(), replayed);
                    assert!(matches!(failed.into_inner(), PayError::Declined));
                }
                assert_eq!(desk.asked(), ["declined"]);
                desk.forbid();
                let denied = pay(desk.pool(), &key, &desk, Cents(-1)).await;
                assert!(matches!(denied, Err(PayError::Forbidden)));
                assert_eq!(desk.runs(), 1);
            }

            #[tokio::test]
            async fn a_refusal_of_the_library_is_not_reviewed() {
                let (_database, desk) = open().await;
                let key = key("refused");
                pay(desk.pool(), &key, &desk, Cents(5))
                    .await
                    .expect("it ran");
                desk.forbid();
                let refused = pay(desk.pool(), &key, &desk, Cents(6)).await;
                assert!(matches!(
                    refused,
                    Err(PayError::Idempotency(Error::Mismatch(_)))
                ));
                assert_eq!(desk.asked(), [""; 0]);
            }

            #[tokio::test]
            async fn a_leased_replay_is_reviewed_with_the_parameters_that_the_body_owns() {
                let (_database, desk) = open().await;
                let key = key("leased");
                let sent = mail(desk.pool(), &key, Arc::clone(&desk), Cents(5)).await;
                assert_eq!(sent.expect("it ran").id, 5);
                let again = in_time(
                    "the review ends",
                    mail(desk.pool(), &key, Arc::clone(&desk), Cents(5)),
                );
                let again = again.await.expect("he may see it");
                assert!(again.replayed() && again.id == 105);
                desk.forbid();
                let denied = mail(desk.pool(), &key, Arc::clone(&desk), Cents(5)).replayable();
                let denied = denied.await.expect_err("he may not see it");
                assert!(!denied.replayed());
                assert!(matches!(denied.into_inner(), PayError::Forbidden));
                assert_eq!(desk.runs(), 1);
                assert_eq!(desk.asked(), ["paid 5", "paid 5"]);
            }

            #[tokio::test]
            async fn a_leased_failure_is_reviewed_and_not_edited() {
                let (_database, desk) = open().await;
                let key = key("leased-failure");
                for replayed in [false, true] {
                    let failed = mail(desk.pool(), &key, Arc::clone(&desk), Cents(-1)).replayable();
                    let failed = failed.await.expect_err("declined");
                    assert_eq!(failed.replayed(), replayed);
                    assert!(matches!(failed.into_inner(), PayError::Declined));
                }
                assert_eq!(desk.asked(), ["declined"]);
            }

            fn key(text: &str) -> IdempotencyKey {
                text.parse::<IdempotencyKey>().expect("a key").global()
            }
        }
    };
}

on! {
    postgres { idem_tests::postgres::Database, sqlx::PgPool, sqlx::PgTransaction<'_> }
    open: idem_tests::postgres::Database::fresh().await
}

on! {
    sqlite { idem_tests::sqlite::Sqlite, sqlx::SqlitePool, sqlx::SqliteTransaction<'_> }
    open: idem_tests::sqlite::Sqlite::fresh(Journal::Wal)
}

on! {
    mysql { idem_tests::mysql::Database, sqlx::MySqlPool, sqlx::MySqlTransaction<'_> }
    open: idem_tests::mysql::Database::fresh().await
}
