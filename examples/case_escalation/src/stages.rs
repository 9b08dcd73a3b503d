//! What the page shows: how far each escalation has come, and all that is stored.

use serde_json::{Value, json};

use crate::app::App;
use crate::broker::BrokerError;
use crate::database::Pool;

/// Returns how far each escalation has come: the events that tell it and are still in the outbox or have left, the record
/// of the message that notifies, and whether the overview has applied it.
///
/// # Errors
/// The database's.
pub async fn stages(pool: &Pool) -> sqlx::Result<Value> {
    type Stage = (String, i64, i64, i64, Option<String>, i64);
    let stages: Vec<Stage> = sqlx::query_as(
        "SELECT e.case_id, e.version,
                (SELECT count(*) FROM idem_outbox o
                  WHERE o.subject = e.case_id || '/' || e.version AND o.state <> 1),
                (SELECT count(*) FROM idem_outbox o
                  WHERE o.subject = e.case_id || '/' || e.version AND o.state = 1),
                (SELECT r.status FROM notice n JOIN idem_record_readable r
                     ON r.namespace = 'notices' AND r.key = n.message
                  WHERE n.case_id = e.case_id AND n.version = e.version),
                (SELECT count(*) FROM overview v
                  WHERE v.case_id = e.case_id AND v.version >= e.version)
           FROM escalation e ORDER BY e.case_id, e.version",
    )
    .fetch_all(pool)
    .await?;
    Ok(rows(
        stages,
        |(case, version, waiting, published, notice, projected)| {
            json!({
                "case": case,
                "version": version,
                "in_outbox": waiting,
                "published": published,
                "notice": notice.unwrap_or_else(|| "none yet".to_owned()),
                "overview": if projected == 0 { "not yet" } else { "applied" },
            })
        },
    ))
}

/// Returns whether everything that was committed has arrived: nothing is in the outbox or on its way, and what is parked
/// waits for an outcome that is still unknown.
///
/// # Errors
/// The database's, or the broker's while it does not run.
pub async fn have_arrived(app: &App) -> Result<bool, BrokerError> {
    let waiting = "SELECT count(*) FROM idem_outbox WHERE state IN (0, 3, 4)";
    let waiting: i64 = sqlx::query_scalar(waiting).fetch_one(&app.pool).await?;
    if waiting > 0 {
        return Ok(false);
    }
    let parked = app.broker.idle().await?;
    let unknown = "SELECT count(*) FROM idem_record_readable WHERE status = 'unknown'";
    let unknown: i64 = sqlx::query_scalar(unknown).fetch_one(&app.pool).await?;
    Ok(parked.is_some_and(|parked| (parked > 0) == (unknown > 0)))
}

/// Returns all that is stored: a list of rows for each table.
///
/// # Errors
/// The database's.
pub async fn tables(pool: &Pool) -> sqlx::Result<Value> {
    type Case = (String, i64, String);
    let case_file = "SELECT id, version, state FROM case_file ORDER BY id";
    let escalation = "SELECT case_id, version, reason FROM escalation ORDER BY case_id, version";
    let audit_fact = "SELECT case_id, version, officer FROM audit_fact ORDER BY case_id, version";
    let notice = "SELECT case_id, version, message FROM notice ORDER BY case_id, version";
    let overview = "SELECT case_id, version, escalations FROM overview ORDER BY case_id";
    let outbox =
        "SELECT id, CAST(state AS BIGINT), coalesce(last_error, '') FROM idem_outbox ORDER BY seq";
    let record = "SELECT key, operation, status, CAST(attempt AS BIGINT) FROM idem_record_readable
                   ORDER BY operation, created_at";
    let case_file: Vec<Case> = sqlx::query_as(case_file).fetch_all(pool).await?;
    let escalation: Vec<Case> = sqlx::query_as(escalation).fetch_all(pool).await?;
    let audit_fact: Vec<Case> = sqlx::query_as(audit_fact).fetch_all(pool).await?;
    let notice: Vec<Case> = sqlx::query_as(notice).fetch_all(pool).await?;
    let overview: Vec<(String, i64, i64)> = sqlx::query_as(overview).fetch_all(pool).await?;
    let outbox: Vec<Case> = sqlx::query_as(outbox).fetch_all(pool).await?;
    let record: Vec<(String, String, String, i64)> = sqlx::query_as(record).fetch_all(pool).await?;
    let with = |third: &'static str| move |(case, version, text): Case| json!({ "case": case, "version": version, third: text });
    Ok(json!({
        "case_file": rows(case_file, with("state")),
        "escalation": rows(escalation, with("reason")),
        "audit_fact": rows(audit_fact, with("officer")),
        "notice": rows(notice, with("message")),
        "overview": rows(overview, |(case, version, escalations)| {
            json!({ "case": case, "version": version, "escalations": escalations })
        }),
        "idem_outbox": rows(outbox, |(id, state, error)| {
            json!({ "id": id, "state": state_name(state), "last_error": error })
        }),
        "idem_record": rows(record, |(key, operation, status, attempt)| {
            json!({ "key": key, "operation": operation, "status": status, "attempt": attempt })
        }),
    }))
}

fn rows<R>(rows: Vec<R>, row: impl Fn(R) -> Value) -> Value {
    rows.into_iter().map(row).collect()
}

fn state_name(state: i64) -> &'static str {
    match state {
        0 => "pending",
        1 => "published",
        2 => "dead",
        3 => "waits for an earlier one",
        _ => "held",
    }
}
