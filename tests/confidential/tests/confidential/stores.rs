//! The plain store, a caller's transaction, and the purge.

use idem_runtime::error::CodecFault;
use idem_runtime::store::Outcome;
use idem_runtime::{Error, PurgeWorker};

use crate::desk::{
    CARD, Charge, RECEIPT, Runs, charge, empty, encrypting, key, pay, receipt, replays, store,
};
use crate::subject::Subject;

pub(crate) async fn a_plain_store_encrypts_and_reads<S: Subject>() {
    let (subject, codec) = (S::fresh().await, encrypting());
    let protected = store(Some(codec)).record_request();
    let mut tx = subject.pool().begin().await.expect("begun");
    let mut bound = protected.in_transaction(&mut *tx).expect("a transaction");
    let begun = bound.begin(&key("k"), "pay", &charge()).await;
    let Ok(Outcome::Fresh(claim)) = begun else {
        panic!("{begun:?}");
    };
    bound.commit(claim, &receipt()).await.expect("recorded");
    tx.commit().await.expect("committed");
    let dump = subject.dump().await;
    for text in [CARD, RECEIPT] {
        assert!(
            !dump.windows(text.len()).any(|part| part == text.as_bytes()),
            "{text}"
        );
    }
    let mut conn = subject.pool().acquire().await.expect("a connection");
    let mut bound = protected.in_connection(&mut *conn);
    let again = bound.begin(&key("k"), "pay", &charge()).await;
    assert!(matches!(&again, Ok(Outcome::PriorResult { value }) if *value == receipt()));
    let record = bound.get(&key("k")).await.expect("read").expect("there");
    let request = String::from_utf8(record.request.expect("kept")).expect("text");
    assert!(request.contains(CARD) && record.codec == 1);
    let other = Charge {
        card: "x".to_owned(),
    };
    match bound.begin(&key("k"), "pay", &other).await {
        Ok(Outcome::Mismatch(mismatch)) => {
            let recorded = mismatch.recorded_request.expect("kept").expect("decoded");
            assert_eq!(recorded, charge());
        }
        other => panic!("{other:?}"),
    }
    // A store without the codec sees that it is protected; one without keys sees nothing, and runs nothing.
    let plain = store(None);
    let record = plain.in_connection(&mut *conn).get(&key("k")).await;
    assert_eq!(record.expect("read").expect("there").codec, 2);
    let nothing = store(Some(empty()));
    let refused = nothing.in_connection(&mut *conn).get(&key("k")).await;
    assert!(matches!(
        refused,
        Err(Error::Codec(CodecFault::NotInstalled { .. }))
    ));
}

pub(crate) async fn a_callers_transaction_and_a_purge_know_no_difference<S: Subject>() {
    let (subject, codec) = (S::fresh().await, encrypting());
    let operation = pay(codec);
    let runs = Runs::default();
    let mut tx = subject.pool().begin().await.expect("begun");
    for replayed in [false, true] {
        let body = async |_: &mut sqlx::Transaction<'_, S::Db>| {
            runs.one_more();
            Ok::<_, crate::desk::PayError>(receipt())
        };
        let done = operation.run(&mut tx, &key("k"), &charge(), body).await;
        assert_eq!(done.expect("answered").replayed(), replayed);
    }
    tx.commit().await.expect("committed");
    assert_eq!(runs.count(), 1);
    replays(&subject, operation, &key("k")).await;
    subject
        .run("UPDATE idem_record SET expires_at = created_at")
        .await;
    let purged = PurgeWorker::new(subject.pool().clone()).run_once().await;
    assert_eq!(purged.expect("purged").rows, 1);
    assert_eq!(subject.records().await, 0);
}
