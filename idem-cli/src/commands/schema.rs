//! `idem schema`.

use idem_messaging::outbox::{self, OutboxDatabase, OutboxError};
use idem_messaging::versions;
use idem_runtime::Error;
use idem_runtime::operate::{self, OperateBackend, OperateError};
use idem_runtime::schema;
use serde_json::{Value, json};
use sqlx::Pool;

use crate::args::{Database, Shared, Table};
use crate::database;
use crate::fault::{Fault, Outcome};
use crate::view::{line, print_json, print_table};

pub(super) fn print(
    shared: &Shared,
    database: Option<Database>,
    only: &[Table],
) -> Result<Outcome, Fault> {
    let database = match database {
        Some(database) => database,
        None => database::kind(shared)
            .map_err(|fault| fault.mend("--database postgres, mysql or sqlite"))?,
    };
    let is_wanted = |table| only.is_empty() || only.contains(&table);
    let texts = texts(database, &shared.table)?;
    let wanted: Vec<_> = texts
        .into_iter()
        .filter(|(table, _)| is_wanted(*table))
        .collect();
    if shared.json {
        let texts = wanted
            .iter()
            .map(|(table, text)| json!({ "table": name(*table), "sql": text }));
        print_json(&texts.collect::<Value>());
        return Ok(Outcome::Done);
    }
    let texts: Vec<_> = wanted.into_iter().map(|(_, text)| text).collect();
    line(texts.join("\n").trim_end());
    Ok(Outcome::Done)
}

fn name(table: Table) -> &'static str {
    match table {
        Table::Record => "record",
        Table::Audit => "audit",
        Table::Archive => "archive",
        Table::Hold => "hold",
        Table::Outbox => "outbox",
        Table::Version => "version",
    }
}

/// Returns the migrations, the records' for their table.
fn texts(database: Database, table: &str) -> Result<[(Table, String); 6], Fault> {
    let [record, audit, archive, hold, outbox, version] = match database {
        Database::Postgres => [
            schema::postgres(),
            operate::schema::postgres(),
            operate::schema::archive::postgres(),
            operate::schema::hold::postgres(),
            outbox::schema::postgres(),
            versions::schema::postgres(),
        ],
        Database::Mysql => [
            schema::mysql(),
            operate::schema::mysql(),
            operate::schema::archive::mysql(),
            operate::schema::hold::mysql(),
            outbox::schema::mysql(),
            versions::schema::mysql(),
        ],
        Database::Sqlite => [
            schema::sqlite(),
            operate::schema::sqlite(),
            operate::schema::archive::sqlite(),
            operate::schema::hold::sqlite(),
            outbox::schema::sqlite(),
            versions::schema::sqlite(),
        ],
    };
    Ok([
        (Table::Record, schema::for_table(record, table)?),
        (Table::Audit, operate::schema::for_table(audit, table)?),
        (Table::Archive, operate::schema::for_table(archive, table)?),
        (Table::Hold, operate::schema::for_table(hold, table)?),
        (Table::Outbox, outbox.to_owned()),
        (Table::Version, version.to_owned()),
    ])
}

/// One thing that a check found.
struct Finding {
    table: String,
    is_fault: bool,
    text: String,
}

pub(super) async fn verify<DB: OperateBackend + OutboxDatabase>(
    pool: &Pool<DB>,
    shared: &Shared,
    outbox: Option<&str>,
) -> Result<Outcome, Fault> {
    let mut found = Vec::new();
    let fault = |table: &str, text: String| Finding {
        table: table.to_owned(),
        is_fault: true,
        text,
    };
    let mut conn = pool.acquire().await.map_err(|error| DB::map_error(error))?;
    match schema::verify_table(&mut conn, &shared.table).await {
        Ok(findings) => found.extend(findings.into_iter().map(|finding| Finding {
            table: shared.table.clone(),
            is_fault: false,
            text: finding.to_string(),
        })),
        Err(Error::Schema(unfit)) => found.push(fault(&shared.table, unfit.to_string())),
        Err(error) => return Err(error.into()),
    }
    if let Some(outbox) = outbox {
        match outbox::schema::verify_table(&mut *conn, outbox).await {
            Ok(()) => {}
            Err(OutboxError::Schema { findings, .. }) => {
                found.extend(findings.into_iter().map(|text| fault(outbox, text)));
            }
            Err(OutboxError::Database(error)) => return Err(DB::map_error(error).into()),
            Err(error) => return Err(Fault::usage(error.to_string())),
        }
    }
    drop(conn);
    let audit = operate::audit_table_of(&shared.table);
    match operate::schema::verify(pool, &shared.table).await {
        Ok(()) => {}
        Err(error @ OperateError::AuditTable { .. }) => {
            found.push(fault(&audit, error.to_string()));
        }
        Err(error) => return Err(error.into()),
    }
    // A service may do without either.
    for checked in [
        operate::schema::archive::verify(pool, &shared.table).await,
        operate::schema::hold::verify(pool, &shared.table).await,
    ] {
        match checked {
            Ok(_) => {}
            Err(
                ref error @ (OperateError::UnfitTable { ref table, .. }
                | OperateError::HoldTable { ref table, .. }),
            ) => found.push(fault(table, error.to_string())),
            Err(error) => return Err(error.into()),
        }
    }
    report(&found, shared.json);
    Ok(if found.is_empty() {
        Outcome::Done
    } else {
        Outcome::Found
    })
}

fn report(found: &[Finding], is_json: bool) {
    let severity = |finding: &Finding| if finding.is_fault { "fault" } else { "finding" };
    if is_json {
        let found = found.iter().map(|finding| {
            json!({ "table": finding.table, "severity": severity(finding), "text": finding.text })
        });
        print_json(&found.collect::<Value>());
        return;
    }
    let rows = found.iter().map(|finding| {
        [
            severity(finding).to_owned(),
            finding.table.clone(),
            finding.text.clone(),
        ]
    });
    print_table(["SEVERITY", "TABLE", "FOUND"], rows, "the tables are fit");
}
