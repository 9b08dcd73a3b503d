#![deny(warnings)]
#![allow(dead_code)]

use idem_ui_tests::*;

use std::pin::Pin;
use std::sync::Arc;

#[derive(Serialize)]
struct Account {
    id: i64,
    owner: String,
}

impl Account {
    #[idempotent(namespace = "bank", operation = "account.by_value", fingerprint = (self.id, self.owner, cents))]
    async fn by_value(self, _tx: &mut PgTransaction<'_>, key: &IdempotencyKey, cents: i64) -> ApiResult<i64> {
        drop(self.owner);
        Ok(self.id + cents)
    }

    #[idempotent(namespace = "bank", operation = "account.by_mutable_value", fingerprint = self)]
    async fn by_mutable_value(mut self, _tx: &mut PgTransaction<'_>, key: &IdempotencyKey) -> ApiResult<Self2> {
        self.id += 1;
        Ok(Self2 { id: self.id })
    }

    #[idempotent(namespace = "bank", operation = "account.by_reference", fingerprint = (self, cents))]
    async fn by_reference(&self, _tx: &mut PgTransaction<'_>, key: &IdempotencyKey, cents: i64) -> ApiResult<i64> {
        Ok(self.id + cents)
    }

    #[idempotent(namespace = "bank", operation = "account.by_mutable_reference", fingerprint = (self.id, self.owner.len()))]
    async fn by_mutable_reference(&mut self, _tx: &mut PgTransaction<'_>, key: &IdempotencyKey) -> ApiResult<i64> {
        self.id += 1;
        Ok(self.id)
    }

    #[idempotent(namespace = "bank", operation = "account.wholly", fingerprint = self)]
    async fn wholly<'a>(self: &'a mut Self, _tx: &mut PgTransaction<'_>, key: &IdempotencyKey) -> ApiResult<i64> {
        self.id += 1;
        Ok(self.id)
    }

    #[idempotent(namespace = "bank", operation = "account.boxed", fingerprint = (self.id, self))]
    async fn boxed(self: Box<Self>, _tx: &mut PgTransaction<'_>, key: &IdempotencyKey) -> ApiResult<i64> {
        Ok(self.id)
    }

    #[idempotent(namespace = "bank", operation = "account.shared", fingerprint = (self, 1))]
    async fn shared(self: Arc<Self>, _tx: &mut PgTransaction<'_>, key: &IdempotencyKey) -> ApiResult<i64> {
        Ok(self.id)
    }

    #[idempotent(namespace = "bank", operation = "account.twice", fingerprint = self)]
    async fn twice(self: &Arc<Self>, _tx: &mut PgTransaction<'_>, key: &IdempotencyKey) -> ApiResult<i64> {
        Ok(self.id)
    }

    #[idempotent(namespace = "bank", operation = "account.pinned", fingerprint = (self.id, self))]
    async fn pinned(self: Pin<&mut Self>, _tx: &mut PgTransaction<'_>, key: &IdempotencyKey) -> ApiResult<i64> {
        Ok(self.id)
    }

    #[idempotent(namespace = "bank", operation = "account.leased", lease = "5m", fingerprint = (self.id, self))]
    async fn leased(self: Arc<Self>, _attempt: &Attempt, key: &IdempotencyKey) -> ApiResult<i64> {
        Ok(self.id)
    }

    #[idempotent(namespace = "bank", operation = "account.kept", signature = "keep", fingerprint = (self.id,))]
    async fn kept(&self, tx: &mut PgTransaction<'_>, key: &IdempotencyKey) -> ApiResult<i64> {
        let _ = tx;
        Ok(self.id)
    }

    #[idempotent(namespace = "bank", operation = "account.keyed", key = natural(self.id, cents), scope = self.owner, skip(self))]
    async fn keyed(&self, _tx: &mut PgTransaction<'_>, cents: i64) -> ApiResult<i64> {
        Ok(self.id + cents)
    }
}

#[derive(Serialize, Deserialize)]
struct Self2 {
    id: i64,
}

async fn callers(account: Arc<Account>, pool: &PgPool, key: &IdempotencyKey) -> Result<(), PaymentError> {
    assert_send(account.by_reference(pool, key, 1)).await?;
    assert_send(account.twice(pool, key)).await?;
    assert_send(Arc::clone(&account).leased(pool, key)).await?;
    assert_send(account.shared(pool, key)).await?;
    Ok(())
}

fn main() {}
