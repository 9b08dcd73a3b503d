//! A description of the machine, for readers.

use std::fs;
use std::process::Command;

use serde::{Deserialize, Serialize};
use sqlx::Connection as _;

use crate::Fault;
use crate::server::Database;

#[derive(Debug, Clone, Serialize, Deserialize, PartialEq)]
pub(crate) struct Machine {
    pub(crate) processor: String,
    pub(crate) cores: usize,
    pub(crate) memory: String,
    pub(crate) disk: String,
    pub(crate) system: String,
    pub(crate) postgres: String,
    pub(crate) rustc: String,
    pub(crate) sqlx: String,
    /// The load average of the minute before the run, caused by other programs.
    pub(crate) load: f64,
}

impl Machine {
    pub(crate) async fn here(database: &Database) -> Result<Self, Fault> {
        let mut connection = database.connect().await?;
        let postgres: String = sqlx::query_scalar("SHOW server_version")
            .fetch_one(&mut connection)
            .await?;
        connection.close().await?;
        Ok(Self {
            processor: field("/proc/cpuinfo", "model name"),
            cores: std::thread::available_parallelism()?.get(),
            memory: memory(),
            disk: disk(),
            system: system(),
            postgres,
            rustc: said("rustc", &["--version"]),
            sqlx: locked("sqlx"),
            load: load()?,
        })
    }

    pub(crate) fn sentence(&self) -> String {
        let Self {
            processor,
            cores,
            memory,
            disk,
            system,
            postgres,
            rustc,
            sqlx,
            load: _,
        } = self;
        format!(
            "{processor}, {cores} cores for server and clients together, {memory} of memory, {disk}, {system}; \
             PostgreSQL {postgres}, sqlx {sqlx}, {rustc}."
        )
    }
}

fn load() -> Result<f64, Fault> {
    let text = fs::read_to_string("/proc/loadavg")?;
    Ok(text.split(' ').next().unwrap_or_default().parse()?)
}

fn said(program: &str, arguments: &[&str]) -> String {
    let output = Command::new(program).args(arguments).output();
    let text = output.map(|output| String::from_utf8_lossy(&output.stdout).trim().to_owned());
    text.unwrap_or_default()
}

/// Returns the first field with this name in a file of `name: value` lines.
fn field(file: &str, name: &str) -> String {
    let text = fs::read_to_string(file).unwrap_or_default();
    let mut lines = text.lines().filter_map(|line| line.split_once(':'));
    let found = lines.find(|(found, _)| found.trim() == name);
    found.map_or_else(|| "unknown".into(), |(_, value)| value.trim().to_owned())
}

fn memory() -> String {
    let kilobytes = field("/proc/meminfo", "MemTotal");
    let number = kilobytes
        .split(' ')
        .next()
        .and_then(|n| n.parse::<u64>().ok());
    number.map_or(kilobytes, |n| format!("{} GiB", (n + (1 << 19)) >> 20))
}

fn disk() -> String {
    // The file system of the server's data directory.
    let dir = std::env::temp_dir();
    let source = said("df", &["--output=source,fstype", &dir.to_string_lossy()]);
    let line = source.lines().last().unwrap_or_default();
    let mut words = line.split_whitespace();
    let (device, kind) = (words.next().unwrap_or("?"), words.next().unwrap_or("?"));
    let kind_of_disk = match device.trim_start_matches("/dev/") {
        name if name.starts_with("vd") => "a virtual disk",
        name if name.starts_with("nvme") => "an NVMe disk",
        _ => "a disk",
    };
    format!("{kind} on {kind_of_disk}")
}

fn system() -> String {
    let release = fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    let number = release.trim().split('-').next().unwrap_or_default();
    format!("Linux {number}")
}

/// Returns the version of a package in the workspace's lock file, or in the lock file of a parent
/// directory.
fn locked(package: &str) -> String {
    let lock = fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.lock"))
        .or_else(|_| fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../Cargo.lock")));
    let lock = lock.unwrap_or_default();
    let head = format!("name = \"{package}\"\nversion = \"");
    let rest = lock.split_once(&head).map(|(_, rest)| rest);
    let version = rest.and_then(|rest| rest.split('"').next());
    version.unwrap_or("unknown").to_owned()
}
