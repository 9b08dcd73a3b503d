//! The responses to a request with a key, by status.

use std::collections::BTreeMap;

use idem_runtime::http::{CODES, Problem};
use utoipa::PartialSchema as _;
use utoipa::openapi::header::{Header, HeaderBuilder};
use utoipa::openapi::path::Operation;
use utoipa::openapi::response::ResponseBuilder;
use utoipa::openapi::schema::{ObjectBuilder, Schema, Type};
use utoipa::openapi::{ContentBuilder, RefOr, Response};

use super::problem::ProblemSchema;
use crate::options::{InFlightAnswer, PolicyOptions};

/// The documentation of several codes with the same status.
struct Refusal {
    codes: &'static [&'static str],
    says: &'static str,
    /// Whether the responses have `Retry-After`.
    later: bool,
    of_the_layer: bool,
}

const REFUSALS: [Refusal; 11] = [
    edge(
        &["key-missing", "invalid"],
        "The Idempotency-Key is missing, or it or the request is not acceptable.",
    ),
    layer(&["request-unreadable"], "The body broke off."),
    layer(
        &["replay-forbidden"],
        "The recorded response is not for this request.",
    ),
    passing(
        &["in-flight"],
        "Another request with this Idempotency-Key is running.",
    ),
    edge(
        &["outcome-unknown"],
        "What became of an earlier request with this Idempotency-Key is being found out.",
    ),
    layer(&["request-too-large"], "The body is too long."),
    edge(
        &["mismatch"],
        "The Idempotency-Key was used before, for another request.",
    ),
    edge(
        &["recorded-failure"],
        "The earlier request with this Idempotency-Key failed for good.",
    ),
    edge(
        &["internal", "result-too-large"],
        "The server is at fault, or the result is too large to record.",
    ),
    layer(
        &["response-not-storable"],
        "The request was served, and its response cannot be recorded.",
    ),
    passing(
        &["try-again", "unavailable"],
        "A passing condition: send the request again with the same Idempotency-Key.",
    ),
];

const fn edge(codes: &'static [&'static str], says: &'static str) -> Refusal {
    Refusal {
        codes,
        says,
        later: false,
        of_the_layer: false,
    }
}

const fn passing(codes: &'static [&'static str], says: &'static str) -> Refusal {
    Refusal {
        later: true,
        ..edge(codes, says)
    }
}

const fn layer(codes: &'static [&'static str], says: &'static str) -> Refusal {
    Refusal {
        of_the_layer: true,
        ..edge(codes, says)
    }
}

/// Returns the refusals under these rules.
pub(super) fn of(options: &PolicyOptions, with_layer: bool) -> BTreeMap<String, RefOr<Response>> {
    let mut by_status: BTreeMap<String, Response> = BTreeMap::new();
    for refusal in &REFUSALS {
        if refusal.of_the_layer && !with_layer {
            continue;
        }
        let code = refusal.codes[0];
        let response = by_status
            .entry(status(code, options).to_string())
            .or_insert_with(empty);
        if !response.description.is_empty() {
            response.description.push(' ');
        }
        response.description.push_str(refusal.says);
        if refusal.later {
            add(response, "Retry-After", retry_after());
        }
        if code == "recorded-failure" {
            add(response, "Idempotent-Replayed", replayed());
        }
    }
    if let InFlightAnswer::Accepted(_) = options.in_flight {
        by_status.insert("202".to_owned(), accepted());
    }
    by_status
        .into_iter()
        .map(|(status, response)| (status, response.into()))
        .collect()
}

/// Returns the status of a code under these rules. 202 is not a refusal. Without a key, its status URL is
/// unknown, so the code stays a conflict.
fn status(code: &str, options: &PolicyOptions) -> u16 {
    match (code, options.mismatch, &options.in_flight) {
        ("mismatch", Some(status), _) => status.as_u16(),
        ("in-flight", _, InFlightAnswer::TooEarly) => 425,
        _ => CODES
            .iter()
            .find(|(known, _)| *known == code)
            .map_or(500, |(_, status)| *status),
    }
}

fn empty() -> Response {
    let content = ContentBuilder::new()
        .schema(Some(ProblemSchema::schema()))
        .build();
    ResponseBuilder::new()
        .content(Problem::MEDIA_TYPE, content)
        .build()
}

/// Returns the response to a request whose key is in flight, with the URL of its status.
fn accepted() -> Response {
    let text = || ObjectBuilder::new().schema_type(Type::String);
    let body = ObjectBuilder::new()
        .property("code", text().enum_values(Some(["in-flight"])))
        .required("code")
        .property("status_url", text())
        .required("status_url");
    let content = ContentBuilder::new()
        .schema(Some(Schema::from(body.build())))
        .build();
    let location = HeaderBuilder::new()
        .description(Some("Where to ask for the outcome."))
        .schema(Some(text()))
        .build();
    ResponseBuilder::new()
        .description("Another request with this Idempotency-Key is running.")
        .content("application/json", content)
        .header("Location", location)
        .header("Retry-After", retry_after())
        .build()
}

/// Documents for each success that it may be a replay.
pub(super) fn mark_replays(operation: &mut Operation) {
    for (status, response) in &mut operation.responses.responses {
        if let RefOr::T(response) = response
            && status.starts_with('2')
        {
            add(response, "Idempotent-Replayed", replayed());
        }
    }
}

/// Replaces the default refusals by those under these rules. Responses that the operation documents
/// itself stay.
pub(super) fn edit(operation: &mut Operation, options: &PolicyOptions) {
    let responses = &mut operation.responses.responses;
    let (plain, whole) = (
        of(&PolicyOptions::default(), false),
        of(&PolicyOptions::default(), true),
    );
    let is = |all: &BTreeMap<_, RefOr<Response>>, status: &String, found: &RefOr<Response>| {
        all.get(status).is_some_and(|response| response == found)
    };
    let (mut any, mut with_layer) = (false, false);
    responses.retain(|status, found| {
        let (in_plain, in_whole) = (is(&plain, status, found), is(&whole, status, found));
        any |= in_plain || in_whole;
        with_layer |= in_whole && !in_plain;
        !in_plain && !in_whole
    });
    if any {
        for (status, response) in of(options, with_layer) {
            responses.entry(status).or_insert(response);
        }
    }
}

fn add(response: &mut Response, name: &str, header: Header) {
    let headers = &mut response.headers;
    headers
        .entry(name.to_owned())
        .or_insert_with(|| header.into());
}

fn retry_after() -> Header {
    let seconds = ObjectBuilder::new()
        .schema_type(Type::Integer)
        .minimum(Some(1));
    HeaderBuilder::new()
        .description(Some("In how many seconds to try again."))
        .schema(Some(seconds))
        .build()
}

fn replayed() -> Header {
    HeaderBuilder::new()
        .description(Some(
            "`true` if an earlier request with this Idempotency-Key made this response.",
        ))
        .schema(Some(ObjectBuilder::new().schema_type(Type::Boolean)))
        .build()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_code_of_the_librarys_is_told_of_once_at_its_status() {
        let mut documented: Vec<_> = REFUSALS.iter().flat_map(|refusal| refusal.codes).collect();
        documented.sort_unstable();
        let mut codes: Vec<_> = CODES.iter().map(|(code, _)| code).collect();
        codes.sort_unstable();
        assert_eq!(documented, codes);
        for refusal in &REFUSALS {
            let first = status(refusal.codes[0], &PolicyOptions::default());
            for code in refusal.codes {
                assert_eq!(status(code, &PolicyOptions::default()), first, "{code}");
            }
        }
    }
}
