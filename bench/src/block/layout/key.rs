//! Measures the primary key: the three texts, or a digest of them beside the texts.

use std::time::Instant;

use sqlx::PgConnection;
use uuid::Uuid;

use super::super::growth::Order;
use super::counted::{bound, explained, insert, knows_lz4, look_up, vacuum};
use super::{Bench, Variant, position, run_sql, size, table};
use crate::Fault;
use crate::numbers::{Sample, float};
use crate::processor::Processor;
use crate::report::table::{time, whole};
use crate::report::{Report, Table};

/// The order of the keys, and the bytes of the digest if it is the primary key.
#[derive(Clone, Copy)]
struct Kind {
    name: &'static str,
    table: &'static str,
    order: Order,
    digest: Option<usize>,
}

const fn kind(
    name: &'static str,
    table: &'static str,
    order: Order,
    digest: Option<usize>,
) -> Kind {
    Kind {
        name,
        table,
        order,
        digest,
    }
}

const KINDS: [Kind; 5] = [
    kind(
        "three texts, keys in time's order",
        "key_in_time",
        Order::InTime,
        None,
    ),
    kind(
        "three texts, random keys",
        "key_random",
        Order::Random,
        None,
    ),
    kind(
        "digest of 16 bytes, keys in time's order",
        "key_16",
        Order::InTime,
        Some(16),
    ),
    kind(
        "digest of 32 bytes, keys in time's order",
        "key_32",
        Order::InTime,
        Some(32),
    ),
    kind(
        "digest of 32 bytes, random keys",
        "key_32_random",
        Order::Random,
        Some(32),
    ),
];

/// The statements between two readings of the processor time.
const SLICE: usize = 10;

/// What is counted of one variant.
#[derive(Default)]
struct Counts {
    lz4: Sample,
    /// Pages that an insert and a look-up ask for.
    insert_pages: Sample,
    read_pages: Sample,
    insert_server: Sample,
    read_server: Sample,
}

/// Fills tables of 10,000 rows, a hundred times as many each time, and measures them.
pub(super) async fn run(
    bench: &mut Bench<'_>,
    session: &mut PgConnection,
    processor: &Processor,
    report: &mut Report,
) -> Result<(), Fault> {
    let mut shown = Table::new(
        "Primary key: bytes of WAL of an insert, after a checkpoint and by `wal_compression`; pages asked for; \
         the server's processor time",
        &[
            "key",
            "rows",
            "inserts",
            "WAL, mean",
            "median",
            "mean with lz4",
            "pages of an insert",
            "of a look-up",
            "processor, insert",
            "look-up",
            "index, bytes a row",
            "table, bytes a row",
        ],
    );
    let mut rows = 10_000;
    loop {
        of_size(bench, session, processor, rows, report, &mut shown).await?;
        if rows >= bench.options.records {
            break;
        }
        rows = (rows * 100).min(bench.options.records);
    }
    report.tables.push(shown);
    Ok(())
}

async fn of_size(
    bench: &mut Bench<'_>,
    session: &mut PgConnection,
    processor: &Processor,
    rows: usize,
    report: &mut Report,
    shown: &mut Table,
) -> Result<(), Fault> {
    let mut variants = KINDS.map(|kind| (Variant::new(kind.name, kind.table), Counts::default()));
    for kind in KINDS {
        prepare(session, kind, rows).await?;
    }
    let slices = (rows / 200).clamp(3, bench.options.scaled(1_000)) / SLICE + 1;
    let compressions: &[_] = if knows_lz4(session).await? {
        &["off", "lz4"]
    } else {
        &["off"]
    };
    for compression in compressions {
        run_sql(session, format!("SET wal_compression = {compression}")).await?;
        // After a checkpoint, the first change of each page writes the whole page to the WAL. This is
        // the cost of an index with random inserts.
        run_sql(session, "CHECKPOINT".into()).await?;
        for _ in 0..slices {
            for index in bench.chance.order(KINDS.len()) {
                let (variant, counts) = &mut variants[index];
                slice(
                    session,
                    processor,
                    KINDS[index],
                    variant,
                    counts,
                    compression,
                )
                .await?;
            }
        }
    }
    run_sql(session, "RESET wal_compression".into()).await?;
    for (kind, (variant, counts)) in KINDS.iter().zip(&mut variants) {
        let written = insert(kind.table, kind.digest.is_some());
        let read = look_up(kind.table, kind.digest.is_some());
        for _ in 0..20 {
            let key = fresh(kind.order);
            let pages = explained(session, &written, &key, kind.digest).await?;
            counts.insert_pages.push(pages);
            let pages = explained(session, &read, &key, kind.digest).await?;
            counts.read_pages.push(pages);
        }
        let all = float(rows + SLICE * slices * compressions.len());
        let index = size(session, &format!("{}_pkey", kind.table)).await? / all;
        let heap = size(session, kind.table).await? / all;
        note(
            report,
            &format!("key/{rows}/{}", kind.name),
            variant,
            counts,
        );
        shown.row(vec![
            kind.name.to_owned(),
            whole(float(rows)),
            whole(float(SLICE * variant.wal.count())),
            whole(variant.wal.mean()),
            whole(variant.wal.median()),
            if counts.lz4.count() == 0 {
                "–".into()
            } else {
                whole(counts.lz4.mean())
            },
            format!("{:.1}", counts.insert_pages.mean()),
            format!("{:.1}", counts.read_pages.mean()),
            time(counts.insert_server.median()),
            time(counts.read_server.median()),
            whole(index),
            whole(heap),
        ]);
        run_sql(session, format!("DROP TABLE {}", kind.table)).await?;
    }
    Ok(())
}

fn note(report: &mut Report, name: &str, variant: &Variant, counts: &Counts) {
    report.sample(&format!("{name}/insert"), &variant.insert);
    report.sample(&format!("{name}/look-up"), &variant.read);
    report.figure(&format!("{name}/WAL"), variant.wal.mean());
    report.figure(&format!("{name}/WAL lz4"), counts.lz4.mean());
    report.figure(&format!("{name}/insert/pages"), counts.insert_pages.mean());
    report.figure(&format!("{name}/look-up/pages"), counts.read_pages.mean());
    report.figure(
        &format!("{name}/insert/server"),
        counts.insert_server.median(),
    );
    report.figure(
        &format!("{name}/look-up/server"),
        counts.read_server.median(),
    );
}

fn fresh(order: Order) -> String {
    match order {
        Order::InTime => Uuid::now_v7(),
        Order::Random => Uuid::new_v4(),
    }
    .to_string()
}

/// Creates the table and fills it in one transaction, so that the filling is not logged.
async fn prepare(session: &mut PgConnection, kind: Kind, rows: usize) -> Result<(), Fault> {
    let Kind {
        table: name,
        order,
        digest,
        ..
    } = kind;
    let (key, column, value) = match digest {
        None => ("namespace, scope, key", "", String::new()),
        Some(bytes) => (
            "digest",
            ", digest",
            format!(", substr(sha256(('bench//' || key)::bytea), 1, {bytes})"),
        ),
    };
    run_sql(session, "BEGIN".into()).await?;
    let add = if digest.is_some() {
        format!("ALTER TABLE {name} ADD COLUMN digest bytea; ")
    } else {
        String::new()
    };
    let keys = format!(
        "{add}ALTER TABLE {name} ADD PRIMARY KEY ({key}); CREATE INDEX ON {name} (expires_at)"
    );
    table(session, name, &keys).await?;
    run_sql(
        session,
        format!(
            "INSERT INTO {name} (created_at, expires_at, attempt_id, attempt, status, fingerprint_version, codec, \
             operation, fingerprint, result, namespace, scope, key{column}) \
             SELECT now(), now() + interval '24 hours' + n * interval '1 microsecond', gen_random_uuid(), 1, 1, 1, 1, \
             'pay_one', sha256(n::text::bytea), '{{\"id\":1234567}}', 'bench', '', key{value} \
             FROM (SELECT n, {} AS key FROM generate_series(1, {rows}) AS n OFFSET 0) AS numbered; COMMIT",
            order.key(),
        ),
    )
    .await?;
    vacuum(session, name).await
}

/// Inserts some rows and reads them.
async fn slice(
    session: &mut PgConnection,
    processor: &Processor,
    kind: Kind,
    variant: &mut Variant,
    counts: &mut Counts,
    compression: &str,
) -> Result<(), Fault> {
    let keys: Vec<_> = (0..SLICE).map(|_| fresh(kind.order)).collect();
    let has_digest = kind.digest.is_some();
    let micros = |elapsed: std::time::Duration| elapsed.as_secs_f64() * 1e6 / float(SLICE);
    let before = position(session).await?;
    let (processor_before, begun) = (processor.elapsed()?, Instant::now());
    for key in &keys {
        bound(&insert(kind.table, has_digest), key, kind.digest)
            .execute(&mut *session)
            .await?;
    }
    let (taken, server) = (
        begun.elapsed(),
        processor.elapsed()?.since(processor_before).server,
    );
    let wal = (position(session).await? - before) / float(SLICE);
    if compression != "off" {
        counts.lz4.push(wal);
        return Ok(());
    }
    variant.wal.push(wal);
    variant.insert.push(micros(taken));
    counts.insert_server.push(micros(server));
    let (processor_before, begun) = (processor.elapsed()?, Instant::now());
    for key in &keys {
        bound(&look_up(kind.table, has_digest), key, kind.digest)
            .fetch_one(&mut *session)
            .await?;
    }
    let (taken, server) = (
        begun.elapsed(),
        processor.elapsed()?.since(processor_before).server,
    );
    variant.read.push(micros(taken));
    counts.read_server.push(micros(server));
    Ok(())
}
