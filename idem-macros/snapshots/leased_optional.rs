// #[idempotent(namespace = "mail", lease = "90s")]
// 463 tokens
async fn send(
    db: impl ::idem_runtime::handler::LeaseSource,
    _key: Option<&IdempotencyKey>,
    #[cfg(unix)]
    mut to: String,
) -> <ApiResult<()> as ::idem_runtime::handler::HandlerResult>::Replayed {
    ::idem_runtime::__private::register! {
        [::idem_runtime::__private] namespace : "mail", operation :
        ::idem_runtime::__private::Some("send"), function : "send", policy :
        ::idem_runtime::__private::Operation::new("mail", "send")
        .retention(::idem_runtime::__private::seconds(86400u64))
        .lease(::idem_runtime::__private::seconds(90u64),
        ::idem_runtime::__private::OnLapse::Unknown), key : Parameter,
    }
    let contract = ::idem_runtime::__private::contract(
        ::idem_runtime::__private::writes::<_>(),
        ::idem_runtime::__private::reads::<_>(),
        ::idem_runtime::__private::lifts::<_>(),
    );
    let mut request = ::idem_runtime::__private::LeasedRequest::new(const {
        ::idem_runtime::__private::Operation::new("mail", "send")
            .retention(::idem_runtime::__private::seconds(86400u64))
            .lease(
                ::idem_runtime::__private::seconds(90u64),
                ::idem_runtime::__private::OnLapse::Unknown,
            )
    });
    #[allow(clippy::used_underscore_binding)] request.key(&_key);
    #[cfg(unix)] request.field("to", &to);
    let (call, attempt_receiver) = ::idem_runtime::__private::leased(
        db,
        request,
        contract,
    );
    #[allow(clippy::used_underscore_binding)]
    let key_0 = _key.cloned();
    let body = async move {
        if let ::idem_runtime::__private::Some(never) = ::idem_runtime::__private::None::<
            ApiResult<()>,
        > {
            return never;
        }
        attempt_receiver.attempt().await;
        #[allow(unused_variables, clippy::shadow_unrelated)]
        let _key = ::idem_runtime::__private::Option::as_ref(&key_0);
        { Ok(()) }
    };
    return ::idem_runtime::__private::run(call, body).await;
}
