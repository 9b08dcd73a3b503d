//! Counts the round trips of one call, which do not depend on the machine.

use std::time::Duration;

use super::Bench;
use crate::Fault;
use crate::cases::chosen_cases;
use crate::deed::{Deed, Stage};
use crate::numbers::float;
use crate::report::table::whole;
use crate::report::{Report, Table};
use crate::server::{Path, Way, settled};

const CALLS: usize = 10;

pub(super) async fn run(bench: Bench<'_>) -> Result<Report, Fault> {
    let cases = chosen_cases(bench.options);
    if cases.is_empty() {
        return Ok(Report::of("counts"));
    }
    let database = bench.server.database("counts").await?;
    let stage = Stage::set_in_flight(&database).await?;
    let wire = bench.server.wire(Duration::ZERO)?;
    let pools = [Path::Fused, Path::Unfused].map(|path| {
        database.pool(Way {
            path,
            wire: Some(&wire),
            ..Way::DIRECT
        })
    });
    let mut report = Report::of("counts");
    let mut table = Table::new(
        "Round trips of a call, without the pool's two pings",
        &["case", "round trips", "against", "more"],
    );
    let mut counted = Vec::new();
    let deeds = cases.iter().map(|case| (case.deed, case.path));
    for (deed, path) in [(Deed::Nothing, Path::Fused)].into_iter().chain(deeds) {
        let pool = &pools[usize::from(path == Path::Unfused)];
        // The first calls of a connection prepare statements and verify the table.
        for _ in 0..2 {
            stage.perform(deed, pool).await?;
            settled(pool).await;
        }
        let before = wire.round_trips();
        for _ in 0..CALLS {
            stage.perform(deed, pool).await?;
            settled(pool).await;
        }
        let trips = usize::try_from(wire.round_trips() - before)?;
        counted.push(float(trips) / float(CALLS));
    }
    let (pings, counted) = counted.split_first().ok_or("nothing was counted")?;
    report.figure("pings of the pool", *pings);
    for (case, trips) in cases.iter().zip(counted) {
        let plain = cases.iter().position(|other| other.name == case.against);
        let plain = plain.map_or(*trips, |index| counted[index]);
        report.figure(&format!("{}/round trips", case.name), trips - pings);
        report.figure(&format!("{}/more", case.name), trips - plain);
        let is_itself = case.name == case.against;
        table.row(vec![
            case.name.to_owned(),
            format_count(trips - pings),
            if is_itself {
                "–".into()
            } else {
                case.against.to_owned()
            },
            if is_itself {
                "–".into()
            } else {
                format!("+{}", format_count(trips - plain))
            },
        ]);
    }
    report.tables.push(table);
    Ok(report)
}

/// Formats a count. A fraction shows that some calls differ from the others.
fn format_count(count: f64) -> String {
    if (count - count.round()).abs() < 1e-9 {
        whole(count)
    } else {
        format!("{count:.1}")
    }
}
