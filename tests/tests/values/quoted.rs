//! The server's text about a refused row: "Failing row contains (..)", "Key (..)=(..) already
//! exists", "Duplicate entry '..'".

use std::time::Duration;

use idem_runtime::error::DatabaseError;
use idem_runtime::policy::{OnLapse, RecordFailures};
use idem_runtime::store::Outcome;
use idem_runtime::{Error, LeasedOperation, Operation};
use sqlx::Transaction;

use crate::first::store;
use crate::fixture::{Fixture, write};
use crate::secrets::{KEY, REQUEST, RESULT, expect_none_told_by, key};
use crate::stored::CallError;

pub(crate) const PAY: Operation = Operation::new("values", "pay").record_request();
const TRY: Operation<RecordFailures> = PAY.record_failures();
const TRY_LEASED: LeasedOperation<RecordFailures> =
    TRY.lease(Duration::from_mins(5), OnLapse::Unknown);

/// Returns the database's error inside a refusal, if there is one.
fn behind(error: &Error) -> Option<&DatabaseError> {
    match error {
        Error::TransactionLost(error)
        | Error::CommitFailed(error)
        | Error::CommitUnknown(error)
        | Error::Busy(error)
        | Error::Unavailable(error)
        | Error::Database(error) => Some(error),
        _ => None,
    }
}

/// Asserts that the server has quoted the key, and that no text of the library shows it.
#[track_caller]
fn expect_kept(error: &Error) {
    let behind = behind(error).unwrap_or_else(|| panic!("not the database's: {error:?}"));
    let said = format!("{:?}", behind.as_sqlx());
    assert!(said.contains(KEY), "it quotes nothing: {said}");
    expect_none_told_by(error);
}

/// Two effects with the same note: "Key (note)=(key-of-ada) already exists", at COMMIT where the
/// constraint is deferred.
pub(crate) async fn pay_twice<P: Fixture>(fixture: &P) -> Error {
    let body = async |tx: &mut Transaction<'_, P::Db>| {
        write::<P>(tx, KEY).await?;
        write::<P>(tx, KEY).await?;
        Ok::<_, CallError>(RESULT.to_owned())
    };
    let refused = PAY.run(&fixture.pool(), &key(), &REQUEST, body).await;
    refused.expect_err("refused at COMMIT").refusal()
}

/// A payment on a database that refuses the record.
pub(crate) async fn pay<P: Fixture>(fixture: &P) -> Error {
    let body = async |_: &mut Transaction<'_, P::Db>| Ok::<_, CallError>(RESULT.to_owned());
    let refused = PAY.run(&fixture.pool(), &key(), &REQUEST, body).await;
    refused.expect_err("not recorded").refusal()
}

pub(crate) async fn no_error_shows_what_the_server_quotes_of_a_record<P: Fixture>() {
    let fixture = P::open().await;
    if !P::AT_COMMIT.is_empty() {
        fixture.run(P::AT_COMMIT).await;
        let refusal = pay_twice(&fixture).await;
        assert!(matches!(refusal, Error::CommitFailed(_)), "{refusal:?}");
        expect_none_told_by(&refusal);
        if P::ABORTS {
            expect_kept(&refusal);
        }
    }
    fixture.run(P::QUOTING).await;
    expect_kept(&pay(&fixture).await);
    let fails =
        async |_: &mut Transaction<'_, P::Db>| Err::<(), _>(CallError::Said(RESULT.to_owned()));
    let refused = TRY.run(&fixture.pool(), &key(), &REQUEST, fails).await;
    expect_kept(&refused.expect_err("not recorded").refusal());
    let pool = fixture.pool();
    let mut tx = pool.begin().await.expect("a transaction");
    let body = async |_: &mut Transaction<'_, P::Db>| Ok::<_, CallError>(RESULT.to_owned());
    let refused = PAY.run(&mut tx, &key(), &REQUEST, body).await;
    expect_kept(&refused.expect_err("not recorded").refusal());
    tx.rollback().await.expect("rolled back");
    assert_eq!(fixture.counts().await, (0, 0));
}

pub(crate) async fn no_error_of_a_lease_shows_what_the_server_quotes_of_a_record<P: Fixture>() {
    for fails in [false, true] {
        let fixture = P::open().await;
        fixture.run(P::QUOTING).await;
        for _ in 0..2 {
            let body = move |_| async move {
                let said = RESULT.to_owned();
                if fails {
                    Err(CallError::Said(said))
                } else {
                    Ok(said)
                }
            };
            let refused = TRY_LEASED
                .run(&fixture.pool(), &key(), &REQUEST, body)
                .await;
            expect_none_told_by(&refused.expect_err("not recorded").refusal());
        }
    }
}

pub(crate) async fn no_error_of_a_store_shows_what_the_server_quotes_of_a_record<P: Fixture>() {
    let (fixture, store) = (P::open().await, store::<String>());
    fixture.run(P::QUOTING).await;
    let pool = fixture.pool();
    let mut tx = pool.begin().await.expect("a transaction");
    let mut bound = store.in_transaction(&mut *tx).expect("a transaction");
    let Ok(Outcome::Fresh(claim)) = bound.begin(&key(), "pay", &REQUEST).await else {
        panic!("not fresh");
    };
    let refused = bound.commit(claim, &RESULT.to_owned()).await;
    expect_kept(&refused.expect_err("not recorded"));
    tx.rollback().await.expect("rolled back");
}
