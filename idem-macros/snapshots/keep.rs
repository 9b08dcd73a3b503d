// #[idempotent(namespace = "payments", operation = "payment.create", signature = "keep", fingerprint = (self, 1))]
// 516 tokens
async fn create(
    &self,
    tx: &mut PgTransaction<'_>,
    key: &IdempotencyKey,
) -> Result<Payment, PaymentError> {
    ::idem_runtime::__private::register! {
        [::idem_runtime::__private] namespace : "payments", operation :
        ::idem_runtime::__private::Some("payment.create"), function : "create", policy :
        ::idem_runtime::__private::Operation::new("payments", "payment.create")
        .retention(::idem_runtime::__private::seconds(86400u64)), key : Parameter,
    }
    let contract = ::idem_runtime::__private::contract(
        ::idem_runtime::__private::writes::<_>(),
        ::idem_runtime::__private::reads::<_>(),
        ::idem_runtime::__private::lifts::<_>(),
    );
    let mut request = ::idem_runtime::__private::Request::new(const {
        ::idem_runtime::__private::Operation::new("payments", "payment.create")
            .retention(::idem_runtime::__private::seconds(86400u64))
    });
    request.key(&key);
    request.projection(&(::idem_runtime::__private::receiver::<Self>(&self), &(1)));
    let mut unit = ::idem_runtime::__private::unit::<PgTransaction<'_>>(tx);
    let mut claim = loop {
        match ::idem_runtime::__private::claim(&mut unit, &mut request, &contract).await
        {
            ::idem_runtime::__private::Run(claim) => break claim,
            ::idem_runtime::__private::Done(done) => {
                return ::idem_runtime::__private::keep(done);
            }
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
                #[allow(unused)]
                #[allow(clippy::shadow_unrelated)]
                let tx = ::idem_runtime::__private::tx(&mut claim);
                { todo!() }
            },
        )
        .await;
    let finished = ::idem_runtime::__private::finish(claim, result, &contract).await;
    return ::idem_runtime::__private::keep(
        ::idem_runtime::__private::settle(unit, finished, request, &contract).await,
    );
}
