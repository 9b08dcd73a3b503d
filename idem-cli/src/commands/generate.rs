//! Prints what is generated from the command line: completions and the manual page.

use std::io;

use clap::CommandFactory as _;
use clap_complete::Shell;
use clap_mangen::Man;

use crate::args::Args;
use crate::fault::{Fault, Outcome};
use crate::view::line;

pub(super) fn completions(shell: Shell) {
    let mut text = Vec::new();
    clap_complete::generate(shell, &mut Args::command(), "idem", &mut text);
    line(String::from_utf8_lossy(&text).trim_end());
}

/// Prints one page: the program, and after it each command.
pub(super) fn manual() -> Result<Outcome, Fault> {
    let mut command = Args::command();
    command.build();
    let mut out = io::stdout();
    let mut done = Man::new(command.clone()).render(&mut out);
    let mut waiting: Vec<_> = command.get_subcommands().cloned().collect();
    waiting.reverse();
    while let (Ok(()), Some(command)) = (&done, waiting.pop()) {
        if command.get_name() == "help" {
            continue;
        }
        let name = command.get_display_name().unwrap_or_default().to_owned();
        let mut below: Vec<_> = command.get_subcommands().cloned().collect();
        below.reverse();
        waiting.extend(below);
        done = write_command(&mut out, command, &name);
    }
    match done {
        // Whoever reads the output may stop before its end.
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(Outcome::Done),
        done => done
            .map(|()| Outcome::Done)
            .map_err(|error| Fault::environment(format!("the page cannot be written: {error}"))),
    }
}

fn write_command(out: &mut impl io::Write, command: clap::Command, name: &str) -> io::Result<()> {
    writeln!(out, ".SH \"{}\"", name.replace('-', " ").to_uppercase())?;
    let page = Man::new(command);
    page.render_description_section(out)?;
    page.render_synopsis_section(out)?;
    page.render_options_section(out)
}
