//! The shape of a refusal.

use utoipa::ToSchema;

/// The schema of a [`Problem`](crate::Problem), the component `Problem` of a document: `body = ProblemSchema` in
/// `#[utoipa::path(..)]` says that a response is one.
// utoipa's trait cannot be implemented for another crate's type, so the members are repeated here; a
// test compares them.
#[derive(Debug, ToSchema)]
#[schema(
    as = Problem,
    description = "A refusal: problem details by RFC 9457."
)]
#[allow(dead_code, reason = "read by the derive alone")]
pub struct ProblemSchema {
    /// A URI that names the kind of problem.
    #[schema(rename = "type", format = "uri-reference")]
    type_uri: String,
    /// The kind of problem in a sentence; the same for all of its kind.
    title: String,
    /// The status of the response.
    status: u16,
    /// What is wrong with this request.
    detail: String,
    /// The kind of problem for programs; the same in every version.
    code: String,
    /// Where it is explained to people.
    #[schema(nullable = false)]
    documentation: Option<String>,
    /// In how many seconds to try again.
    #[schema(nullable = false)]
    retry_after: Option<u64>,
    /// Of a mismatch, if the service shows it: where the request differs from the first one, as JSON pointers.
    #[schema(nullable = false)]
    differing: Option<Vec<String>>,
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use http::StatusCode;
    use idem_runtime::http::Problem;
    use serde_json::{Map, Value};
    use utoipa::{PartialSchema as _, ToSchema as _};

    use super::ProblemSchema;

    fn members(problem: Problem) -> Vec<String> {
        let value = serde_json::to_value(problem).expect("JSON");
        let members = value.as_object().map(Map::keys).expect("an object");
        let mut members: Vec<_> = members.cloned().collect();
        members.sort_unstable();
        members
    }

    #[test]
    fn the_schema_of_a_problem_has_the_members_of_a_problem() {
        let schema = serde_json::to_value(ProblemSchema::schema()).expect("JSON");
        let status = StatusCode::SERVICE_UNAVAILABLE;
        let few = Problem::new("try-again", "Later", status, "").without_documentation();
        let mut all = few
            .clone()
            .with_documentation("/problems")
            .with_retry_after(Duration::from_secs(1));
        all.differing = vec!["/cmd/cents".to_owned()];
        let properties = schema["properties"].as_object().expect("properties");
        let mut named: Vec<_> = properties.keys().cloned().collect();
        named.sort_unstable();
        assert_eq!(named, members(all));
        let needed = schema["required"].as_array().expect("a list");
        let mut needed: Vec<_> = needed.iter().filter_map(Value::as_str).collect();
        needed.sort_unstable();
        assert_eq!(needed, members(few));
        assert_eq!(ProblemSchema::name(), "Problem");
    }
}
