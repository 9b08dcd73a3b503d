//! Measures the processor time of the server and of this process.

use std::fs;
use std::path::Path;
use std::time::Duration;

use sqlx::Connection as _;

use crate::Fault;
use crate::server::Database;

/// The server's processes at the time of the first reading.
pub(crate) struct Processor {
    server: Vec<i32>,
}

/// The processor time up to now, of server and client.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct ProcessorTime {
    pub(crate) server: Duration,
    pub(crate) client: Duration,
}

impl Processor {
    /// Reads the processor time of all open sessions and of the server's own processes.
    pub(crate) async fn of(database: &Database) -> Result<Self, Fault> {
        let mut connection = database.connect().await?;
        let server = sqlx::query_scalar("SELECT pid FROM pg_stat_activity")
            .fetch_all(&mut connection)
            .await?;
        connection.close().await?;
        Ok(Self { server })
    }

    /// Reads the processor time of one process of the server.
    pub(crate) fn of_process(process: i32) -> Self {
        Self {
            server: vec![process],
        }
    }

    pub(crate) fn elapsed(&self) -> Result<ProcessorTime, Fault> {
        let server = self.server.iter();
        Ok(ProcessorTime {
            // A process that has ended since uses no more time.
            server: server
                .map(|pid| of_tasks(format!("/proc/{pid}/task")).unwrap_or_default())
                .sum(),
            client: of_tasks("/proc/self/task")?,
        })
    }
}

impl ProcessorTime {
    pub(crate) fn since(self, before: Self) -> Self {
        Self {
            server: self.server.saturating_sub(before.server),
            client: self.client.saturating_sub(before.client),
        }
    }
}

/// Reads the processor time of all threads of a process: the first number of `schedstat`, in
/// nanoseconds.
fn of_tasks(tasks: impl AsRef<Path>) -> Result<Duration, Fault> {
    let mut sum = Duration::ZERO;
    for task in fs::read_dir(tasks)? {
        let Ok(text) = fs::read_to_string(task?.path().join("schedstat")) else {
            // The thread has ended.
            continue;
        };
        let nanos = text.split(' ').next().unwrap_or_default().parse()?;
        sum += Duration::from_nanos(nanos);
    }
    Ok(sum)
}
