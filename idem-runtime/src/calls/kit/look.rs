//! One look at a key, for those who run nothing themselves.

use sqlx::Pool;

use super::pooled_conn::PooledConn;
use crate::decision::Lookup;
use crate::stores::{Backend, ClaimRequest, PoolTraitsOf};
use crate::values::error::Error;

/// Looks a key up through a pool, without a transaction, and asks whether an attempt holds it.
pub(crate) async fn look<DB: Backend>(
    pool: &Pool<DB>,
    request: &ClaimRequest<PoolTraitsOf<DB>>,
) -> Result<Lookup, Error> {
    let mut pooled = PooledConn::from(pool).await?;
    let looked = DB::look_for_waiters(&mut pooled.conn, request).await;
    pooled.give_back(looked.is_ok()).await;
    looked
}

/// Does the same for whoever asks what has become of the key.
pub(crate) async fn look_for_status<DB: Backend>(
    pool: &Pool<DB>,
    request: &ClaimRequest<PoolTraitsOf<DB>>,
) -> Result<Lookup, Error> {
    let mut pooled = PooledConn::from(pool).await?;
    let looked = DB::look_for_status(&mut pooled.conn, request).await;
    pooled.give_back(looked.is_ok()).await;
    looked
}
