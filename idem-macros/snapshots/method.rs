// #[idempotent(namespace = "payments", operation = format!("create-{N}"), fingerprint = (self.id, amount, to))]
// 558 tokens
#[inline]
#[allow(unused)]
pub(crate) async fn create<'a, DB: Backend, const N: usize>(
    self: Arc<Self>,
    tx: impl ::idem_runtime::handler::Begin<'a, Transaction<'_, DB>>,
    r#type: &IdempotencyKey,
    Json(Create { amount, to, .. }): Json<Create>,
) -> Result<::idem_runtime::Replayable<impl Serialize + use<DB>>, Error>
where
    DB: Sized,
{
    ::idem_runtime::__private::register! {
        [::idem_runtime::__private] namespace : "payments", operation :
        ::idem_runtime::__private::None, function : "create", policy :
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
    request.key(&r#type);
    request.named(&(format!("create-{N}")));
    request.projection(&(&self.id, &amount, &to));
    let mut unit = ::idem_runtime::__private::unit(tx);
    let mut claim = loop {
        match ::idem_runtime::__private::claim(&mut unit, &mut request, &contract).await
        {
            ::idem_runtime::__private::Run(claim) => break claim,
            ::idem_runtime::__private::Done(done) => return done,
            ::idem_runtime::__private::Again => {}
        }
    };
    let result: Result<_, Error> = ::idem_runtime::__private::body(
            &request,
            async {
                if let ::idem_runtime::__private::Some(never) = ::idem_runtime::__private::None::<
                    Result<_, Error>,
                > {
                    return never;
                }
                #[allow(clippy::shadow_unrelated)]
                let mut tx = ::idem_runtime::__private::tx(&mut claim);
                { Ok(N) }
            },
        )
        .await;
    let finished = ::idem_runtime::__private::finish(claim, result, &contract).await;
    return ::idem_runtime::__private::settle(unit, finished, request, &contract).await;
}
