//! Measures the comparison of requests: canonical JSON and its hash.

use std::hint::black_box;
use std::time::Instant;

use idem_runtime::fingerprint::{FINGERPRINT_VERSION, Fingerprint, canonical_json, canonical_text};
use serde::Serialize;
use sha2::{Digest as _, Sha256};

use super::Bench;
use crate::Fault;
use crate::numbers::{Sample, float};
use crate::report::table::{ratio, time, whole};
use crate::report::{Report, Table};

/// A typical request: text, integers, a fraction, an optional field and a list.
#[derive(Debug, Serialize)]
struct Order {
    customer: String,
    reference: String,
    note: Option<String>,
    lines: Vec<Line>,
}

#[derive(Debug, Serialize)]
struct Line {
    sku: String,
    name: String,
    quantity: u32,
    cents: i64,
    weight: f64,
    gift: bool,
    comment: Option<String>,
}

impl Order {
    fn of(bytes: usize) -> Self {
        let mut order = Self {
            customer: "c-20931".into(),
            reference: "2026-0193/b".into(),
            note: None,
            lines: Vec::new(),
        };
        let mut size = 60;
        while size < bytes {
            let number = u32::try_from(order.lines.len()).unwrap_or(u32::MAX);
            let line = Line {
                sku: format!("sku-{number:06}"),
                name: "Screw, hexagon head, M6 x 40 mm, zinc plated".into(),
                quantity: number % 9 + 1,
                cents: 1_299,
                weight: 0.25 * f64::from(number % 7),
                gift: number % 2 == 0,
                comment: None,
            };
            size += serde_json::to_vec(&line).map_or(bytes, |text| text.len() + 1);
            order.lines.push(line);
        }
        order
    }
}

pub(super) fn run(mut bench: Bench<'_>) -> Result<Report, Fault> {
    let mut report = Report::of("fingerprint");
    let mut table = Table::new(
        "Fingerprint of a request, and the time of serde_json and SHA-256 alone for the same bytes",
        &[
            "request",
            "bytes",
            "typed",
            "`Value`",
            "JSON text",
            "serde_json + SHA-256",
            "SHA-256 alone",
            "typed / serde_json + SHA-256",
        ],
    );
    for (name, bytes, calls) in [
        ("1 KB", 1_000, 300),
        ("10 KB", 10_000, 50),
        ("1 MB", 1_000_000, 1),
    ] {
        let order = Order::of(bytes);
        let value = serde_json::to_value(&order)?;
        let text = serde_json::to_vec(&order)?;
        let hash = |canonical: &[u8]| {
            black_box(Fingerprint::compute(
                FINGERPRINT_VERSION,
                "bench",
                "order",
                canonical,
            ));
        };
        let ways: [&(dyn Fn() -> Result<(), Fault> + Sync); 5] = [
            &|| {
                hash(&canonical_json(black_box(&order))?);
                Ok(())
            },
            &|| {
                hash(&canonical_json(black_box(&value))?);
                Ok(())
            },
            &|| {
                hash(&canonical_text(black_box(&text))?);
                Ok(())
            },
            &|| {
                black_box(Sha256::digest(serde_json::to_vec(black_box(&order))?));
                Ok(())
            },
            &|| {
                black_box(Sha256::digest(black_box(&text)));
                Ok(())
            },
        ];
        let mut samples = vec![Sample::default(); ways.len()];
        for round in 0..=bench.options.scaled(60) {
            for index in bench.chance.order(ways.len()) {
                let begun = Instant::now();
                for _ in 0..calls {
                    ways[index]()?;
                }
                if round > 0 {
                    samples[index].push(begun.elapsed().as_secs_f64() * 1e6 / float(calls));
                }
            }
        }
        let names = ["typed", "value", "text", "serde_json", "SHA-256"];
        let mut cells = vec![name.to_owned(), whole(float(text.len()))];
        for (way, sample) in names.into_iter().zip(&samples) {
            report.sample(&format!("{name}/{way}"), sample);
            cells.push(time(sample.median()));
        }
        cells.push(ratio(samples[0].median() / samples[3].median()));
        table.row(cells);
    }
    report.tables.push(table);
    Ok(report)
}
