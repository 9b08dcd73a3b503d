//! Measures what a call writes on the server: bytes of WAL, and row versions.

use sqlx::{Connection as _, PgConnection};

use super::Bench;
use super::stats::{close, position};
use crate::Fault;
use crate::cases::{Case, PAIR, PLAIN_1, SELECT, chosen_cases};
use crate::deed::Stage;
use crate::numbers::{Sample, float};
use crate::report::table::whole;
use crate::report::{Report, Table};
use crate::server::{Way, settled};

/// The rounds that are measured, after one warm-up round.
const ROUNDS: usize = 5;

pub(super) async fn run(mut bench: Bench<'_>) -> Result<Report, Fault> {
    let cases = chosen_cases(bench.options);
    if cases.is_empty() {
        return Ok(Report::of("written"));
    }
    let database = bench.server.database("written").await?;
    let stage = Stage::set_in_flight(&database).await?;
    let mut observer = database.connect().await?;
    let calls = bench.options.scaled(40);
    let mut bytes = vec![Sample::default(); cases.len()];
    let mut rows = vec![Rows::default(); cases.len()];
    // The first change of a page after a checkpoint writes the whole page. No further checkpoint
    // follows this one.
    database.run("CHECKPOINT").await?;
    for round in 0..=ROUNDS {
        for index in bench.chance.order(cases.len()) {
            let case = &cases[index];
            let pool = database.pool(Way {
                path: case.path,
                ..Way::DIRECT
            });
            stage.perform(case.deed, &pool).await?;
            settled(&pool).await;
            let before = Rows::of(&mut observer).await?;
            for _ in 0..calls {
                let position = position(&mut observer).await?;
                stage.perform(case.deed, &pool).await?;
                settled(&pool).await;
                let written = self::position(&mut observer).await? - position;
                if round > 0 {
                    bytes[index].push(written);
                }
            }
            close(&pool, &mut observer).await?;
            if round > 0 {
                let after = Rows::of(&mut observer).await?;
                rows[index].add(&after.less(&before));
            }
        }
    }
    observer.close().await?;
    Ok(report(&cases, &bytes, &rows, calls * ROUNDS))
}

fn report(cases: &[Case], bytes: &[Sample], rows: &[Rows], calls: usize) -> Report {
    let mut report = Report::of("written");
    let mut table = Table::new(
        &format!("Written by a call: bytes of WAL, and rows of `idem_record`; {calls} calls each"),
        &[
            "case",
            "WAL, mean",
            "median",
            "more than",
            "mean",
            "inserted",
            "updated",
            "dead",
        ],
    );
    for ((case, sample), rows) in cases.iter().zip(bytes).zip(rows) {
        let plain = cases.iter().position(|other| other.name == case.against);
        let plain = plain.map_or(sample, |index| &bytes[index]);
        report.figure(&format!("{}/WAL", case.name), sample.mean());
        report.figure(&format!("{}/WAL median", case.name), sample.median());
        report.figure(
            &format!("{}/WAL more", case.name),
            sample.mean() - plain.mean(),
        );
        report.figure(&format!("{}/updated", case.name), rows.updated);
        report.figure(&format!("{}/dead", case.name), rows.dead);
        let a_call = |count: f64| {
            // Each round makes one more call before its bytes are read.
            let all = float(calls + ROUNDS);
            if count == 0.0 {
                "0".to_owned()
            } else {
                format!("{:.2}", count / all)
            }
        };
        let is_itself = case.name == case.against;
        table.row(vec![
            case.name.to_owned(),
            whole(sample.mean()),
            whole(sample.median()),
            match case.against {
                _ if is_itself => "–".into(),
                PLAIN_1 => "plain 1".into(),
                SELECT => "SELECT".into(),
                PAIR => "the pair".into(),
                _ => "plain 3".into(),
            },
            if is_itself {
                "–".into()
            } else {
                whole(sample.mean() - plain.mean())
            },
            a_call(rows.inserted),
            a_call(rows.updated),
            a_call(rows.dead),
        ]);
    }
    report.tables.push(table);
    report
}

/// The server's counters for the record's table, as far as its sessions have reported them.
#[derive(Debug, Clone, Default)]
struct Rows {
    inserted: f64,
    updated: f64,
    dead: f64,
}

impl Rows {
    async fn of(observer: &mut PgConnection) -> Result<Self, Fault> {
        let (inserted, updated, dead): (i64, i64, i64) = sqlx::query_as(
            "SELECT n_tup_ins, n_tup_upd, n_dead_tup FROM pg_stat_user_tables WHERE relname = 'idem_record'",
        )
        .fetch_one(observer)
        .await?;
        let number = |count: i64| usize::try_from(count).map(float);
        Ok(Self {
            inserted: number(inserted)?,
            updated: number(updated)?,
            dead: number(dead)?,
        })
    }

    fn less(&self, before: &Self) -> Self {
        Self {
            inserted: self.inserted - before.inserted,
            updated: self.updated - before.updated,
            dead: self.dead - before.dead,
        }
    }

    fn add(&mut self, other: &Self) {
        self.inserted += other.inserted;
        self.updated += other.updated;
        self.dead += other.dead;
    }
}
