#![deny(warnings)]
#![allow(dead_code)]

use idem_ui_tests::*;

use idem_runtime::handler::{DescribeOperation, OperationSpec};

mod shop {
    #![deny(missing_docs, missing_debug_implementations, missing_copy_implementations, unreachable_pub)]

    use super::*;

    #[idempotent(namespace = "shop", retention = "7d", marker = CreateOrder)]
    pub(super) async fn create_order(_tx: &mut PgTransaction<'_>, key: &IdempotencyKey, cmd: &CreatePayment) -> ApiResult<i64> {
        Ok(cmd.amount)
    }

    #[cfg(any())]
    #[idempotent(namespace = "shop", marker = Absent)]
    async fn above(_tx: &mut PgTransaction<'_>, key: &IdempotencyKey) -> ApiResult<i64> {
        Ok(1)
    }

    #[idempotent(namespace = "shop", marker = Absent)]
    #[cfg(any())]
    async fn below(_tx: &mut PgTransaction<'_>, key: &IdempotencyKey) -> ApiResult<i64> {
        Ok(1)
    }
}

#[idempotent(namespace = "mail", operation = "mail.send", lease = "5m", marker = Send, on_lapse = "retry")]
async fn send<T>(attempt: &Attempt, key: &IdempotencyKey, mail: T) -> ApiResult<()>
where
    T: Serialize + core::marker::Send + 'static,
{
    drop(mail);
    attempt.heartbeat().await?;
    Ok(())
}

fn operation<D: DescribeOperation>(_: D) -> OperationSpec {
    D::OPERATION.into()
}

fn main() {
    let create = operation(shop::CreateOrder);
    assert_eq!((create.namespace(), create.name()), ("shop", "create_order"));
    assert_eq!(create.policy().retention.as_secs(), 7 * 24 * 3600);
    let send = operation(Send);
    assert_eq!(send.name(), "mail.send");
    assert!(send.policy().lease.is_some());
}
