//! What a call costs, in three lines: the head of `docs/performance.md`.

use super::goals::Figures;
use super::table::{ratio, whole};

/// Returns the lines, with the figures of the last run of each block, or `None` if one is missing.
pub(crate) fn lines(figures: &Figures) -> Option<String> {
    let times = |name: &str| figures.get(name).map(|&found| ratio(found));
    let counted = |name: &str| figures.get(name).map(|&found| whole(found));
    let latency = |link: &str, case: &str| times(&format!("latency/{link}/{case}/ratio"));
    let (first, replay) = ("first run, 1 statement, fused", "replay, fused");
    let elsewhere = "replay, other process, fused";
    Some(format!(
        "- **A first run** takes {} as long as its body in a plain transaction on loopback, {} over a round trip of \
         1 ms and {} over one of 7 ms. It makes {} round trips more and writes {} bytes of WAL more.\n\
         - **A replay** takes {} as long as one SELECT on loopback, and {} at 1 ms; {} and {} if another process ran \
         the first call. It makes {} round trips more and writes {} bytes of WAL.\n\
         - **A busy server** takes {} the processor time of plain for a first run ({} with one connection): on two \
         cores for server and clients, 8 tasks make {} as many calls a second.",
        latency("loopback", first)?,
        latency("1 ms", first)?,
        latency("7 ms", first)?,
        counted(&format!("counts/{first}/more"))?,
        counted(&format!("written/{first}/WAL more"))?,
        latency("loopback", replay)?,
        latency("1 ms", replay)?,
        latency("loopback", elsewhere)?,
        latency("1 ms", elsewhere)?,
        counted(&format!("counts/{replay}/more"))?,
        counted(&format!("written/{replay}/WAL"))?,
        times("tasks/processor/8/fused/server/ratio")?,
        times("tasks/processor/1/fused/server/ratio")?,
        times("tasks/fsync/8/fused/ratio")?,
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lines_say_what_was_measured_if_all_of_it_was() {
        let mut figures = Figures::new();
        assert_eq!(lines(&figures), None);
        for (link, case) in [
            ("loopback", "first run, 1 statement, fused"),
            ("1 ms", "first run, 1 statement, fused"),
            ("7 ms", "first run, 1 statement, fused"),
            ("loopback", "replay, fused"),
            ("1 ms", "replay, fused"),
            ("loopback", "replay, other process, fused"),
            ("1 ms", "replay, other process, fused"),
        ] {
            figures.insert(format!("latency/{link}/{case}/ratio"), 1.324);
        }
        for name in [
            "counts/first run, 1 statement, fused/more",
            "written/first run, 1 statement, fused/WAL more",
            "counts/replay, fused/more",
            "written/replay, fused/WAL",
            "tasks/processor/8/fused/server/ratio",
            "tasks/processor/1/fused/server/ratio",
            "tasks/fsync/8/fused/ratio",
        ] {
            assert_eq!(lines(&figures), None, "{name}");
            figures.insert(name.into(), 1.0);
        }
        let lines = lines(&figures).expect("all of it");
        assert_eq!(lines.lines().count(), 3);
        assert!(
            lines.starts_with("- **A first run** takes 1.32x as long"),
            "{lines}"
        );
        assert!(lines.contains("It makes 1 round trips more"), "{lines}");
    }
}
