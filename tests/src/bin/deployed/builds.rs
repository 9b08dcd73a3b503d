//! The builds of one service. They differ in what their handlers record.

use idem_runtime::ReplayExt as _;
use idem_runtime::store::{Backend, LeaseBackend};
use sqlx::Pool;
use tokio::task::spawn_blocking;

use crate::Call;
use crate::types::{Declines, Made};

/// The work of a body: it tells that it has begun, and waits until it may end.
async fn pay<T: Made, E: Declines>(amount: i64) -> Result<T, E> {
    println!("working");
    spawn_blocking(|| std::io::stdin().read_line(&mut String::new()))
        .await
        .expect("it does not panic")
        .expect("a line");
    if amount < 0 {
        return Err(E::declined(-amount));
    }
    Ok(T::of(amount))
}

/// Makes a build: a module with the handlers, with these options.
macro_rules! build {
    ($(#[doc = $doc:literal])* $build:ident: $Payment:ident, $PayError:ident, [$($options:tt)*]) => {
        $(#[doc = $doc])*
        mod $build {
            use idem_runtime::store::Backend;
            use idem_runtime::{Attempt, IdempotencyKey, idempotent};
            use sqlx::Transaction;

            use crate::types::*;

            #[idempotent(
                namespace = "shop", operation = "pay", skip(DB), failures = "record",
                on_conflict = "wait", wait = "1m", $($options)*
            )]
            pub(super) async fn pay<DB: Backend>(
                _tx: &mut Transaction<'_, DB>,
                key: &IdempotencyKey,
                amount: i64,
            ) -> Result<$Payment, $PayError> {
                super::pay(amount).await
            }

            #[idempotent(
                namespace = "shop", operation = "pay-leased", lease = "5m", failures = "record", $($options)*
            )]
            pub(super) async fn pay_leased(
                _attempt: &Attempt,
                key: &IdempotencyKey,
                amount: i64,
            ) -> Result<$Payment, $PayError> {
                super::pay(amount).await
            }
        }
    };
}

build! {
    /// Before the change.
    old: PaymentV1, PayErrorV1, []
}
build! {
    /// Reads both versions, and writes what the old build reads.
    expanding: PaymentV2, PayErrorExpanding,
    [result_version = 2, upcast = upcast_payment, write_version = 1, downcast = downcast_payment]
}
build! {
    /// Reads and writes version 2, and still reads version 1.
    new: PaymentV2, PayErrorV2, [result_version = 2, upcast = upcast_payment]
}
build! {
    /// The change after it.
    next: PaymentV3, PayErrorV2, [result_version = 3, upcast(upcast_payment, print_amount)]
}
build! {
    /// Reads version 2 alone.
    contracted: PaymentV2, PayErrorV2, [result_version = 2, upcast = off]
}
build! {
    /// Writes version 1 without a way down.
    careless: PaymentV2, PayErrorExpanding, [result_version = 2, upcast = upcast_payment, write_version = 1]
}

/// Makes the call as this build does.
pub(crate) async fn call<DB: Backend + LeaseBackend>(
    build: &str,
    pool: &Pool<DB>,
    call: &Call,
) -> String {
    macro_rules! builds {
        ($($build:ident),*) => {
            match build {
                $(stringify!($build) => match &*call.way {
                    "leased" => crate::answer::line_of($build::pay_leased(pool, &call.key, call.amount).replayable().await),
                    "joined" => {
                        let mut tx = pool.begin().await.expect("a transaction");
                        let answer = $build::pay::<DB>(&mut tx, &call.key, call.amount).replayable().await;
                        tx.commit().await.expect("it commits");
                        crate::answer::line_of(answer)
                    }
                    _ => crate::answer::line_of($build::pay::<DB>(pool, &call.key, call.amount).replayable().await),
                },)*
                other => panic!("no build `{other}`"),
            }
        };
    }
    builds!(old, expanding, new, next, contracted, careless)
}
