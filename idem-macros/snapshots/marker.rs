// #[idempotent(namespace = "payments", marker = CreatePayment)]
// 608 tokens
#[cfg(unix)]
///Describes the operation of the handler `create_payment`.
#[allow(dead_code)]
#[derive(
    ::idem_runtime::__private::Clone,
    ::idem_runtime::__private::Copy,
    ::idem_runtime::__private::Debug
)]
pub(crate) struct CreatePayment;
#[cfg(unix)]
impl ::idem_runtime::__private::DescribeOperation for CreatePayment {
    type Operation = ::idem_runtime::__private::Operation<
        ::idem_runtime::__private::RetryFailures,
    >;
    const OPERATION: ::idem_runtime::__private::Operation<
        ::idem_runtime::__private::RetryFailures,
    > = ::idem_runtime::__private::Operation::new("payments", "create_payment")
        .retention(::idem_runtime::__private::seconds(86400u64));
}
#[cfg(unix)]
pub(crate) async fn create_payment(
    _tx: impl ::idem_runtime::handler::Begin<'_, PgTransaction<'_>>,
    key: &IdempotencyKey,
) -> Result<::idem_runtime::Replayable<()>, PaymentError> {
    ::idem_runtime::__private::register! {
        [::idem_runtime::__private] namespace : "payments", operation :
        ::idem_runtime::__private::Some("create_payment"), function : "create_payment",
        policy : < CreatePayment as ::idem_runtime::__private::DescribeOperation >
        ::OPERATION, key : Parameter,
    }
    let contract = ::idem_runtime::__private::contract(
        ::idem_runtime::__private::writes::<_>(),
        ::idem_runtime::__private::reads::<_>(),
        ::idem_runtime::__private::lifts::<_>(),
    );
    let mut request = ::idem_runtime::__private::Request::new(
        <CreatePayment as ::idem_runtime::__private::DescribeOperation>::OPERATION,
    );
    request.key(&key);
    #[allow(clippy::used_underscore_binding)]
    let mut unit = ::idem_runtime::__private::unit(_tx);
    let mut claim = loop {
        match ::idem_runtime::__private::claim(&mut unit, &mut request, &contract).await
        {
            ::idem_runtime::__private::Run(claim) => break claim,
            ::idem_runtime::__private::Done(done) => return done,
            ::idem_runtime::__private::Again => {}
        }
    };
    let result: Result<(), PaymentError> = ::idem_runtime::__private::body(
            &request,
            async {
                if let ::idem_runtime::__private::Some(never) = ::idem_runtime::__private::None::<
                    Result<(), PaymentError>,
                > {
                    return never;
                }
                #[allow(clippy::shadow_unrelated)]
                let _tx = ::idem_runtime::__private::tx(&mut claim);
                { Ok(()) }
            },
        )
        .await;
    let finished = ::idem_runtime::__private::finish(claim, result, &contract).await;
    return ::idem_runtime::__private::settle(unit, finished, request, &contract).await;
}
