// #[idempotent(namespace = "payments", key_required = false, fingerprint = off)]
// 490 tokens
async fn create(
    tx: impl ::idem_runtime::handler::Begin<'_, PgTransaction<'_>>,
    key: Option<IdempotencyKey>,
    cmd: Create,
) -> <ApiResult<Payment> as ::idem_runtime::handler::HandlerResult>::Replayed {
    ::idem_runtime::__private::register! {
        [::idem_runtime::__private] namespace : "payments", operation :
        ::idem_runtime::__private::Some("create"), function : "create", policy :
        ::idem_runtime::__private::Operation::new("payments", "create")
        .retention(::idem_runtime::__private::seconds(86400u64)).optional_key()
        .without_fingerprint(), key : Parameter,
    }
    let contract = ::idem_runtime::__private::contract(
        ::idem_runtime::__private::writes::<_>(),
        ::idem_runtime::__private::reads::<_>(),
        ::idem_runtime::__private::lifts::<_>(),
    );
    let mut request = ::idem_runtime::__private::Request::new(const {
        ::idem_runtime::__private::Operation::new("payments", "create")
            .retention(::idem_runtime::__private::seconds(86400u64))
            .optional_key()
            .without_fingerprint()
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
    let result: ApiResult<Payment> = ::idem_runtime::__private::body(
            &request,
            async {
                if let ::idem_runtime::__private::Some(never) = ::idem_runtime::__private::None::<
                    ApiResult<Payment>,
                > {
                    return never;
                }
                #[allow(clippy::shadow_unrelated)]
                let tx = ::idem_runtime::__private::tx(&mut claim);
                { todo!() }
            },
        )
        .await;
    let finished = ::idem_runtime::__private::finish(claim, result, &contract).await;
    return ::idem_runtime::__private::settle(unit, finished, request, &contract).await;
}
