//! What a claim costs by what is in the table beside.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use idem_messaging::outbox::{Outbox, OutboxEvent, PublishError, Publisher, Relay, schema};
use sqlx::Executor as _;
use sqlx::postgres::PgConnection;
use tokio::sync::{Semaphore, oneshot};
use tokio::task::JoinHandle;
use tokio::time::sleep;

use super::fill::{self, BEHIND, DEAD, HEAD, READY};
use super::{Bench, timing};
use crate::Fault;
use crate::numbers::{Sample, float};
use crate::report::table::{ratio, time, whole};
use crate::report::{Report, Table};
use crate::server::{Database, Path, Server, Way};

/// Events of a claim: the relay's default.
const BATCH: usize = 256;

/// What PostgreSQL keeps in memory: a quarter of 24 GiB, as its manual advises (section 20.4.1). The outboxes have 2 GB
/// together. Pages that come from the disk's cache would be timed instead of claims.
const SHARED_BUFFERS: &str = "6GB";

/// Claims of each outbox, of a full run.
const ROUNDS: usize = 100;

/// What is in an outbox beside 1,000 pending events.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Beside {
    Nothing,
    Pending,
    Dead,
    Waiting,
    Versions,
}

const CASES: [(&str, &str, Beside); 5] = [
    ("1,000 pending", "few", Beside::Nothing),
    ("many pending", "many", Beside::Pending),
    ("many dead", "dead", Beside::Dead),
    (
        "many waiting behind a failing head",
        "waiting",
        Beside::Waiting,
    ),
    (
        "many versions held by an open snapshot",
        "versions",
        Beside::Versions,
    ),
];

/// Holds what it is given until it is let go.
struct Gate {
    /// Events that are in hand.
    held: AtomicUsize,
    permits: Semaphore,
}

#[derive(Clone)]
struct Held(Arc<Gate>);

impl Publisher for Held {
    async fn publish(&self, _event: &OutboxEvent) -> Result<(), PublishError> {
        self.0.held.fetch_add(1, Ordering::AcqRel);
        let permit = self.0.permits.acquire().await;
        permit
            .map_err(|_| PublishError::permanent("closed"))?
            .forget();
        Ok(())
    }
}

/// A relay that always has a claim in hand.
struct Filled {
    database: Database,
    table: &'static str,
    count: usize,
    gate: Arc<Gate>,
    stop: oneshot::Sender<()>,
    running: JoinHandle<()>,
    /// Keeps a snapshot.
    _reader: Option<PgConnection>,
    first: f64,
    times: Sample,
}

pub(super) async fn run(bench: &mut Bench<'_>, report: &mut Report) -> Result<(), Fault> {
    let server = Server::caching(SHARED_BUFFERS)?;
    let mut tables = Vec::new();
    for (_, table, beside) in CASES {
        tables.push(prepare(bench, &server, table, beside).await?);
    }
    timing::begin(CASES.map(|(_, table, _)| table).into())?;
    let mut filled = Vec::new();
    for ((_, table, _), (database, count, reader)) in CASES.into_iter().zip(tables) {
        let mut begun = Filled::begin(database, table, count, reader)?;
        begun.until_held().await?;
        begun.first = timing::drain().first().map_or(f64::NAN, |claim| claim.1);
        filled.push(begun);
    }
    for _ in 0..bench.options.scaled(ROUNDS) {
        for index in bench.chance.order(filled.len()) {
            let outbox = &mut filled[index];
            let published = outbox.gate.held.swap(0, Ordering::AcqRel);
            outbox.gate.permits.add_permits(published);
            outbox.until_held().await?;
            for (timed, micros, rows) in timing::drain() {
                // A claim of all that there is room for, and the settings.
                if timed == index && rows == u64::try_from(BATCH)? + 1 {
                    outbox.times.push(micros);
                }
            }
            fill::events(&outbox.database, outbox.table, published, READY).await?;
        }
    }
    tabulate(bench, report, &filled);
    for outbox in filled {
        drop(outbox.stop);
        outbox.gate.permits.close();
        outbox.running.await?;
        outbox
            .database
            .run(&format!("DROP TABLE {}", outbox.table))
            .await?;
    }
    Ok(())
}

/// Creates and fills an outbox. Returns how many rows or versions are beside the pending events.
async fn prepare(
    bench: &Bench<'_>,
    server: &Server,
    table: &'static str,
    beside: Beside,
) -> Result<(Database, usize, Option<PgConnection>), Fault> {
    let begun = Instant::now();
    let database = server.database(&format!("messages_{table}")).await?;
    let mut connection = database.connect().await?;
    schema::create_table_if_missing(&mut connection, table).await?;
    let (all, some) = (bench.options.records, bench.options.records / 10);
    let mut reader = None;
    let count = match beside {
        Beside::Nothing => 0,
        Beside::Pending => {
            fill::events(&database, table, all - 1_000, READY).await?;
            all
        }
        Beside::Dead => {
            fill::events(&database, table, some, DEAD).await?;
            some
        }
        Beside::Waiting => {
            fill::events(&database, table, 1, HEAD).await?;
            fill::events(&database, table, some, BEHIND).await?;
            some
        }
        Beside::Versions => {
            let snapshot = "BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT count(*) FROM payment";
            connection.execute(sqlx::raw_sql(snapshot)).await?;
            fill::events(&database, table, all, READY).await?;
            // As a relay does, and as many as it publishes in some minutes.
            let relayed = format!(
                "UPDATE {table} SET attempts = 1, claim_token = gen_random_uuid(), lease_ends_at = now(); DELETE FROM {table}"
            );
            database.run(&relayed).await?;
            reader = Some(connection);
            all
        }
    };
    fill::events(&database, table, 1_000, READY).await?;
    database.run(&format!("VACUUM ANALYZE {table}")).await?;
    database.run("CHECKPOINT").await?;
    println!("{table}: filled in {:.0} s", begun.elapsed().as_secs_f64());
    Ok((database, count, reader))
}

impl Filled {
    fn begin(
        database: Database,
        table: &'static str,
        count: usize,
        reader: Option<PgConnection>,
    ) -> Result<Self, Fault> {
        let gate = Arc::new(Gate {
            held: AtomicUsize::new(0),
            permits: Semaphore::new(0),
        });
        // The disk would hide the difference.
        let pool = database.pool(Way {
            path: Path::Fused,
            waits_for_disk: false,
            ..Way::DIRECT
        });
        let hour = Duration::from_hours(1);
        let relay = Relay::new(pool, &Outbox::new().table(table)?, Held(Arc::clone(&gate)))
            .batch(u32::try_from(BATCH)?)
            .concurrency(BATCH)
            .publish_timeout(hour)
            .lease(hour * 2);
        let (stop, stopped) = oneshot::channel();
        let running = tokio::spawn(async move {
            relay.run(stopped).await;
        });
        Ok(Self {
            database,
            table,
            count,
            gate,
            stop,
            running,
            _reader: reader,
            first: f64::NAN,
            times: Sample::default(),
        })
    }

    /// Waits until the relay has so much in hand that it claims no more. Of what it has claimed while some of the last
    /// claim was still on its way, nothing is measured.
    async fn until_held(&self) -> Result<(), Fault> {
        let begun = Instant::now();
        while self.gate.held.load(Ordering::Acquire) <= BATCH - BATCH / 4 {
            if begun.elapsed() > Duration::from_mins(2) {
                return Err(format!("the relay of {} claims nothing", self.table).into());
            }
            sleep(Duration::from_millis(1)).await;
        }
        Ok(())
    }
}

fn tabulate(bench: &mut Bench<'_>, report: &mut Report, filled: &[Filled]) {
    let mut table = Table::new(
        &format!(
            "A claim of {BATCH} events, from its message to its answer, by what is in the outbox beside 1,000 pending events; \
             synchronous_commit off, shared_buffers {SHARED_BUFFERS}"
        ),
        &[
            "beside",
            "rows or versions",
            "claims",
            "median",
            "quartiles",
            "over 1,000 pending",
            "95 of 100",
            "a relay's first",
        ],
    );
    let plain = &filled[0].times;
    for ((name, _, _), outbox) in CASES.iter().zip(filled) {
        let (sample, is_plain) = (&outbox.times, outbox.count == 0);
        let found = sample.median() / plain.median();
        let (low, high) = sample.ratio_within(plain, &mut bench.chance);
        report.sample(&format!("claim/{name}"), sample);
        report.figure(&format!("claim/{name}/ratio"), found);
        report.figure(&format!("claim/{name}/first"), outbox.first);
        table.row(vec![
            (*name).to_owned(),
            if is_plain {
                "–".into()
            } else {
                whole(float(outbox.count))
            },
            whole(float(sample.count())),
            time(sample.median()),
            format!(
                "{} – {}",
                time(sample.quantile(0.25)),
                time(sample.quantile(0.75))
            ),
            if is_plain { "–".into() } else { ratio(found) },
            if is_plain {
                "–".into()
            } else {
                format!("{low:.2} – {high:.2}")
            },
            time(outbox.first),
        ]);
    }
    report.tables.push(table);
}
