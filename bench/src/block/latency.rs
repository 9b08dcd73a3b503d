//! Measures the time of one call over five links to the server.

use std::time::{Duration, Instant};

use sqlx::{Connection as _, PgPool};

use super::Bench;
use crate::Fault;
use crate::cases::{Case, chosen_cases};
use crate::deed::{Deed, Stage};
use crate::numbers::{Chance, Sample};
use crate::report::table::{ratio, time};
use crate::report::{Plot, Report, Table};
use crate::server::{Database, Path, Way, settled};

/// A link to the server: its name, its round trip beyond the machine's own, and the iterations of a
/// full run.
struct Link {
    name: &'static str,
    position: &'static str,
    round_trip: Duration,
    waits_for_disk: bool,
    iterations: usize,
}

const LINKS: [Link; 5] = [
    link("loopback", "loopback", 0, true, 400),
    link("loopback, synchronous_commit off", "", 0, false, 400),
    link("0.5 ms", "0.5 ms", 500, true, 150),
    link("1 ms", "1 ms", 1_000, true, 120),
    link("7 ms", "7 ms", 7_000, true, 30),
];

const fn link(
    name: &'static str,
    position: &'static str,
    micros: u64,
    waits_for_disk: bool,
    iterations: usize,
) -> Link {
    Link {
        name,
        position,
        round_trip: Duration::from_micros(micros),
        waits_for_disk,
        iterations,
    }
}

/// The cases that are plotted over round-trip time.
const DRAWN: [&str; 7] = [
    "first run, 1 statement, fused",
    "first run, 1 statement, unfused",
    "first run, 3 statements, fused",
    "by hand, insert and update",
    "replay, fused",
    "replay, other process, fused",
    "caller's transaction",
];

pub(super) async fn run(mut bench: Bench<'_>) -> Result<Report, Fault> {
    let cases = chosen_cases(bench.options);
    if cases.is_empty() {
        return Ok(Report::of("latency"));
    }
    let database = bench.server.database("latency").await?;
    let stage = Stage::set_in_flight(&database).await?;
    let mut report = Report::of("latency");
    let mut lines: Vec<_> = DRAWN.map(|name| (name.to_owned(), Vec::new())).into();
    let mut places = Vec::new();
    for link in &LINKS {
        let samples = measure(&mut bench, &database, &stage, (&cases, link), &mut report).await?;
        report.tables.push(tabulate(
            (&cases, link),
            &samples,
            &mut report.figures,
            &mut bench.chance,
        ));
        if link.waits_for_disk {
            places.push(link.position.to_owned());
            for (name, values) in &mut lines {
                let found = report
                    .figures
                    .get(&format!("latency/{}/{name}/ratio", link.name));
                values.push(found.copied().unwrap_or(f64::NAN));
            }
        }
    }
    if bench.options.row.is_some() {
        return Ok(report);
    }
    report.plots.push(Plot {
        file: "ratio.svg".into(),
        title: "Median of a call against the same work without the library".into(),
        x: "round trip to the server, beyond the machine's own".into(),
        y: "ratio".into(),
        places,
        lines,
        from: 0.5,
    });
    Ok(report)
}

async fn measure(
    bench: &mut Bench<'_>,
    database: &Database,
    stage: &Stage,
    (cases, link): (&[Case], &Link),
    report: &mut Report,
) -> Result<Vec<Sample>, Fault> {
    let wire = if link.round_trip.is_zero() {
        None
    } else {
        Some(bench.server.wire(link.round_trip)?)
    };
    let way = |path| Way {
        path,
        wire: wire.as_ref(),
        waits_for_disk: link.waits_for_disk,
        connections: 1,
    };
    let pools = [Path::Fused, Path::Unfused].map(|path| database.pool(way(path)));
    let ping = ping(&pools[0]).await?;
    report.sample(&format!("{}/ping", link.name), &ping);
    println!("{}: a ping takes {}", link.name, time(ping.median()));

    let iterations = bench.options.scaled(link.iterations);
    let mut samples = vec![Sample::default(); cases.len()];
    let warm_up = iterations.min(6);
    for iteration in 0..warm_up + iterations {
        for index in bench.chance.order(cases.len()) {
            let taken = one(stage, &cases[index], &pools).await?;
            if iteration >= warm_up {
                samples[index].push_time(taken);
            }
        }
    }
    for (case, sample) in cases.iter().zip(&samples) {
        report.sample(&format!("{}/{}", link.name, case.name), sample);
    }
    for pool in pools {
        pool.close().await;
    }
    Ok(samples)
}

/// Runs one case once. The pool pings the connection on its return, after the caller has continued.
/// The bench waits for that ping outside the measured time.
async fn one(stage: &Stage, case: &Case, pools: &[PgPool; 2]) -> Result<Duration, Fault> {
    let pool = pool_of(case, pools);
    let begun = Instant::now();
    stage
        .perform(case.deed, pool)
        .await
        .map_err(|fault| format!("{}: {fault}", case.name))?;
    let taken = begun.elapsed();
    settled(pool).await;
    if case.deed == Deed::Lease {
        // The second task releases the pool a little later.
        tokio::task::yield_now().await;
        settled(pool).await;
    }
    Ok(taken)
}

fn pool_of<'a>(case: &Case, pools: &'a [PgPool; 2]) -> &'a PgPool {
    &pools[usize::from(case.path == Path::Unfused)]
}

/// Measures the round trip as a client sees it: over the link, plus the machine's own.
async fn ping(pool: &PgPool) -> Result<Sample, Fault> {
    let mut sample = Sample::default();
    let mut connection = pool.acquire().await?;
    for count in 0..120 {
        let begun = Instant::now();
        connection.ping().await?;
        if count >= 20 {
            sample.push_time(begun.elapsed());
        }
    }
    drop(connection);
    settled(pool).await;
    Ok(sample)
}

fn tabulate(
    (cases, link): (&[Case], &Link),
    samples: &[Sample],
    figures: &mut std::collections::BTreeMap<String, f64>,
    chance: &mut Chance,
) -> Table {
    let ping = figures.get(&format!("latency/{}/ping/median", link.name));
    let caption = format!(
        "{}{}: a ping takes {}; {} iterations",
        if link.round_trip.is_zero() {
            ""
        } else {
            "A round trip of "
        },
        link.name,
        time(ping.copied().unwrap_or(f64::NAN)),
        samples.first().map_or(0, Sample::count),
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
    for (case, sample) in cases.iter().zip(samples) {
        let plain = cases.iter().position(|other| other.name == case.against);
        let plain = plain.map_or(sample, |index| &samples[index]);
        let found = sample.median() / plain.median();
        let (low, high) = sample.ratio_within(plain, chance);
        figures.insert(format!("latency/{}/{}/ratio", link.name, case.name), found);
        let is_itself = case.name == case.against;
        table.row(vec![
            case.name.to_owned(),
            time(sample.median()),
            format!(
                "{} – {}",
                time(sample.quantile(0.25)),
                time(sample.quantile(0.75))
            ),
            if is_itself {
                "–".into()
            } else {
                case.against.to_owned()
            },
            if is_itself {
                "–".into()
            } else {
                ratio(found)
            },
            if is_itself {
                "–".into()
            } else {
                format!("{low:.2} – {high:.2}")
            },
        ]);
    }
    table
}
