#![deny(warnings)]
#![allow(dead_code)]

use idem_ui_tests::*;

trait Kind: Send + Sync {
    const NAME: &'static str;

    fn name(&self) -> &str {
        Self::NAME
    }
}

struct Orders;

impl Kind for Orders {
    const NAME: &'static str = "orders";
}

const NAME: &str = "import";

#[idempotent(namespace = "imports", operation = format!("import-{}", T::NAME))]
async fn of_a_type<T: Kind>(_tx: &mut PgTransaction<'_>, key: &IdempotencyKey, rows: i64) -> ApiResult<i64> {
    Ok(rows)
}

#[idempotent(namespace = "imports", operation = T::NAME)]
async fn of_a_constant<T: Kind>(_tx: &mut PgTransaction<'_>, key: &IdempotencyKey) -> ApiResult<()> {
    Ok(())
}

#[idempotent(namespace = "imports", operation = format!("import-{N}"))]
async fn of_a_number<const N: u8>(_tx: &mut PgTransaction<'_>, key: &IdempotencyKey) -> ApiResult<u8> {
    Ok(N)
}

#[idempotent(namespace = "imports", operation = NAME)]
async fn of_nothing(_tx: &mut PgTransaction<'_>, key: &IdempotencyKey) -> ApiResult<()> {
    Ok(())
}

#[idempotent(namespace = "imports", operation = kind.name(), fingerprint = rows)]
async fn of_an_argument(_tx: &mut PgTransaction<'_>, key: &IdempotencyKey, kind: &impl Kind, rows: i64) -> ApiResult<i64> {
    Ok(rows + i64::from(kind.name().is_empty()))
}

#[idempotent(namespace = "imports", lease = "5m", operation = name.clone() + "-mail")]
async fn leased(_attempt: &Attempt, key: &IdempotencyKey, name: String) -> ApiResult<String> {
    Ok(name)
}

struct Importer<T> {
    kind: T,
}

impl<T: Kind> Importer<T> {
    #[idempotent(namespace = "imports", operation = self.kind.name(), skip(self))]
    async fn method(&self, _tx: &mut PgTransaction<'_>, key: &IdempotencyKey) -> ApiResult<()> {
        Ok(())
    }

    #[idempotent(namespace = "imports", operation = T::NAME, signature = "keep", skip(self))]
    async fn kept(&self, tx: &mut PgTransaction<'_>, key: &IdempotencyKey) -> ApiResult<()> {
        let _ = tx;
        Ok(())
    }
}

async fn callers(pool: &PgPool, key: &IdempotencyKey) -> Result<(), PaymentError> {
    assert_send(of_a_type::<Orders>(pool, key, 1)).await?;
    assert_send(of_a_constant::<Orders>(pool, key)).await?;
    assert_send(of_a_number::<3>(pool, key)).await?;
    assert_send(of_nothing(pool, key)).await?;
    assert_send(of_an_argument(pool, key, &Orders, 1)).await?;
    assert_send(leased(pool, key, String::new())).await?;
    assert_send(Importer { kind: Orders }.method(pool, key)).await?;
    Ok(())
}

fn main() {}
