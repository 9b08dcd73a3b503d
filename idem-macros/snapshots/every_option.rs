// #[idempotent(namespace = "payments", retention = "1d12h", operation = "payment.create", key = natural(tenant, cmd.order), scope = tenant, skip(_clock), on_conflict = "wait", failures = "record", record_request, result_limit = "64KiB", expiry = "strict", table = "app.idempotency", crate = crate::renamed)]
// 652 tokens
async fn create(
    tx: impl crate::renamed::handler::Begin<'_, PgTransaction<'_>>,
    tenant: Tenant,
    cmd: &Create,
    _clock: &Clock,
    _trace: u8,
) -> anyhow::Result<crate::renamed::Replayable<Payment>> {
    crate::renamed::__private::register! {
        [crate ::renamed::__private] namespace : "payments", operation : crate
        ::renamed::__private::Some("payment.create"), function : "create", policy : crate
        ::renamed::__private::Operation::new("payments", "payment.create")
        .retention(crate ::renamed::__private::seconds(129600u64)).wait(crate
        ::renamed::__private::seconds(2u64)).record_request().result_limit(65536)
        .record_failures().strict_expiry(), key : Request,
    }
    let contract = crate::renamed::__private::contract(
            crate::renamed::__private::writes::<_>(),
            crate::renamed::__private::reads::<_>(),
            crate::renamed::__private::lifts::<_>(),
        )
        .recording(crate::renamed::__private::failures::<_>());
    let mut request = crate::renamed::__private::Request::new(const {
        crate::renamed::__private::Operation::new("payments", "payment.create")
            .retention(crate::renamed::__private::seconds(129600u64))
            .wait(crate::renamed::__private::seconds(2u64))
            .record_request()
            .result_limit(65536)
            .record_failures()
            .strict_expiry()
            .table("app.idempotency")
    });
    request.key(&crate::renamed::__private::natural(&[&tenant, &cmd.order]));
    request.scope(&tenant);
    request.field("tenant", &tenant);
    request.field("cmd", &cmd);
    #[allow(clippy::used_underscore_binding)] request.field("_trace", &_trace);
    let mut unit = crate::renamed::__private::unit(tx);
    let mut claim = loop {
        match crate::renamed::__private::claim(&mut unit, &mut request, &contract).await
        {
            crate::renamed::__private::Run(claim) => break claim,
            crate::renamed::__private::Done(done) => return done,
            crate::renamed::__private::Again => {}
        }
    };
    let result: anyhow::Result<Payment> = crate::renamed::__private::body(
            &request,
            async {
                if let crate::renamed::__private::Some(never) = crate::renamed::__private::None::<
                    anyhow::Result<Payment>,
                > {
                    return never;
                }
                #[allow(clippy::shadow_unrelated)]
                let tx = crate::renamed::__private::tx(&mut claim);
                { todo!() }
            },
        )
        .await;
    let finished = crate::renamed::__private::finish(claim, result, &contract).await;
    return crate::renamed::__private::settle(unit, finished, request, &contract).await;
}
