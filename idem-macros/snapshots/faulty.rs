// #[idempotent(namespace = )]
// 274 tokens
// [IDEM023] `namespace` is written `namespace = "payments"`
/// Pays.
#[allow(warnings)]
pub async fn create(
    tx: impl ::idem_runtime::handler::Begin<'_, PgTransaction<'_>>,
    key: &IdempotencyKey,
    cmd: &Create,
) -> Result<::idem_runtime::Replayable<Payment>, PaymentError> {
    let result: Result<Payment, PaymentError> = async {
        if let ::core::option::Option::Some(never) = ::core::option::Option::None::<
            Result<Payment, PaymentError>,
        > {
            return never;
        }
        #[allow(clippy::shadow_unrelated)]
        let tx: &mut PgTransaction<'_> = ::core::option::Option::unwrap(
            ::core::option::Option::None::<&mut PgTransaction<'_>>,
        );
        { Ok(pay(tx, cmd).await?) }
    }
        .await;
    let never = ::core::option::Option::None::<::idem_runtime::Replayable<()>>;
    ::core::result::Result::map(
        result,
        |value| ::idem_runtime::Replayable::map(
            ::core::option::Option::unwrap(never),
            |()| value,
        ),
    )
}
