//! A Markdown table that is also readable as plain text.

use std::fmt;

use serde::{Deserialize, Serialize};

#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Table {
    pub(crate) caption: String,
    columns: Vec<String>,
    rows: Vec<Vec<String>>,
}

impl Table {
    pub(crate) fn new(caption: &str, columns: &[&str]) -> Self {
        Self {
            caption: caption.to_owned(),
            columns: columns.iter().map(|&name| name.to_owned()).collect(),
            rows: Vec::new(),
        }
    }

    pub(crate) fn row(&mut self, cells: Vec<String>) {
        self.rows.push(cells);
    }

    fn width(&self, column: usize) -> usize {
        let cells = self.rows.iter().filter_map(|row| row.get(column));
        let widths = cells
            .chain(self.columns.get(column))
            .map(|cell| cell.chars().count());
        widths.max().unwrap_or(0).max(3)
    }
}

impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "**{}**\n", self.caption)?;
        let line = |f: &mut fmt::Formatter<'_>, cells: &[String]| {
            for column in 0..self.columns.len() {
                let cell = cells.get(column).map_or("", String::as_str);
                let width = self.width(column);
                if column == 0 {
                    write!(f, "| {cell:<width$} ")?;
                } else {
                    write!(f, "| {cell:>width$} ")?;
                }
            }
            writeln!(f, "|")
        };
        line(f, &self.columns)?;
        for column in 0..self.columns.len() {
            let dashes = "-".repeat(self.width(column));
            write!(
                f,
                "|{}{dashes}{}",
                if column == 0 { "-" } else { " " },
                if column == 0 { "-" } else { ":" }
            )?;
        }
        writeln!(f, "|")?;
        self.rows.iter().try_for_each(|row| line(f, row))
    }
}

/// Formats a time in microseconds, in the unit that reads best.
pub(crate) fn time(micros: f64) -> String {
    if micros < 1.0 {
        format!("{:.0} ns", micros * 1e3)
    } else if micros < 100.0 {
        format!("{micros:.1} µs")
    } else if micros < 1e3 {
        format!("{micros:.0} µs")
    } else if micros < 100e3 {
        format!("{:.2} ms", micros / 1e3)
    } else if micros < 1e6 {
        format!("{:.0} ms", micros / 1e3)
    } else {
        format!("{:.1} s", micros / 1e6)
    }
}

pub(crate) fn ratio(value: f64) -> String {
    format!("{value:.2}x")
}

/// Formats a whole number with thousands separators.
pub(crate) fn whole(value: f64) -> String {
    let digits = format!("{:.0}", value.abs());
    let mut text = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    if value < -0.5 {
        format!("-{text}")
    } else {
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_as_wide_as_their_widest_cell() {
        let mut table = Table::new("Times", &["case", "median"]);
        table.row(vec!["plain".into(), time(1234.0)]);
        table.row(vec!["a longer one".into(), time(12.34)]);
        let lines = [
            "**Times**",
            "",
            "| case         |  median |",
            "|--------------| -------:|",
            "| plain        | 1.23 ms |",
            "| a longer one | 12.3 µs |",
            "",
        ];
        assert_eq!(table.to_string(), lines.join("\n"));
    }

    #[test]
    fn thousands_are_marked() {
        let whole: Vec<_> = [0.0, 999.0, 1000.0, 1_234_567.0, -1234.0].map(whole).into();
        assert_eq!(whole, ["0", "999", "1,000", "1,234,567", "-1,234"]);
    }
}
