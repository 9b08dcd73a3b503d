#![deny(warnings)]
#![allow(dead_code)]

use idem_ui_tests::*;

use std::fmt::Display;

struct Wallet<T>(T);

impl<T: Display + Send + Sync> Wallet<T> {
    #[idempotent(namespace = "payments", operation = "wallet.generic", skip(self, cmd, sizes, C, N))]
    async fn generic<C, const N: usize>(
        &self,
        tx: &mut PgTransaction<'_>,
        key: &IdempotencyKey,
        cmd: &C,
        sizes: [u8; N],
    ) -> ApiResult<Vec<C::Owned>>
    where
        C: ToOwned + Send + Sync,
        C::Owned: Serialize + for<'de> Deserialize<'de> + Send,
    {
        sqlx::query("SELECT 1").bind(sizes.as_slice()).bind(self.0.to_string()).execute(&mut **tx).await?;
        Ok(vec![cmd.to_owned()])
    }
}

async fn callers(wallet: &Wallet<u8>, pool: &PgPool, key: &IdempotencyKey) -> Result<(), PaymentError> {
    assert_send(wallet.generic(pool, key, &7, [1, 2])).await?;
    wallet.generic::<u8, 1>(pool, key, &7, [1]).await?;
    Ok(())
}

fn main() {}
