//! Handlers that trigger no lint, which shows that the attribute triggers none.
#![deny(
    clippy::pedantic,
    clippy::nursery,
    clippy::restriction,
    missing_docs,
    unused
)]
#![allow(
    clippy::arbitrary_source_item_ordering,
    clippy::arithmetic_side_effects,
    clippy::blanket_clippy_restriction_lints,
    clippy::missing_docs_in_private_items,
    clippy::mod_module_files,
    clippy::question_mark_used,
    clippy::ref_patterns,
    clippy::std_instead_of_alloc,
    reason = "these are about what a user writes, and all others of the group are about the attribute too"
)]
#![allow(
    clippy::impl_trait_in_params,
    reason = "the signature has one, and it is documented"
)]
#![allow(dead_code, reason = "nobody calls them")]

mod kept;
pub mod leased;

use std::sync::Arc;

use crate::{
    ApiResult, Clock, CreatePayment, Error, Failure, IdempotencyKey, Payment, PaymentError,
    StoredFailure, idempotent,
};
use sqlx::{PgTransaction, SqliteTransaction};

#[idempotent(namespace = "payments", retention = "24h")]
async fn plain(
    tx: &mut PgTransaction<'_>,
    key: &IdempotencyKey,
    cmd: &CreatePayment,
) -> Result<Payment, PaymentError> {
    let id = sqlx::query_scalar("INSERT INTO payment (amount) VALUES ($1) RETURNING id")
        .bind(cmd.amount)
        .fetch_one(&mut **tx)
        .await?;
    Ok(Payment { id })
}

#[idempotent(
    namespace = "payments",
    on_conflict = "wait",
    record_request,
    skip(_clock)
)]
async fn unused_parameters(
    _: &mut SqliteTransaction<'_>,
    _key: &IdempotencyKey,
    _cmd: &CreatePayment,
    _clock: Clock,
) -> ApiResult<()> {
    Ok(())
}

#[idempotent(namespace = "payments", key = natural(payee, "x"), scope = payee, fingerprint = (amount, payee))]
async fn destructured(
    tx: &mut PgTransaction<'_>,
    CreatePayment {
        amount, ref payee, ..
    }: CreatePayment,
    mut attempts: u8,
) -> ApiResult<i64> {
    attempts += 1;
    if amount == 0 {
        return Ok(i64::from(attempts));
    }
    sqlx::query("DELETE FROM payment WHERE payee = $1")
        .bind(payee)
        .execute(&mut **tx)
        .await?;
    Ok(amount)
}

struct Service {
    fee: i64,
}

impl Service {
    #[idempotent(namespace = "payments", operation = "service.by_reference", key_required = false, fingerprint = off)]
    async fn by_reference(
        &self,
        tx: &mut PgTransaction<'_>,
        key: Option<IdempotencyKey>,
    ) -> ApiResult<Payment> {
        sqlx::query("DELETE FROM payment")
            .execute(&mut **tx)
            .await?;
        Ok(Payment { id: self.fee })
    }

    #[idempotent(namespace = "payments", operation = "service.shared", key = cmd.request_id, skip(self))]
    async fn shared(
        self: Arc<Self>,
        _tx: &mut PgTransaction<'_>,
        cmd: CreatePayment,
    ) -> ApiResult<i64> {
        Ok(self.fee + cmd.amount)
    }

    #[idempotent(
        namespace = "payments",
        operation = "service.kept",
        skip(self),
        signature = "keep"
    )]
    async fn kept(&self, tx: &mut PgTransaction<'_>, key: &IdempotencyKey) -> ApiResult<i64> {
        sqlx::query("DELETE FROM payment")
            .execute(&mut **tx)
            .await?;
        Ok(self.fee)
    }
}

/// A derived error.
#[derive(Debug, thiserror::Error, Failure)]
#[non_exhaustive]
pub enum Refused {
    /// With named fields.
    #[error("declined: {code}")]
    #[failure(permanent)]
    #[non_exhaustive]
    Declined {
        /// The bank's code.
        code: u32,
    },
    /// With unnamed fields.
    #[error("{0} over the limit of {1}")]
    #[failure(permanent, class = "over")]
    Over(u8, String),
    /// Without fields.
    #[error("gone")]
    #[failure(permanent)]
    Gone,
    /// With a database error.
    #[error("taken")]
    #[failure(permanent, database)]
    Taken(#[source] sqlx::Error),
    /// Transient.
    #[error(transparent)]
    Idempotency(#[from] Error),
    /// Replayed.
    #[error("{}", .0.message)]
    #[failure(replayed)]
    Recorded(StoredFailure),
}

/// Records failures.
///
/// # Errors
///
/// Returns [`Refused`], or a refusal of the library.
#[inline]
#[idempotent(namespace = "payments", failures = "record")]
pub async fn recording(
    tx: &mut PgTransaction<'_>,
    key: &IdempotencyKey,
    cmd: CreatePayment,
) -> Result<i64, Refused> {
    let deleted = sqlx::query("DELETE FROM payment").execute(&mut **tx).await;
    deleted.map_err(Refused::Taken)?;
    Ok(cmd.amount)
}
