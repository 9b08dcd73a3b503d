//! By tonic's client.

use one_handler_four_transports::grpc::proto::CreatePaymentRequest;
use one_handler_four_transports::grpc::proto::payments_client::PaymentsClient;
use tonic::Request;
use tonic::transport::Channel;
use tonic_types::StatusExt as _;

use super::Answer;

pub(crate) async fn pay(
    mut client: PaymentsClient<Channel>,
    key: Option<&str>,
    cents: i64,
) -> Answer {
    let account = 17;
    let mut request = Request::new(CreatePaymentRequest { account, cents });
    let metadata = request.metadata_mut();
    metadata.insert("authorization", "Bearer acme".parse().expect("ASCII"));
    if let Some(key) = key {
        metadata.insert("idempotency-key", key.parse().expect("ASCII"));
    }
    match client.create(request).await {
        Ok(payment) => Answer::Paid {
            replayed: payment.metadata().contains_key("idempotent-replayed"),
            id: payment.into_inner().id.into(),
        },
        Err(status) => {
            let info = status.get_details_error_info().expect("an ErrorInfo");
            Answer::refused(&info.reason.to_lowercase().replace('_', "-"))
        }
    }
}
