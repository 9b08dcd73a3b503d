//! What must hold afterwards, whatever was done to the clients and the server.

use std::collections::{BTreeMap, BTreeSet};

use sqlx::{PgPool, Row as _};

use super::history::History;
use super::{ACCOUNTS, OPENING};

/// Every law that is broken, one line each; nothing if all hold.
///
/// # Errors
/// The database's.
pub async fn violations(pool: &PgPool, history: &History) -> Result<Vec<String>, sqlx::Error> {
    let mut broken: Vec<String> = history
        .forbidden
        .iter()
        .map(|line| format!("an answer that no caller may get: {line}"))
        .collect();

    let mut effects: BTreeMap<String, Vec<i64>> = BTreeMap::new();
    for row in sqlx::query("SELECT key, id FROM transfer ORDER BY id")
        .fetch_all(pool)
        .await?
    {
        effects
            .entry(row.try_get(0)?)
            .or_default()
            .push(row.try_get(1)?);
    }
    let mut completed = BTreeSet::new();
    let mut failed = BTreeSet::new();
    for row in sqlx::query("SELECT key, status FROM idem_record")
        .fetch_all(pool)
        .await?
    {
        let (key, status): (String, i16) = (row.try_get(0)?, row.try_get(1)?);
        let new = match status {
            1 => completed.insert(key.clone()),
            2 => failed.insert(key.clone()),
            _ => {
                broken.push(format!("{key} is stuck in status {status}"));
                true
            }
        };
        if !new {
            broken.push(format!("{key} has two records"));
        }
    }

    for (key, ids) in &effects {
        if ids.len() > 1 {
            broken.push(format!("{key} has {} effects: {ids:?}", ids.len()));
        }
        if !completed.contains(key) {
            broken.push(format!("{key} has an effect and no record of it"));
        }
    }
    for key in &completed {
        if !effects.contains_key(key) {
            broken.push(format!("{key} has a record and no effect"));
        }
    }
    for (key, answers) in &history.successes {
        let ids = effects.get(key).map_or(&[][..], Vec::as_slice);
        for answer in answers {
            if ids != [*answer] {
                broken.push(format!(
                    "{key} was answered {answer}, and its effects are {ids:?}"
                ));
            }
        }
    }
    for key in history.declined.keys() {
        if !failed.contains(key) || effects.contains_key(key) {
            broken.push(format!(
                "{key} was declined, and that is not what is recorded"
            ));
        }
    }

    let (sum, moved): (Option<i64>, bool) = {
        let row = sqlx::query("SELECT sum(balance)::bigint, count(*) = 16 FROM account")
            .fetch_one(pool)
            .await?;
        (row.try_get(0)?, row.try_get(1)?)
    };
    let opening = OPENING * ACCOUNTS.cast_signed();
    if sum != Some(opening) || !moved {
        broken.push(format!("the accounts hold {sum:?}, and held {opening}"));
    }
    Ok(broken)
}
