// #[idempotent(namespace = "payments", authorize = may_see, on_replay = desk::refresh)]
// 743 tokens
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
    });
    request.key(&key);
    request.field("cmd", &cmd);
    request.review();
    let mut unit = ::idem_runtime::__private::unit(tx);
    let mut claim = 'claim: {
        let done = loop {
            match ::idem_runtime::__private::claim(&mut unit, &mut request, &contract)
                .await
            {
                ::idem_runtime::__private::Run(claim) => break 'claim claim,
                ::idem_runtime::__private::Done(done) => break done,
                ::idem_runtime::__private::Again => {}
            }
        };
        ::idem_runtime::__private::drop(unit);
        if !::idem_runtime::__private::is_replay(&request) {
            return done;
        }
        if let ::idem_runtime::__private::Err(error) = may_see(
                key,
                &cmd,
                ::idem_runtime::__private::recorded(&done),
            )
            .await
        {
            return ::idem_runtime::__private::denied(request, error);
        }
        let done = match done {
            ::idem_runtime::__private::Ok(replayed) => {
                let (value, recorded_at) = ::idem_runtime::__private::apart(replayed);
                match desk::refresh(key, &cmd, value).await {
                    ::idem_runtime::__private::Ok(value) => {
                        ::idem_runtime::__private::Ok(
                            ::idem_runtime::__private::together(value, recorded_at),
                        )
                    }
                    ::idem_runtime::__private::Err(error) => {
                        return ::idem_runtime::__private::denied(request, error);
                    }
                }
            }
            ::idem_runtime::__private::Err(error) => {
                ::idem_runtime::__private::Err(error)
            }
        };
        return ::idem_runtime::__private::approved(request, done);
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
