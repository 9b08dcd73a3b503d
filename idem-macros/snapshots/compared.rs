// #[idempotent(namespace = "payments", key = &r#type, skip(c))]
// 553 tokens
async fn create(
    db: impl ::idem_runtime::handler::Begin<'_, Tx<'_>>,
    Path((a, b)): Path<(Id, Id)>,
    #[cfg(unix)]
    _c: u8,
    #[allow(unused)]
    mut c: &Clock,
    r#type: String,
    r#move: u8,
    _: u8,
) -> Result<::idem_runtime::Replayable<()>, E> {
    ::idem_runtime::__private::register! {
        [::idem_runtime::__private] namespace : "payments", operation :
        ::idem_runtime::__private::Some("create"), function : "create", policy :
        ::idem_runtime::__private::Operation::new("payments", "create")
        .retention(::idem_runtime::__private::seconds(86400u64)), key : Request,
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
    request.key(&(&r#type));
    request.field("a", &a);
    request.field("b", &b);
    #[cfg(unix)] #[allow(clippy::used_underscore_binding)] request.field("_c", &_c);
    request.field("move", &r#move);
    let mut unit = ::idem_runtime::__private::unit(db);
    let mut claim = loop {
        match ::idem_runtime::__private::claim(&mut unit, &mut request, &contract).await
        {
            ::idem_runtime::__private::Run(claim) => break claim,
            ::idem_runtime::__private::Done(done) => return done,
            ::idem_runtime::__private::Again => {}
        }
    };
    let result: Result<(), E> = ::idem_runtime::__private::body(
            &request,
            async {
                if let ::idem_runtime::__private::Some(never) = ::idem_runtime::__private::None::<
                    Result<(), E>,
                > {
                    return never;
                }
                ::idem_runtime::__private::tx(&mut claim);
                { Ok(()) }
            },
        )
        .await;
    let finished = ::idem_runtime::__private::finish(claim, result, &contract).await;
    return ::idem_runtime::__private::settle(unit, finished, request, &contract).await;
}
