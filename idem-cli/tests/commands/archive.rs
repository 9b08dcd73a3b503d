//! The archive of what a purge deletes.

use std::time::Duration;

use idem_runtime::purge::{Archive, PurgedRecord};
use idem_runtime::record::Status;
use idem_runtime::{Error, PurgeWorker};
use serde_json::json;
use tokio::sync::mpsc;

use crate::holds::ADD;
use crate::program::{idem, signed};
use crate::story::{audited, completed, count, unknown};
use crate::subject::Subject;

/// `printf '{"id":1,"secret":"tangerine"}' | sha256sum`
const RESULT: &str = "adbeef5669669e23dec8957f432f20c9440b7a7f6438dedbdeb50ac034c83c3f";

async fn three<S: Subject>() -> S {
    let subject = S::fresh().await;
    for name in ["a", "b", "c"] {
        completed(&subject, name).await;
    }
    subject.age(25).await;
    subject
}

async fn rows<S: Subject>(subject: &S, condition: &str) -> i64 {
    let sql = format!("SELECT count(*) FROM idem_archive WHERE {condition}");
    subject.number(&sql).await
}

fn hex<S: Subject>(column: &str) -> String {
    match S::DATABASE {
        "postgres" => format!("encode({column}, 'hex')"),
        _ => format!("lower(hex({column}))"),
    }
}

pub(crate) async fn a_purge_archives_what_it_deletes_and_no_payload_unless_asked<S: Subject>() {
    for (args, payloads) in [
        (&["--archive"][..], 0),
        (&["--archive", "--archive-payloads"], 3),
    ] {
        let subject = three::<S>().await;
        let purged = signed(&subject, &[&["purge", "--json"], args].concat()).await;
        let expected = json!({ "deleted": 3, "unknown": 0, "archived": 3, "retired": 0 });
        assert_eq!(purged.done().json(), expected);
        assert_eq!((count(&subject, 1).await, audited(&subject).await), (0, 1));
        let row = format!(
            "namespace = 'payments' AND scope = 'customer-42' AND record_key IN ('a', 'b', 'c') AND operation = 'pay' \
             AND status = 1 AND attempt = 1 AND why = 'expired' AND on_table = 'idem_record' AND actor = 'ada' \
             AND archived_at > created_at AND fingerprint IS NOT NULL AND {} = '{RESULT}'",
            hex::<S>("payload_hash")
        );
        assert_eq!(rows(&subject, &row).await, 3);
        assert_eq!(rows(&subject, "result IS NOT NULL").await, payloads);
    }
}

pub(crate) async fn a_worker_archives_unknown_outcomes_too_and_ends_the_archives_own_retention<
    S: Subject,
>() {
    let subject = three::<S>().await;
    let _unknown = unknown(&subject, "lost").await;
    let sql = format!(
        "UPDATE idem_record SET locked_until = {} - {} WHERE status = 4",
        S::NOW,
        S::HOUR
    );
    subject.run(&sql).await;
    let week = Duration::from_hours(7 * 24);
    let archive = Archive::new().actor("nightly").expect("a name");
    let archive = archive.retention(week).expect("a retention");
    let worker = PurgeWorker::new(subject.pool().clone()).batch(2);
    let worker = worker.pause(Duration::ZERO).archive(archive);
    let worker = worker.unknown_retention(Duration::from_micros(1));
    let worker = worker.expect("a retention");
    let purged = worker.run_once().await.expect("swept");
    assert_eq!((purged.rows, purged.unknown, purged.retired), (4, 1, 0));
    assert_eq!(rows(&subject, "actor = 'nightly'").await, 4);
    let lost = "why = 'unknown' AND status = 4 AND payload_hash IS NULL AND record_key = 'lost'";
    assert_eq!(rows(&subject, lost).await, 1);
    let older = format!(
        "UPDATE idem_archive SET archived_at = archived_at - 8 * 24 * {} WHERE record_key <> 'a'",
        S::HOUR
    );
    subject.run(&older).await;
    signed(&subject, &ADD).await.done();
    let args = [
        "purge",
        "--dry-run",
        "--json",
        "--archived-older-than",
        "7d",
    ];
    let counted = idem(&subject, &args).await.done().json();
    assert_eq!(counted["retired"], 0, "a hold keeps the archive's rows");
    assert_eq!(worker.run_once().await.expect("swept").retired, 0);
    signed(&subject, &["hold", "lift", "--scope", "customer-42"])
        .await
        .done();
    assert_eq!(idem(&subject, &args).await.done().json()["retired"], 3);
    let purge = ["purge", "--json", "--archived-older-than", "8d"];
    let retired = signed(&subject, &purge).await.done().json();
    assert_eq!(
        retired["retired"], 3,
        "they are eight days old, and some seconds"
    );
    assert_eq!(rows(&subject, "record_key = 'a'").await, 1);
    assert_eq!(worker.run_once().await.expect("swept").retired, 0);
}

pub(crate) async fn what_the_archive_does_not_take_is_not_deleted<S: Subject>() {
    let subject = three::<S>().await;
    subject
        .run("ALTER TABLE idem_archive RENAME COLUMN payload_hash TO hash")
        .await;
    let refused = signed(&subject, &["purge", "--archive"]).await;
    let refused = refused.refused(3, "`idem_archive` is not of this version");
    assert!(refused.err.contains("mend: "), "{refused:?}");
    subject.run("DROP TABLE idem_archive").await;
    let refused = signed(&subject, &["purge", "--archive"]).await;
    refused.refused(3, "the table `idem_archive` does not exist");
    let worker = PurgeWorker::new(subject.pool().clone()).archive(Archive::new());
    worker.run_once().await.expect_err("there is no archive");
    assert_eq!((count(&subject, 1).await, audited(&subject).await), (3, 0));
    signed(&subject, &["purge"]).await.done();
    assert_eq!(count(&subject, 1).await, 0);
}

pub(crate) async fn a_function_gets_each_batch_and_an_error_of_it_leaves_the_batch<S: Subject>()
where
    for<'c> &'c mut <S::Db as sqlx::Database>::Connection: sqlx::Executor<'c, Database = S::Db>,
{
    let subject = three::<S>().await;
    subject
        .run("CREATE TABLE evidence (n INTEGER NOT NULL)")
        .await;
    let (send, mut batches) = mpsc::unbounded_channel::<Vec<PurgedRecord>>();
    let worker = |end: &'static str| {
        let send = send.clone();
        let worker = PurgeWorker::new(subject.pool().clone()).batch(2);
        worker
            .pause(Duration::ZERO)
            .archive_with(true, move |conn, records| {
                let send = send.clone();
                Box::pin(async move {
                    send.send(records.to_vec())?;
                    let write = sqlx::raw_sql("INSERT INTO evidence (n) VALUES (1)");
                    sqlx::Executor::execute(&mut *conn, write).await?;
                    match end {
                        "" => Ok(()),
                        "fail" => Err("the archive is full".into()),
                        end => {
                            sqlx::Executor::execute(&mut *conn, sqlx::raw_sql(end)).await?;
                            Ok(())
                        }
                    }
                })
            })
    };
    let failed = worker("fail").run_once().await;
    let Err(error @ Error::Archive(_)) = failed else {
        panic!("{failed:?}");
    };
    assert!(error.to_string().contains("the archive is full"), "{error}");
    let evidence = "SELECT count(*) FROM evidence";
    assert_eq!(
        (count(&subject, 1).await, subject.number(evidence).await),
        (3, 0)
    );
    let purged = worker("").run_once().await.expect("swept");
    assert_eq!((purged.rows, purged.batches), (3, 2));
    assert_eq!(
        (count(&subject, 1).await, subject.number(evidence).await),
        (0, 2)
    );
    let refused = batches.recv().await.expect("the first batch");
    assert_eq!(refused.len(), 2);
    let record = batches.recv().await.expect("the batch again").remove(0);
    assert_eq!(
        (
            &*record.namespace,
            &*record.scope,
            &*record.operation,
            record.status
        ),
        ("payments", "customer-42", "pay", Status::Completed)
    );
    let result = br#"{"id":1,"secret":"tangerine"}"#.to_vec();
    assert_eq!(record.result, Some(result));
    assert!(record.payload_hash.is_some_and(|hash| hash.len() == 32));
    completed(&subject, "d").await;
    subject.age(25).await;
    let ended = worker("COMMIT").run_once().await;
    assert!(matches!(ended, Err(Error::TransactionEnded)), "{ended:?}");
    assert_eq!(count(&subject, 1).await, 1);
}

pub(crate) async fn a_purge_that_stops_half_way_says_what_it_has_deleted<S: Subject>() {
    let subject = three::<S>().await;
    let args = ["purge", "--archive", "--archived-older-than", "7d"];
    // What ends the archive's retention fails after the records are deleted.
    signed(&subject, &args).await.done();
    for name in ["d", "e"] {
        completed(&subject, name).await;
    }
    subject.age(25).await;
    let older = format!(
        "UPDATE idem_archive SET archived_at = archived_at - 8 * 24 * {}",
        S::HOUR
    );
    subject.run(&older).await;
    subject.refuse_the_audit_of("idem_archive").await;
    let refused = signed(&subject, &args).await;
    assert_eq!(refused.code, 3, "{refused:?}");
    let said = "records deleted before, with their rows of the audit table: 2; then";
    assert!(refused.err.contains(said), "{refused:?}");
    assert!(!refused.err.contains("nothing was changed"), "{refused:?}");
    assert_eq!(
        (count(&subject, 1).await, rows(&subject, "1 = 1").await),
        (0, 5)
    );
}
