//! The header as a parameter.

use std::time::Duration;

use utoipa::openapi::path::{Parameter, ParameterBuilder, ParameterIn};
use utoipa::openapi::schema::{ObjectBuilder, Type};
use utoipa::openapi::{Components, Ref, RefOr, Required};

use super::Presence;
use crate::header::{IDEMPOTENCY_KEY, Syntax};

const NAME: &str = "Idempotency-Key";

const DESCRIPTION: &str = "A token of the client's for one intended effect, a String of RFC 8941: \
    a retry of the same request sends it again and gets the recorded result.";

const EXAMPLE: &str = "\"8e03978e-40d5-43e8-bc93-6894a57f9324\"";

/// Returns the whole parameter.
pub(super) fn inline(presence: Presence, retention: Option<Duration>) -> Parameter {
    let mut description = DESCRIPTION.to_owned();
    if let Some(retention) = retention {
        let seconds = retention.as_secs();
        description.push_str(" It is remembered for ");
        description.push_str(&seconds.to_string());
        description.push_str(" seconds.");
    }
    ParameterBuilder::new()
        .name(NAME)
        .parameter_in(ParameterIn::Header)
        .required(match presence {
            Presence::Required => Required::True,
            Presence::Optional => Required::False,
        })
        .description(Some(description))
        .schema(Some(schema(Syntax::default())))
        .example(Some(EXAMPLE.into()))
        .build()
}

/// Returns the schema, without lengths: they limit the key, and the value adds quotes and parameters.
fn schema(syntax: Syntax) -> ObjectBuilder {
    ObjectBuilder::new()
        .schema_type(Type::String)
        .pattern(Some(syntax.pattern()))
}

/// Replaces the parameter by a reference if it is the header, and adds its component. Returns whether the
/// header is required, or `None` if it is another parameter.
pub(super) fn share(
    parameter: &mut RefOr<Parameter>,
    components: &mut Components,
    syntax: Syntax,
) -> Option<Presence> {
    let inline = match parameter {
        RefOr::Ref(reference) => {
            return [Presence::Required, Presence::Optional]
                .into_iter()
                .find(|presence| reference.ref_location == location(*presence));
        }
        RefOr::T(inline) => inline,
    };
    if !inline.name.eq_ignore_ascii_case(IDEMPOTENCY_KEY.as_str())
        || inline.parameter_in != ParameterIn::Header
    {
        return None;
    }
    let presence = if inline.required == Required::True {
        Presence::Required
    } else {
        Presence::Optional
    };
    let mut reference = Ref::new(location(presence));
    if let Some(description) = inline.description.take()
        && description != DESCRIPTION
    {
        reference.description = description;
    }
    let shared = components.parameters.entry(component(presence).to_owned());
    shared.or_insert_with(|| {
        let mut shared = self::inline(presence, None);
        shared.schema = Some(schema(syntax).into());
        shared.into()
    });
    *parameter = RefOr::Ref(reference);
    Some(presence)
}

fn component(presence: Presence) -> &'static str {
    match presence {
        Presence::Required => "IdempotencyKey",
        Presence::Optional => "OptionalIdempotencyKey",
    }
}

fn location(presence: Presence) -> String {
    format!("#/components/parameters/{}", component(presence))
}
