//! Handlers that are written as axum handlers: their parameters, their results.

use syn::Type;

use crate::diagnostic::{Code, Faults};
use crate::model::{Model, shown};
use crate::types;
use crate::web;

/// Reports a handler that axum calls, which has no transaction. Nothing else about it is worth a message.
pub(super) fn is_axum_handler(model: &Model<'_>, faults: &mut Faults) -> bool {
    let Some(first) = &model.first else {
        return false;
    };
    if first.reference.is_some() || types::attempt(&first.typed.ty).is_some() {
        return false;
    }
    let later = model.rest.iter().map(|param| param.typed);
    let mut params = std::iter::once(first.typed).chain(later);
    let Some(extractor) = params.find(|param| web::is_extractor(param)) else {
        return false;
    };
    faults.push(
        Code::WebHandler,
        &extractor.ty,
        "this is an axum handler: a command is called with a transaction first, which axum cannot pass\nhelp: write the command as a function of its own under the attribute, `async fn create_payment(tx: &mut PgTransaction<'_>, key: &IdempotencyKey, cmd: &CreatePayment) -> Result<Payment, E>`, and call it from your axum handler: `Ok(create_payment(&pool, &key, &cmd).await?.map(Json))`",
    );
    true
}

/// Reports the result of a handler that is an answer to a request: the whole result, or the `T` of `Result<T, E>` if
/// it is opaque. The compiler judges any other `T`.
pub(super) fn answer(ty: &Type, faults: &mut Faults) {
    let value = web::value(ty).map_or_else(|| "T".to_owned(), shown);
    faults.push(
        Code::WebAnswer,
        ty,
        format_args!(
            "`{}` is an answer to a request, and what is recorded is the value in it\nhelp: return `Result<{value}, E>`, and answer in the axum handler that calls this one: `Ok(create_payment(&pool, &key, &cmd).await?.map(Json))`",
            shown(ty)
        ),
    );
}
