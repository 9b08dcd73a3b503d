//! Leases in memory: the fence itself, under one mutex.

use super::connection::MemoryConnection;
use super::database::State;
use super::row::{MemoryKey, MemoryRow};
use super::session::look;
use crate::error::Error;
use crate::fast_check;
use crate::outcome::{Change, Decision, Lock};
use crate::policy::OnLapse;
use crate::record::{CODEC_JSON, Status, Timestamp};
use crate::store::lease::{
    Due, Extended, LeaseSession, Leased, Listed, Overdue, Page, Plan, Terms, Write,
};
use crate::store::session::{Ask, CommitError};

impl LeaseSession for MemoryConnection {
    async fn take(&mut self, ask: &Ask, terms: &Terms<'_>) -> Result<Leased, CommitError> {
        check(self)?;
        let mut state = self.database.lock();
        let key = MemoryKey::of(ask);
        let lock = if fast_check::is_on() && state.locks.contains_key(&key) {
            Lock::Refused
        } else {
            Lock::Granted
        };
        let seen = look(None, &state, ask, lock).map_err(CommitError::RolledBack)?;
        let (sighting, _) = seen.split(ask.clone());
        match terms.plan(sighting) {
            Plan::Answer(leased) => Ok(leased),
            Plan::Lapse(record) => {
                let write = Write::own(Change::Lapse, record.attempt_id, 0);
                alter(&mut state, &key, &write)?;
                Ok(Leased::Decided(Decision::Lapse(record)))
            }
            Plan::Write { entry, .. } => {
                // Looked at and written under one lock: what was decided still stands.
                let now = state.now();
                let row = MemoryRow {
                    expires_at: None,
                    locked_until: Some(later(now, terms.lease.micros())),
                    on_lapse: terms.lease.on_lapse(),
                    ..MemoryRow::new(ask.attempt_id, &entry, now)
                };
                state.rows.insert(key, row);
                Ok(Leased::Taken {
                    attempt: entry.attempt,
                })
            }
        }
    }

    async fn alter(&mut self, ask: &Ask, write: &Write<'_>) -> Result<bool, CommitError> {
        check(self)?;
        alter(&mut self.database.lock(), &MemoryKey::of(ask), write)
    }

    async fn extend(&mut self, table: &str, due: &[Due<'_>]) -> Result<Extended, CommitError> {
        check(self)?;
        let mut state = self.database.lock();
        let mut extended = Extended::default();
        for due in due {
            let write = Write::own(Change::Extend, due.attempt_id, due.lasts);
            if alter(&mut state, &MemoryKey::at(table, due.identity), &write)? {
                extended.extended.insert(due.attempt_id);
            }
        }
        Ok(extended)
    }

    async fn lapse(&mut self, overdue: &Overdue<'_>) -> Result<u64, CommitError> {
        check(self)?;
        let mut state = self.database.lock();
        let mut open: Vec<_> = state
            .rows
            .iter()
            .filter(|(key, row)| {
                key.table == overdue.table
                    && key.namespace == overdue.namespace
                    && row.operation == overdue.operation
            })
            .map(|(key, row)| (row.locked_until, key.clone(), row.attempt_id, row.on_lapse))
            .collect();
        open.sort_unstable_by(|a, b| (a.0, &a.1).cmp(&(b.0, &b.1)));
        let mut lapsed = 0;
        for (_, key, seen, on_lapse) in open {
            if lapsed < u64::from(overdue.limit) {
                let becomes = match on_lapse {
                    OnLapse::Retry => overdue.becomes,
                    OnLapse::Unknown => seen,
                };
                let write = Write {
                    becomes,
                    ..Write::own(Change::lapse(on_lapse), seen, overdue.retention)
                };
                lapsed += u64::from(alter(&mut state, &key, &write)?);
            }
        }
        Ok(lapsed)
    }

    async fn unknown(&mut self, page: &Page<'_>) -> Result<Vec<Listed>, Error> {
        let state = self.database.lock();
        let mut found: Vec<_> = state
            .rows
            .iter()
            .filter(|(key, row)| {
                key.table == page.table
                    && key.namespace == page.namespace
                    && row.status == Status::Unknown.code()
            })
            .filter_map(|(key, row)| {
                let place = (row.locked_until?, key.scope.as_str(), key.key.as_str());
                page.after
                    .is_none_or(|after| place > after)
                    .then_some((place, row))
            })
            .collect();
        found.sort_unstable_by_key(|(place, _)| *place);
        found
            .into_iter()
            .take(usize::try_from(page.limit).unwrap_or(usize::MAX))
            .map(|((_, scope, key), row)| {
                Ok(Listed {
                    scope: scope.to_owned(),
                    key: key.to_owned(),
                    record: row.clone().record()?,
                })
            })
            .collect()
    }

    async fn count_unknown(&mut self, table: &str, namespace: &str) -> Result<u64, Error> {
        let state = self.database.lock();
        let unknown = state.rows.iter().filter(|(key, row)| {
            key.table == table && key.namespace == namespace && row.status == Status::Unknown.code()
        });
        Ok(unknown.count() as u64)
    }
}

/// A transaction of the caller's could take a lease back.
fn check(conn: &MemoryConnection) -> Result<(), CommitError> {
    if conn.is_in_transaction() {
        Err(CommitError::RolledBack(Error::LeaseInTransaction))
    } else {
        Ok(())
    }
}

fn alter(state: &mut State, key: &MemoryKey, write: &Write<'_>) -> Result<bool, CommitError> {
    let now = state.now();
    let Some(row) = state.rows.get_mut(key) else {
        return Ok(false);
    };
    let record = row.clone().record().map_err(CommitError::RolledBack)?;
    if !write.change.permits(&record, write.seen, now) {
        return Ok(false);
    }
    row.attempt_id = write.becomes;
    row.status = write.change.to().code();
    match write.change {
        Change::Extend => row.locked_until = Some(later(now, write.lasts)),
        Change::Doubt | Change::Lapse | Change::TakeOver => {}
        Change::Complete
        | Change::Fail
        | Change::Release
        | Change::LapseReleased
        | Change::Settle(_) => {
            row.created_at = now;
            row.expires_at = Some(later(now, write.lasts));
            row.locked_until = None;
            row.codec = CODEC_JSON;
            row.result = write.result.map(<[u8]>::to_vec);
            row.failure = write.failure.map(<[u8]>::to_vec);
        }
    }
    Ok(true)
}

fn later(at: Timestamp, micros: i64) -> Timestamp {
    Timestamp::from_micros(at.as_micros().saturating_add(micros))
}
