// #[idempotent(namespace = "payments", retention = "7d", result_version = 3, upcast = from_second, write_version = 2)]
// 931 tokens
async fn create<'a, T>(
    tx: impl ::idem_runtime::handler::Begin<'_, PgTransaction<'_>>,
    key: &IdempotencyKey,
    cmd: &'a Create<'a>,
    Json(body): Json<Body>,
    #[cfg(unix)]
    of: Vec<T>,
    memo: Option<&str>,
) -> Result<::idem_runtime::Replayable<Payment>, PaymentError> {
    ::idem_runtime::__private::register! {
        [::idem_runtime::__private] namespace : "payments", operation :
        ::idem_runtime::__private::Some("create"), function : "create", policy :
        ::idem_runtime::__private::Operation::new("payments", "create")
        .retention(::idem_runtime::__private::seconds(604800u64)), key : Parameter, types
        : ::idem_runtime::__private::HandlerTypes::new(&
        [::idem_runtime::__private::Parameter::new("cmd", "&'a Create<'a>", true, |
        schemas | { #[allow(unused_imports)] use ::idem_runtime::__private::OpaqueShape
        as _; ::idem_runtime::__private::Shape:: < Create < '_ > > ::new()
        .schema(schemas) }), ::idem_runtime::__private::Parameter::new("body",
        "part of Json<Body>", true, | _ | ::idem_runtime::__private::None), #[cfg(unix)]
        ::idem_runtime::__private::Parameter::new("of", "Vec<T>", true, | _ |
        ::idem_runtime::__private::None),
        ::idem_runtime::__private::Parameter::new("memo", "Option<&str>", true, | schemas
        | { #[allow(unused_imports)] use ::idem_runtime::__private::OpaqueShape as _;
        ::idem_runtime::__private::Shape:: < Option < & str > > ::new().schema(schemas)
        })], | schemas | { #[allow(unused_imports)] use
        ::idem_runtime::__private::OpaqueShape as _; ::idem_runtime::__private::Shape:: <
        Payment > ::new().schema(schemas) },
        ::idem_runtime::__private::ComparedValues::Parameters, [3, 2, 2],),
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
                    2,
                    |older| ::idem_runtime::__private::step(
                        ::idem_runtime::__private::older(older),
                        from_second,
                    ),
                )
                .writing(2, ::idem_runtime::__private::None),
        );
    let mut request = ::idem_runtime::__private::Request::new(const {
        ::idem_runtime::__private::Operation::new("payments", "create")
            .retention(::idem_runtime::__private::seconds(604800u64))
    });
    request.key(&key);
    request.field("cmd", &cmd);
    request.field("body", &body);
    #[cfg(unix)] request.field("of", &of);
    request.field("memo", &memo);
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
                { todo!() }
            },
        )
        .await;
    let finished = ::idem_runtime::__private::finish(claim, result, &contract).await;
    return ::idem_runtime::__private::settle(unit, finished, request, &contract).await;
}
