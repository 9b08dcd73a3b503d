//! axum's types, as far as their names tell.

use quote::ToTokens as _;
use syn::{Pat, PatType, Type};

use crate::types;

/// The types that answer a request.
const ANSWERS: [&str; 8] = [
    "Json",
    "Response",
    "StatusCode",
    "Html",
    "Redirect",
    "HeaderMap",
    "Sse",
    "NoContent",
];

/// The types that a request is taken apart with.
const EXTRACTORS: [&str; 7] = [
    "State",
    "Json",
    "Path",
    "Query",
    "Extension",
    "Form",
    "TypedHeader",
];

/// Returns whether a type is an answer to a request, or a tuple with one.
pub(crate) fn is_answer(ty: &Type) -> bool {
    match types::bare(ty) {
        Type::Tuple(tuple) => tuple.elems.iter().any(is_answer),
        Type::ImplTrait(_) => is_opaque_answer(ty),
        _ => types::name(ty).is_some_and(|name| ANSWERS.iter().any(|answer| name == answer)),
    }
}

/// Returns whether a type is `impl IntoResponse`.
pub(crate) fn is_opaque_answer(ty: &Type) -> bool {
    matches!(types::bare(ty), Type::ImplTrait(opaque)
        if opaque.to_token_stream().to_string().contains("IntoResponse"))
}

/// Returns the value in an answer, the `T` of `(StatusCode, Json<T>)`, if it is to be seen.
pub(crate) fn value(ty: &Type) -> Option<&Type> {
    match types::bare(ty) {
        Type::Tuple(tuple) => tuple.elems.iter().find_map(value),
        _ => types::last_segment(ty)
            .filter(|segment| segment.ident == "Json")
            .and_then(|segment| types::type_arguments(segment).next()),
    }
}

/// Returns whether a parameter takes a request apart: `State(pool): State<PgPool>`.
pub(crate) fn is_extractor(param: &PatType) -> bool {
    let Pat::TupleStruct(pattern) = &*param.pat else {
        return false;
    };
    let (Some(name), Some(of)) = (types::name(&param.ty), pattern.path.segments.last()) else {
        return false;
    };
    *name == of.ident && EXTRACTORS.iter().any(|extractor| name == extractor)
}

#[cfg(test)]
mod tests {
    use quote::ToTokens as _;
    use syn::{FnArg, PatType, Type, parse_quote};

    use super::{is_answer, is_extractor, value};

    #[test]
    fn an_answer_is_known_alone_and_in_a_tuple_and_by_its_trait() {
        for ty in [
            parse_quote!(Json<Payment>),
            parse_quote!(axum::response::Response),
            parse_quote!((StatusCode, [(HeaderName, &'static str); 1], Json<Payment>)),
            parse_quote!((impl IntoResponse + use<>)),
        ] {
            assert!(is_answer(&ty));
        }
        for ty in [
            parse_quote!(Payment),
            parse_quote!(Vec<Json<Payment>>),
            parse_quote!(PaymentResponse),
            parse_quote!(impl Serialize),
        ] {
            assert!(!is_answer(&ty));
        }
    }

    #[test]
    fn the_value_of_an_answer_is_that_of_its_json() {
        let shown = |ty: Type| value(&ty).map(|ty| ty.to_token_stream().to_string());
        let payment = Some("Payment".to_owned());
        assert_eq!(shown(parse_quote!((StatusCode, Json<Payment>))), payment);
        assert_eq!(shown(parse_quote!(axum::Json<Payment>)), payment);
        assert_eq!(shown(parse_quote!(Response)), None);
    }

    #[test]
    fn an_extractor_is_known_if_it_is_taken_apart() {
        let param = |arg: FnArg| -> PatType {
            match arg {
                FnArg::Typed(typed) => typed,
                FnArg::Receiver(_) => unreachable!("a typed parameter"),
            }
        };
        for arg in [
            parse_quote!(State(pool): State<PgPool>),
            parse_quote!(axum::Json(cmd): axum::Json<Create>),
        ] {
            assert!(is_extractor(&param(arg)));
        }
        for arg in [
            parse_quote!(state: State<PgPool>),
            parse_quote!(Wrapped(cmd): Wrapped<Create>),
            parse_quote!(Create { cents }: Create),
        ] {
            assert!(!is_extractor(&param(arg)));
        }
    }
}
