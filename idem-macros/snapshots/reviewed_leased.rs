// #[idempotent(namespace = "mail", lease = "5m", authorize = may_see)]
// 550 tokens
async fn send(
    attempt: impl ::idem_runtime::handler::LeaseSource,
    key: &IdempotencyKey,
    mail: Mail,
) -> Result<::idem_runtime::Replayable<u64>, MailError> {
    ::idem_runtime::__private::register! {
        [::idem_runtime::__private] namespace : "mail", operation :
        ::idem_runtime::__private::Some("send"), function : "send", policy :
        ::idem_runtime::__private::Operation::new("mail", "send")
        .retention(::idem_runtime::__private::seconds(86400u64))
        .lease(::idem_runtime::__private::seconds(300u64),
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
                ::idem_runtime::__private::seconds(300u64),
                ::idem_runtime::__private::OnLapse::Unknown,
            )
    });
    request.key(&key);
    request.field("mail", &mail);
    request.review();
    let (call, attempt_receiver) = ::idem_runtime::__private::leased(
        attempt,
        request,
        contract,
    );
    let key_0 = ::idem_runtime::__private::Clone::clone(key);
    let body = async move {
        if let ::idem_runtime::__private::Some(never) = ::idem_runtime::__private::None::<
            Result<u64, MailError>,
        > {
            return never;
        }
        let held = match attempt_receiver.entered().await {
            ::idem_runtime::__private::Entered::Attempt(held) => held,
            ::idem_runtime::__private::Entered::Review(review) => {
                #[allow(unused_variables, clippy::shadow_unrelated)]
                let key = &key_0;
                if let ::idem_runtime::__private::Err(error) = may_see(
                        key,
                        &mail,
                        review.recorded(),
                    )
                    .await
                {
                    return review.denied(error);
                }
                return review.approved();
            }
        };
        #[allow(clippy::shadow_unrelated)]
        let attempt: &Attempt = &held;
        #[allow(unused_variables, clippy::shadow_unrelated)]
        let key = &key_0;
        { relay(attempt, mail).await }
    };
    return ::idem_runtime::__private::run(call, body).await;
}
