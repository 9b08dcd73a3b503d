//! Measures how long each page of the console takes, from the request to the page, on PostgreSQL.

use std::time::Instant;

use axum::Router;
use axum::body::{Body, to_bytes};
use http::Request;
use http::request::Parts;
use idem_console::{Console, Principal, Refused};
use idem_messaging::outbox;
use idem_runtime::operate;
use tower::ServiceExt as _;

use super::Bench;
use crate::Fault;
use crate::numbers::Sample;
use crate::report::table::{time, whole};
use crate::report::{Report, Table};
use crate::server::{Database, Way};

/// Requests of each page, of a full run.
const ROUNDS: usize = 30;

const PAGES: [(&str, &str); 9] = [
    ("overview", "/"),
    ("unknown outcomes", "/unknown"),
    ("outbox", "/outbox"),
    ("leases and purge", "/health"),
    ("changes", "/changes"),
    (
        "record",
        "/record?namespace=payments&scope=tenant-17&key=k-17",
    ),
    ("search, key and scope", "/search?q=k-17&scope=tenant-17"),
    ("search, key among 5,000 scopes", "/search?q=k-17"),
    ("search, hash", "/search?q=0123456789ab&by=hash"),
];

fn authorise(_: &Parts) -> Result<Principal, Refused> {
    Principal::new("bench").map_err(|_| Refused::forbidden())
}

pub(super) async fn run(mut bench: Bench<'_>) -> Result<Report, Fault> {
    let mut report = Report::of("console");
    let database = bench.server.database("console").await?;
    fill(&database, bench.options.records).await?;
    let pool = database.pool(Way {
        connections: 4,
        ..Way::DIRECT
    });
    let router = Console::new(pool, authorise).router();
    let mut samples = PAGES.map(|_| Sample::default());
    for round in 0..=bench.options.scaled(ROUNDS) {
        for index in bench.chance.order(PAGES.len()) {
            let began = Instant::now();
            request(&router, PAGES[index].1).await?;
            // The first round fills the caches.
            if round > 0 {
                samples[index].push_time(began.elapsed());
            }
        }
    }
    let mut table = Table::new(
        &format!(
            "Pages of the console, {} records, 20,000 events, in the router",
            whole(crate::numbers::float(bench.options.records))
        ),
        &["page", "median", "95 of 100"],
    );
    let mut slowest: f64 = 0.0;
    for ((name, _), sample) in PAGES.iter().zip(&samples) {
        let late = sample.quantile(0.95);
        slowest = slowest.max(late);
        report.sample(name, sample);
        table.row(vec![(*name).to_owned(), time(sample.median()), time(late)]);
    }
    report.figure("slowest", slowest);
    report.tables.push(table);
    Ok(report)
}

async fn request(router: &Router, path: &str) -> Result<(), Fault> {
    let request = Request::get(path).body(Body::empty())?;
    let answer = router.clone().oneshot(request).await?;
    let status = answer.status();
    to_bytes(answer.into_body(), usize::MAX).await?;
    if status.is_success() {
        Ok(())
    } else {
        Err(format!("{path}: {status}").into())
    }
}

/// Records of a day, of two retentions, with leases; events, some of them dead.
async fn fill(database: &Database, records: usize) -> Result<(), Fault> {
    for migration in [operate::schema::postgres(), outbox::schema::postgres()] {
        database.run(migration).await?;
    }
    let apart = 85_000_000_000 / records.max(1);
    database
        .run(&format!(
            "INSERT INTO idem_record (created_at, expires_at, attempt_id, attempt, status, fingerprint_version, codec, \
             namespace, scope, key, operation, fingerprint, result, failure) \
             SELECT w, w + CASE WHEN n % 20 = 0 THEN interval '7 days' ELSE interval '1 day' END, gen_random_uuid(), 1, \
             CASE WHEN n % 50 = 0 THEN 2 ELSE 1 END, 1, 1, 'payments', 'tenant-' || n % 5000, 'k-' || n, 'charge', \
             sha256(n::text::bytea), CASE WHEN n % 50 > 0 THEN convert_to('{{\"id\":1234567}}', 'UTF8') END, \
             CASE WHEN n % 50 = 0 THEN convert_to('{{}}', 'UTF8') END FROM generate_series(1, {records}) n, \
             LATERAL (SELECT now() - interval '85000 seconds' + n * interval '{apart} microseconds' AS w) t; \
             INSERT INTO idem_record (created_at, expires_at, locked_until, attempt_id, attempt, status, \
             fingerprint_version, codec, on_lapse, namespace, scope, key, operation) \
             SELECT now() - n * interval '1 minute', 'infinity', now() + (n - 50) * interval '1 minute', \
             gen_random_uuid(), 1, CASE WHEN n % 3 = 0 THEN 4 ELSE 3 END, 1, 1, 1, 'payments', 'tenant-1', 'lease-' || n, \
             'charge' FROM generate_series(1, 100) n; \
             INSERT INTO idem_outbox (appended_at, id, topic, event_type, source, content_type, payload, due_at, \
             queued_xid, settled_at, state, attempts) SELECT now(), encode(sha256(n::text::bytea), 'hex'), 'cases', \
             'escalated', '/cases', 'application/json', '{{}}', now(), \
             CASE WHEN n > 500 THEN pg_current_xact_id() ELSE '18446744073709551615' END, CASE WHEN n <= 500 THEN now() END, \
             CASE WHEN n > 500 THEN 0 ELSE 2 END, 16 FROM generate_series(1, 20000) n"
        ))
        .await?;
    // Each by itself: VACUUM runs in no transaction.
    for table in ["idem_record", "idem_outbox"] {
        database.run(&format!("VACUUM ANALYZE {table}")).await?;
    }
    Ok(())
}
