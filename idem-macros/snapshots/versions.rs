// #[idempotent(namespace = "payments", result_version = 3, upcast(from_first, v2::upcast), write_version = 1, downcast = to_first)]
// 647 tokens
async fn create(
    tx: impl ::idem_runtime::handler::Begin<'_, PgTransaction<'_>>,
    key: &IdempotencyKey,
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
        )
        .versioned(
            ::idem_runtime::__private::Versions::<
                <Result<
                    Payment,
                    PaymentError,
                > as ::idem_runtime::handler::HandlerResult>::Ok,
            >::new(
                    3,
                    1,
                    |older| match older.version() {
                        1 => {
                            ::idem_runtime::__private::step(
                                ::idem_runtime::__private::step(
                                    ::idem_runtime::__private::older(older),
                                    from_first,
                                ),
                                v2::upcast,
                            )
                        }
                        _ => {
                            ::idem_runtime::__private::step(
                                ::idem_runtime::__private::older(older),
                                v2::upcast,
                            )
                        }
                    },
                )
                .writing(
                    1,
                    ::idem_runtime::__private::Some(|value| {
                        use ::idem_runtime::__private::WriteOlder as _;
                        ::idem_runtime::__private::Downcasted(to_first(value))
                            .write_older()
                    }),
                ),
        );
    let mut request = ::idem_runtime::__private::Request::new(const {
        ::idem_runtime::__private::Operation::new("payments", "create")
            .retention(::idem_runtime::__private::seconds(86400u64))
    });
    request.key(&key);
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
                { pay(tx).await }
            },
        )
        .await;
    let finished = ::idem_runtime::__private::finish(claim, result, &contract).await;
    return ::idem_runtime::__private::settle(unit, finished, request, &contract).await;
}
