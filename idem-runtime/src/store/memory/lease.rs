//! Leases in memory: the fence itself, under one mutex.

use super::connection::MemoryConnection;
use super::database::MemoryState;
use super::row::{MemoryKey, MemoryRow};
use super::session::look;
use crate::error::Error;
use crate::fast_check;
use crate::outcome::{Change, Decision, Lock};
use crate::policy::OnLapse;
use crate::record::{CODEC_JSON, Status, Timestamp};
use crate::store::lease::{
    Due, Extended, LeaseRequest, LeaseSession, Leased, Overdue, Page, Plan, UnknownRecord, Write,
};
use crate::store::session::{ClaimRequest, CommitError};

impl LeaseSession for MemoryConnection {
    async fn acquire(
        &mut self,
        request: &ClaimRequest,
        lease_request: &LeaseRequest<'_>,
    ) -> Result<Leased, CommitError> {
        check(self)?;
        let mut state = self.database.lock();
        let key = MemoryKey::of(request);
        let lock = if fast_check::is_on() && state.locks.contains_key(&key) {
            Lock::Refused
        } else {
            Lock::Granted
        };
        let found = look(None, &state, request, lock).map_err(CommitError::RolledBack)?;
        let (lookup, _) = found.split(request.clone());
        match lease_request.plan(lookup) {
            Plan::Answer(leased) => Ok(leased),
            Plan::Lapse(record) => {
                let write = Write::own(Change::Lapse, record.attempt_id, 0);
                update(&mut state, &key, &write)?;
                Ok(Leased::Decided(Decision::Lapse(record)))
            }
            Plan::Write { record, .. } => {
                // Looked at and written under one lock: what was decided still stands.
                let now = state.now();
                let row = MemoryRow {
                    expires_at: None,
                    locked_until: Some(later(now, lease_request.lease.micros())),
                    on_lapse: lease_request.lease.on_lapse(),
                    ..MemoryRow::new(request.attempt_id, &record, now)
                };
                state.rows.insert(key, row);
                Ok(Leased::Taken {
                    attempt: record.attempt,
                })
            }
        }
    }

    async fn update(
        &mut self,
        request: &ClaimRequest,
        write: &Write<'_>,
    ) -> Result<bool, CommitError> {
        check(self)?;
        update(&mut self.database.lock(), &MemoryKey::of(request), write)
    }

    async fn extend(&mut self, table: &str, due: &[Due<'_>]) -> Result<Extended, CommitError> {
        check(self)?;
        let mut state = self.database.lock();
        let mut extended = Extended::default();
        for due in due {
            let write = Write::own(Change::Extend, due.attempt_id, due.lasts);
            if update(&mut state, &MemoryKey::at(table, due.identity), &write)? {
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
        for (_, key, found, on_lapse) in open {
            if lapsed < u64::from(overdue.limit) {
                let becomes = match on_lapse {
                    OnLapse::Retry => overdue.becomes,
                    OnLapse::Unknown => found,
                };
                let write = Write {
                    becomes,
                    ..Write::own(Change::lapse(on_lapse), found, overdue.retention)
                };
                lapsed += u64::from(update(&mut state, &key, &write)?);
            }
        }
        Ok(lapsed)
    }

    async fn unknown(&mut self, page: &Page<'_>) -> Result<Vec<UnknownRecord>, Error> {
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
                let position = (row.locked_until?, key.scope.as_str(), key.key.as_str());
                page.after
                    .is_none_or(|after| position > after)
                    .then_some((position, row))
            })
            .collect();
        found.sort_unstable_by_key(|(position, _)| *position);
        found
            .into_iter()
            .take(usize::try_from(page.limit).unwrap_or(usize::MAX))
            .map(|((_, scope, key), row)| {
                Ok(UnknownRecord {
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

fn update(
    state: &mut MemoryState,
    key: &MemoryKey,
    write: &Write<'_>,
) -> Result<bool, CommitError> {
    let now = state.now();
    let Some(row) = state.rows.get_mut(key) else {
        return Ok(false);
    };
    let record = row.clone().record().map_err(CommitError::RolledBack)?;
    if !write.change.permits(&record, write.expected, now) {
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
