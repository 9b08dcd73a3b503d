// #[idempotent(namespace = "payments", signature = "keep")]
// 400 tokens
async fn create(
    &self,
    db: &mut PgTransaction<'_>,
    key: &IdempotencyKey,
) -> Result<Payment, PaymentError> {
    let contract = ::idem_runtime::__private::contract(
        ::idem_runtime::__private::writes::<_>(),
        ::idem_runtime::__private::reads::<_>(),
        ::idem_runtime::__private::lifts::<_>(),
    );
    let mut request = ::idem_runtime::__private::Request::new(const {
        ::idem_runtime::__private::Operation::new("payments", "create")
            .retention(::idem_runtime::__private::Duration::from_secs(86400u64))
    });
    request.key(&key);
    let mut unit = ::idem_runtime::__private::unit::<PgTransaction<'_>>(db);
    let mut claim = loop {
        match ::idem_runtime::__private::claim(&mut unit, &mut request, &contract).await
        {
            ::idem_runtime::__private::Step::Run(claim) => break claim,
            ::idem_runtime::__private::Step::Done(done) => {
                return ::idem_runtime::__private::keep(done);
            }
            ::idem_runtime::__private::Step::Again => {}
        }
    };
    let result: Result<Payment, PaymentError> = async {
        if let ::idem_runtime::__private::Some(never) = ::idem_runtime::__private::None::<
            Result<Payment, PaymentError>,
        > {
            return never;
        }
        #[allow(unused)]
        let tx = ::idem_runtime::__private::tx(&mut claim);
        { todo!() }
    }
        .await;
    let finished = ::idem_runtime::__private::finish(claim, result, &contract).await;
    ::idem_runtime::__private::keep(
        ::idem_runtime::__private::settle(unit, finished, request, &contract).await,
    )
}
