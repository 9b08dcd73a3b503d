//! The store in memory under the contract.

use std::time::Duration;

use idem_runtime::record::{AttemptId, Timestamp};
use idem_runtime::store::memory::{MemoryConnection, MemoryDatabase};

use super::{Edit, Subject};

pub(crate) struct Memory(pub(super) MemoryDatabase);

impl Subject for Memory {
    type Conn = MemoryConnection;
    const OTHER_TABLES: &'static [&'static str] = &["billing", "app.billing"];

    async fn fresh() -> Self {
        Self(MemoryDatabase::new())
    }

    async fn connect(&self) -> MemoryConnection {
        self.0.connect()
    }

    async fn begin(conn: &mut MemoryConnection) {
        conn.begin().expect("no transaction is open");
    }

    async fn commit(conn: &mut MemoryConnection) {
        conn.commit().expect("no rival");
    }

    async fn rollback(conn: &mut MemoryConnection) {
        conn.rollback().expect("a transaction is open");
    }

    async fn now(&self) -> Timestamp {
        self.0.now()
    }

    async fn count(&self) -> usize {
        let rows = self.0.rows();
        rows.iter()
            .filter(|(at, _)| at.table == "idem_record")
            .count()
    }

    async fn view(&self) -> (bool, bool) {
        let rows = self.0.rows();
        let request = rows.first().and_then(|(_, row)| row.request.clone());
        let is_empty = request.as_ref().is_some_and(Vec::is_empty);
        (request.is_some() && !is_empty, is_empty)
    }

    async fn age(&self, by: Duration) {
        self.0.edit(|_, row| {
            row.created_at = shift(row.created_at, -micros(by));
            row.expires_at = row.expires_at.map(|at| shift(at, -micros(by)));
        });
    }

    async fn edit(&self, key: &str, edit: Edit<'_>) {
        let now = self.0.now();
        self.0.edit(|at, row| {
            if at.key != key {
                return;
            }
            match edit {
                Edit::Status(code) => row.status = code,
                Edit::Codec(code) => row.codec = code,
                Edit::FingerprintVersion(code) => row.fingerprint_version = code,
                Edit::Result(bytes) => row.result = Some(bytes.to_vec()),
                Edit::Request(bytes) => row.request = Some(bytes.to_vec()),
                Edit::Lease(code, left) => {
                    row.status = code;
                    row.result = None;
                    row.expires_at = None;
                    row.locked_until = Some(shift(now, micros(left)));
                }
            }
        });
    }

    async fn competitor(&self, _: &mut MemoryConnection, like: &str, key: &str) {
        let rows = self.0.rows();
        let model = rows.into_iter().find(|(at, _)| at.key == like);
        let (mut at, mut row) = model.expect("a record to copy");
        key.clone_into(&mut at.key);
        row.attempt_id = AttemptId::random();
        row.expires_at = Some(shift(self.0.now(), micros(Duration::from_hours(1))));
        self.0.insert(at, row);
    }
}

fn micros(time: Duration) -> i64 {
    i64::try_from(time.as_micros()).expect("a time of this century")
}

fn shift(at: Timestamp, micros: i64) -> Timestamp {
    Timestamp::from_micros(at.as_micros() + micros)
}
