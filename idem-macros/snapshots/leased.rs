// #[idempotent(namespace = "mail", operation = "mail.send", skip(self), lease = "5m", on_lapse = "retry", failures = "record")]
// 498 tokens
/// Sends.
/**

Idempotent: namespace `mail`, operation `mail.send`, retention 1d, lease 5m.*/
pub async fn send(
    self: Arc<Self>,
    attempt: impl ::idem_runtime::handler::LeaseSource,
    key: &IdempotencyKey,
    mail: Mail,
) -> Result<::idem_runtime::Replayable<Receipt>, MailError> {
    ::idem_runtime::__private::register! {
        [::idem_runtime::__private] namespace : "mail", operation :
        ::idem_runtime::__private::Some("mail.send"), function : "send", policy :
        ::idem_runtime::__private::Operation::new("mail", "mail.send")
        .retention(::idem_runtime::__private::seconds(86400u64))
        .lease(::idem_runtime::__private::seconds(300u64),
        ::idem_runtime::__private::OnLapse::Retry).record_failures(), key : Parameter,
    }
    let contract = ::idem_runtime::__private::contract(
            ::idem_runtime::__private::writes::<_>(),
            ::idem_runtime::__private::reads::<_>(),
            ::idem_runtime::__private::lifts::<_>(),
        )
        .recording(::idem_runtime::__private::failures::<_>());
    let mut request = ::idem_runtime::__private::LeasedRequest::new(const {
        ::idem_runtime::__private::Operation::new("mail", "mail.send")
            .retention(::idem_runtime::__private::seconds(86400u64))
            .lease(
                ::idem_runtime::__private::seconds(300u64),
                ::idem_runtime::__private::OnLapse::Retry,
            )
            .record_failures()
    });
    request.key(&key);
    request.field("mail", &mail);
    let (call, attempt_receiver) = ::idem_runtime::__private::leased(
        attempt,
        request,
        contract,
    );
    let key_0 = ::idem_runtime::__private::Clone::clone(key);
    let body = async move {
        if let ::idem_runtime::__private::Some(never) = ::idem_runtime::__private::None::<
            Result<Receipt, MailError>,
        > {
            return never;
        }
        let held = attempt_receiver.attempt().await;
        #[allow(clippy::shadow_unrelated)]
        let attempt: &Attempt = &held;
        #[allow(unused_variables, clippy::shadow_unrelated)]
        let key = &key_0;
        { Ok(self.relay(attempt, mail).await?) }
    };
    return ::idem_runtime::__private::run(call, body).await;
}
