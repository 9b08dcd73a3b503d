//! Tabulates the processor time of a call, of the server and of the client.

use super::super::slices::{Slot, compared};
use crate::report::table::{ratio, time};
use crate::report::{Report, Table};

/// Returns the table of these tasks. Records the ratios of the server's time and of both.
pub(super) fn tabulate(tasks: u32, disk: &str, slots: &[Slot], report: &mut Report) -> Table {
    let by = match tasks {
        1 => "one task".to_owned(),
        _ => format!("{tasks} tasks"),
    };
    let caption = format!("Time on the processor of a call by {by}, {disk}; medians");
    let columns = [
        "call",
        "server",
        "client",
        "both",
        "against",
        "server's ratio",
        "ratio of both",
    ];
    let mut table = Table::new(&caption, &columns);
    for slot in slots.iter().filter(|slot| slot.tasks == tasks) {
        let name = format!("processor/{tasks}/{}", slot.case.name);
        report.sample(&format!("{name}/server"), &slot.server);
        report.sample(&format!("{name}/client"), &slot.client);
        let mut cells = vec![
            slot.case.name.to_owned(),
            time(slot.server.median()),
            time(slot.client.median()),
            time(slot.both()),
        ];
        match compared(slots, slot).filter(|_| slot.case.name != slot.case.against) {
            Some(plain) => {
                let server = slot.server.median() / plain.server.median();
                let both = slot.both() / plain.both();
                report.figure(&format!("{name}/server/ratio"), server);
                report.figure(&format!("{name}/ratio"), both);
                cells.extend([slot.case.against.to_owned(), ratio(server), ratio(both)]);
            }
            None => cells.extend(["–", "–", "–"].map(str::to_owned)),
        }
        table.row(cells);
    }
    table
}
