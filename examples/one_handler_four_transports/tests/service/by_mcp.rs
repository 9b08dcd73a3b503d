//! By rmcp's client.

use rmcp::RoleClient;
use rmcp::model::CallToolRequestParams;
use rmcp::service::Peer;
use serde_json::json;

use super::Answer;

pub(crate) async fn pay(client: &Peer<RoleClient>, key: Option<&str>, cents: i64) -> Answer {
    let mut arguments = json!({ "account": 17, "cents": cents });
    if let Some(key) = key {
        arguments["idempotency_key"] = key.into();
    }
    let arguments = arguments.as_object().expect("an object").clone();
    let params = CallToolRequestParams::new("create_payment").with_arguments(arguments);
    let result = client.call_tool(params).await.expect("a result");
    let replayed = result
        .meta
        .is_some_and(|meta| meta.contains_key("dev.idem/idempotentReplayed"));
    let content = result.structured_content.expect("structured content");
    if result.is_error == Some(true) {
        Answer::refused(content["code"].as_str().expect("a problem"))
    } else {
        let id = content["id"].clone();
        Answer::Paid { id, replayed }
    }
}
