//! BEGIN and claim in one message, for a key that this process has not met.
//!
//! ```text
//! plain:  look up │ BEGIN │ INSERT, SAVEPOINT, definition │ body │ record             │ COMMIT
//! fused:  BEGIN, INSERT, SAVEPOINT                        │ body │ record, definition │ COMMIT
//! ```
//!
//! # Why it is right
//!
//! **The claim.** The INSERT is the plain path's, and arbitrates alone: it fails at a record, and at the lock of an
//! attempt in flight. An error ends the message. What it has begun is then ended together with a look-up, and if the
//! body is to run after all, the attempt takes the plain path, which reports what is wrong.
//!
//! **What nobody reads.** The driver discards the rows of a BEGIN. What the plain path reads there is compared by the
//! server, and the message fails if it differs: whether the transaction still stands, the session's
//! `completion_type`, `read_only`, and the server and database in which the table was found fit before. They are
//! remembered for the address and the database that the pool connects to, and a connection may be elsewhere: a body
//! may have selected another database, and another server may have taken over the address.
//!
//! **The table's definition** is read behind the record, in the same transaction, which holds the table in that form
//! since the INSERT. If the table has been altered meanwhile, or a temporary one hides it, the table is verified
//! there, and an unfit one rolls the body back. The next call verifies it before its body.
//!
//! # Where it steps aside
//!
//! - A connection or a transaction of the caller's: if the call is dropped, what it has begun cannot be closed.
//! - MySQL, which knows no INSERT that does not wait: a duplicate of a running attempt would wait for its end.
//! - A table that is not known to be fit where the pool connects to.
//! - A key that is known to have a record or to be in flight: one look-up answers it.

use std::hash::{DefaultHasher, Hash as _, Hasher as _};

use sqlx::mysql::{MySql, MySqlConnectOptions, MySqlConnection};
use sqlx::{AssertSqlSafe, Connection as _};

use super::super::backend::{NotOpened, Opened};
use super::super::recent_keys;
use super::claim::{MySqlApproach, MySqlClaimRequest, MySqlPoolTraits, seen_nothing};
use super::{error, sql, verify};
use crate::decision::Lock;

/// Returns the traits that these options give.
pub(super) fn traits_of(options: &MySqlConnectOptions) -> MySqlPoolTraits {
    let mut hash = DefaultHasher::new();
    (options.get_host(), options.get_port()).hash(&mut hash);
    (options.get_socket(), options.get_database()).hash(&mut hash);
    MySqlPoolTraits {
        address: Some(hash.finish()),
    }
}

/// Returns the server and database in which the table is known to be fit, where this pool connects to, if that
/// server can claim without a look-up.
pub(super) fn fit_in(request: &MySqlClaimRequest) -> Option<String> {
    verify::path(request.pool_traits.address?, &request.table)
        .filter(|path| sql::inserts_at_once(path))
}

/// Returns whether this process has not lately found the key recorded or in flight.
pub(super) fn is_fresh(request: &MySqlClaimRequest) -> bool {
    let address = request.pool_traits.address.unwrap_or_default();
    !recent_keys::contains(address, request.lock_key)
}

/// Remembers the request's key, which has a record or is in flight: a retry then looks it up first.
pub(super) fn remember(request: &MySqlClaimRequest) {
    let address = request.pool_traits.address.unwrap_or_default();
    recent_keys::insert(address, request.lock_key);
}

/// Begins and claims in one message.
pub(super) async fn open<'c>(
    conn: &'c mut MySqlConnection,
    request: &MySqlClaimRequest,
    fit_in: String,
) -> Result<Opened<'c, MySql>, NotOpened<MySqlApproach>> {
    let text = sql::fused::begin_and_claim(request, &fit_in);
    let error = match conn.begin_with(AssertSqlSafe(text)).await {
        Ok(tx) => {
            let mut found = seen_nothing(request, Lock::Granted);
            found.claim.verified = true;
            found.claim.dialect.placeholder = true;
            found.claim.dialect.unread = true;
            found.claim.dialect.database_path = Some(fit_in);
            return Ok((tx, Ok(found)));
        }
        Err(error) => error,
    };
    if error::is_in_transaction(&error) || !error::is_of_a_statement(&error) {
        return Err(NotOpened::Failed(error::map_error(error)));
    }
    if error::is_conflict(&error) || error::is_locked(&error) {
        remember(request);
    }
    Err(NotOpened::Again(MySqlApproach {
        not_fused: true,
        ..MySqlApproach::default()
    }))
}
