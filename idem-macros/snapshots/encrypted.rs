// #[idempotent(namespace = "payments", codec = keys::PAYMENTS)]
// 496 tokens
async fn create(
    tx: impl ::idem_runtime::handler::Begin<'_, PgTransaction<'_>>,
    key: &IdempotencyKey,
    cmd: Create,
) -> Result<::idem_runtime::Replayable<Payment>, PaymentError> {
    ::idem_runtime::__private::register! {
        [::idem_runtime::__private] namespace : "payments", operation :
        ::idem_runtime::__private::Some("create"), function : "create", policy :
        ::idem_runtime::__private::Operation::new("payments", "create")
        .retention(::idem_runtime::__private::seconds(86400u64)), key : Parameter,
    }
    let contract = ::idem_runtime::__private::contract(
        ::idem_runtime::__private::writes::<_>(),
        ::idem_runtime::__private::reads::<_>(),
        ::idem_runtime::__private::lifts::<_>(),
    );
    let mut request = ::idem_runtime::__private::Request::new(const {
        ::idem_runtime::__private::Operation::new("payments", "create")
            .retention(::idem_runtime::__private::seconds(86400u64))
            .codec(&keys::PAYMENTS)
    });
    request.key(&key);
    request.field("cmd", &cmd);
    let mut unit = ::idem_runtime::__private::unit(tx);
    let mut claim = loop {
        match ::idem_runtime::__private::claim(&mut unit, &mut request, &contract).await
        {
            ::idem_runtime::__private::Run(claim) => break claim,
            ::idem_runtime::__private::Done(done) => return done,
            ::idem_runtime::__private::Again => {}
        }
    };
    let result: Result<Payment, PaymentError> = ::idem_runtime::__private::body(
            &request,
            async {
                if let ::idem_runtime::__private::Some(never) = ::idem_runtime::__private::None::<
                    Result<Payment, PaymentError>,
                > {
                    return never;
                }
                #[allow(clippy::shadow_unrelated)]
                let tx = ::idem_runtime::__private::tx(&mut claim);
                { pay(tx, cmd).await }
            },
        )
        .await;
    let finished = ::idem_runtime::__private::finish(claim, result, &contract).await;
    return ::idem_runtime::__private::settle(unit, finished, request, &contract).await;
}
