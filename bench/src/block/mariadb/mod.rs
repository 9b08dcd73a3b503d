//! Measures a call on MariaDB: round trips, time over two links, bytes of redo log, and eight tasks.

mod case;
mod tasks;
mod work;

use std::time::{Duration, Instant};

use idem_runtime::schema;
use idem_tests_cluster::{Wire, mariadb};
use sqlx::mysql::{MySqlConnectOptions, MySqlPoolOptions, MySqlSslMode};
use sqlx::{Connection as _, MySqlConnection, MySqlPool};

use self::case::{CASES, Deed, RECORDED, RECORDED_BY_HAND, perform};
use super::Bench;
use crate::Fault;
use crate::numbers::{Chance, Sample, float};
use crate::report::table::{ratio, time, whole};
use crate::report::{Report, Table};
use crate::server::settled;
use crate::work::{Pay, key};

/// The server of this block, durable: it flushes its log at each COMMIT.
struct Till {
    server: mariadb::Server,
    options: MySqlConnectOptions,
    version: String,
}

impl Till {
    async fn open() -> Result<Self, Fault> {
        let settings = mariadb::Options::new()
            .set("innodb_flush_log_at_trx_commit", "1")
            .set("innodb_doublewrite", "ON")
            .set("innodb_buffer_pool_size", "512M")
            .set("innodb_log_file_size", "1G");
        let server = mariadb::Server::start(&settings)?;
        let options: MySqlConnectOptions = server.url("mysql").parse()?;
        let options = options.ssl_mode(MySqlSslMode::Disabled);
        let mut conn = MySqlConnection::connect_with(&options).await?;
        sqlx::raw_sql("CREATE DATABASE bench")
            .execute(&mut conn)
            .await?;
        let version: String = sqlx::query_scalar("SELECT version()")
            .fetch_one(&mut conn)
            .await?;
        conn.close().await?;
        let till = Self {
            server,
            options: options.database("bench"),
            version: version.split('-').next().unwrap_or_default().to_owned(),
        };
        let pool = till.pool(1, None);
        sqlx::raw_sql(work::TABLE).execute(&pool).await?;
        schema::create_if_missing(&mut *pool.acquire().await?).await?;
        work::pay(&pool, &key(RECORDED), &Pay::of(1)).await?;
        work::hand(&pool, RECORDED_BY_HAND, &Pay::of(1)).await?;
        pool.close().await;
        Ok(till)
    }

    fn pool(&self, connections: u32, wire: Option<&Wire>) -> MySqlPool {
        let options = self.options.clone();
        let port = wire.map_or_else(|| options.get_port(), Wire::port);
        MySqlPoolOptions::new()
            .max_connections(connections)
            .acquire_timeout(Duration::from_mins(1))
            .connect_lazy_with(options.host("127.0.0.1").port(port))
    }

    fn wire(&self, round_trip: Duration) -> Result<Wire, Fault> {
        Ok(Wire::to(self.options.get_port(), round_trip)?)
    }
}

pub(super) async fn run(mut bench: Bench<'_>) -> Result<Report, Fault> {
    let till = Till::open().await?;
    let mut report = Report::of("mariadb");
    count(&till, &mut report).await?;
    for (link, round_trip, iterations) in [
        ("loopback", Duration::ZERO, 400),
        ("1 ms", Duration::from_millis(1), 120),
    ] {
        let wire = (!round_trip.is_zero())
            .then(|| till.wire(round_trip))
            .transpose()?;
        let pool = till.pool(1, wire.as_ref());
        let iterations = bench.options.scaled(iterations);
        let samples = time_each(&pool, iterations, &mut bench.chance).await?;
        tabulate(&till, link, &samples, &mut report, &mut bench.chance);
        pool.close().await;
    }
    redo(&bench, &till, &mut report).await?;
    tasks::run(&mut bench, &till, &mut report).await?;
    drop(till.server);
    Ok(report)
}

/// Returns the index of the case that a case is compared with.
fn plain_of(index: usize) -> usize {
    let (_, _, against) = CASES[index];
    let found = CASES.iter().position(|(name, ..)| *name == against);
    found.unwrap_or(index)
}

/// Makes one call and waits for the pool's ping behind it, outside the returned time.
async fn one(deed: Deed, pool: &MySqlPool) -> Result<Duration, Fault> {
    let begun = Instant::now();
    perform(deed, pool)
        .await
        .map_err(|fault| format!("{deed:?}: {fault}"))?;
    let taken = begun.elapsed();
    settled(pool).await;
    if deed == Deed::Leased {
        // The task of the body releases the pool a little later.
        tokio::task::yield_now().await;
        settled(pool).await;
    }
    Ok(taken)
}

async fn count(till: &Till, report: &mut Report) -> Result<(), Fault> {
    const CALLS: u64 = 10;
    let wire = till.wire(Duration::ZERO)?;
    let pool = till.pool(1, Some(&wire));
    let mut counted = Vec::new();
    for deed in [Deed::Nothing]
        .into_iter()
        .chain(CASES.map(|(_, deed, _)| deed))
    {
        for _ in 0..2 {
            one(deed, &pool).await?;
        }
        let before = wire.round_trips();
        for _ in 0..CALLS {
            one(deed, &pool).await?;
        }
        let trips = usize::try_from(wire.round_trips() - before)?;
        counted.push(float(trips) / 10.0);
    }
    pool.close().await;
    let caption = format!(
        "MariaDB {}: round trips of a call, without the two pings of its first use of the pool",
        till.version
    );
    let mut table = Table::new(&caption, &["case", "round trips", "against", "more"]);
    let (pings, counted) = counted.split_first().ok_or("nothing was counted")?;
    for (index, (name, _, against)) in CASES.iter().enumerate() {
        let (trips, more) = (
            counted[index] - pings,
            counted[index] - counted[plain_of(index)],
        );
        report.figure(&format!("{name}/round trips"), trips);
        report.figure(&format!("{name}/more"), more);
        table.row(vec![
            (*name).to_owned(),
            whole(trips),
            (*against).to_owned(),
            format!("+{}", whole(more)),
        ]);
    }
    report.tables.push(table);
    Ok(())
}

async fn time_each(
    pool: &MySqlPool,
    iterations: usize,
    chance: &mut Chance,
) -> Result<Vec<Sample>, Fault> {
    const WARM_UP: usize = 5;
    let mut samples = vec![Sample::default(); CASES.len()];
    for iteration in 0..iterations + WARM_UP {
        for index in chance.order(CASES.len()) {
            let taken = one(CASES[index].1, pool).await?;
            if iteration >= WARM_UP {
                samples[index].push_time(taken);
            }
        }
    }
    Ok(samples)
}

fn tabulate(till: &Till, link: &str, samples: &[Sample], report: &mut Report, chance: &mut Chance) {
    let caption = format!(
        "MariaDB {}, innodb_flush_log_at_trx_commit = 1, {link}; {} iterations",
        till.version,
        samples.first().map_or(0, Sample::count)
    );
    let columns = [
        "case",
        "median",
        "quartiles",
        "against",
        "ratio",
        "95 of 100",
    ];
    let mut table = Table::new(&caption, &columns);
    for (index, ((name, _, against), sample)) in CASES.iter().zip(samples).enumerate() {
        let plain = &samples[plain_of(index)];
        let found = sample.median() / plain.median();
        let (low, high) = sample.ratio_within(plain, chance);
        report.sample(&format!("{link}/{name}"), sample);
        report.figure(&format!("{link}/{name}/ratio"), found);
        table.row(vec![
            (*name).to_owned(),
            time(sample.median()),
            format!(
                "{} – {}",
                time(sample.quantile(0.25)),
                time(sample.quantile(0.75))
            ),
            (*against).to_owned(),
            ratio(found),
            format!("{low:.2} – {high:.2}"),
        ]);
    }
    report.tables.push(table);
}

/// Measures the bytes that a call adds to the redo log.
async fn redo(bench: &Bench<'_>, till: &Till, report: &mut Report) -> Result<(), Fault> {
    let pool = till.pool(1, None);
    let mut observer = MySqlConnection::connect_with(&till.options).await?;
    let calls = bench.options.scaled(200);
    let caption = format!(
        "MariaDB {}: bytes of redo log of a call; {calls} calls each",
        till.version
    );
    let mut table = Table::new(&caption, &["case", "redo", "against", "more"]);
    let mut written = Vec::new();
    for (_, deed, _) in CASES {
        one(deed, &pool).await?;
        let before = log_position(&mut observer).await?;
        for _ in 0..calls {
            one(deed, &pool).await?;
        }
        let bytes = log_position(&mut observer).await? - before;
        written.push(float(usize::try_from(bytes)?) / float(calls));
    }
    for (index, (name, _, against)) in CASES.iter().enumerate() {
        let more = written[index] - written[plain_of(index)];
        report.figure(&format!("{name}/redo"), written[index]);
        report.figure(&format!("{name}/redo more"), more);
        table.row(vec![
            (*name).to_owned(),
            whole(written[index]),
            (*against).to_owned(),
            format!("+{}", whole(more)),
        ]);
    }
    report.tables.push(table);
    observer.close().await?;
    pool.close().await;
    Ok(())
}

async fn log_position(observer: &mut MySqlConnection) -> Result<u64, Fault> {
    let text = "SELECT CAST(variable_value AS UNSIGNED) FROM information_schema.global_status \
                WHERE variable_name = 'Innodb_lsn_current'";
    Ok(sqlx::query_scalar(text).fetch_one(observer).await?)
}
