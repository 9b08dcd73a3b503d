//! The attribute of idem: `#[idempotent]` makes an async command handler safe to retry.
//!
//! Use it through the runtime crate, which re-exports it (`use idem_runtime::idempotent;`) and
//! documents complete programs. This page is the attribute's reference.
//!
//! ```text
//! #[idempotent(namespace = "payments", retention = "24h")]
//! async fn create_payment(
//!     tx: &mut PgTransaction<'_>,
//!     key: &IdempotencyKey,
//!     cmd: &CreatePayment,
//! ) -> Result<Payment, PaymentError> {
//!     ..
//! }
//! ```
//!
#![doc = include_str!("generated.md")]
//!
#![doc = include_str!("reference.md")]
//!
#![doc = include_str!("codes.md")]

mod args;
mod diagnostic;
mod duration;
mod expand;
mod failure;
mod fallback;
mod item;
mod literal;
mod mention;
mod method;
mod model;
mod namespace;
mod nearest;
mod pattern;
mod signature;
mod size;
mod types;
mod validate;
mod web;

use proc_macro::TokenStream;
use proc_macro2::TokenStream as TokenStream2;
use quote::quote;

use crate::diagnostic::{Code, Faults};
use crate::model::Model;

/// Generates a handler that runs at most once for each key, from an async function whose first parameter is a
/// transaction.
///
#[doc = include_str!("generated.md")]
#[doc = include_str!("reference.md")]
#[doc = include_str!("codes.md")]
#[proc_macro_attribute]
pub fn idempotent(arguments: TokenStream, item: TokenStream) -> TokenStream {
    expand(arguments.into(), &item.into(), cfg!(feature = "schemas")).into()
}

/// Implements `Failure` for an error enum. It says which variants are permanent, and how a handler
/// with `failures = "record"` records and replays them.
///
/// ```text
/// #[derive(Debug, thiserror::Error, Failure)]
/// enum PaymentError {
///     #[error("declined: {code}")]
///     #[failure(permanent)]
///     Declined { code: u32 },
///
///     #[error(transparent)]
///     Database(#[from] sqlx::Error),
///
///     #[error(transparent)]
///     Idempotency(#[from] idem_runtime::Error),
///
///     #[error("{}", .0.message)]
///     #[failure(replayed)]
///     Recorded(StoredFailure),
/// }
/// ```
///
/// | on a variant | meaning |
/// |---|---|
/// | `permanent` | no retry can fix it: it is recorded, and every retry gets it back |
/// | `class = "…"` | the variant's name in the record, 1-255 characters; the default is the name in the code. If a variant is renamed without keeping its class, failures recorded before come back in the `replayed` variant |
/// | `replayed` | required, once: a recorded failure comes back in this variant if this build does not know its class or cannot read its fields. The variant holds a `StoredFailure` and is itself permanent |
/// | `database` | beside `permanent`: allows a variant that holds a database error. Its fields are not recorded, so it comes back in the `replayed` variant, with message and cause |
///
/// On the enum, `#[failure(crate = path)]` gives the path of the runtime if it was renamed, and
/// `#[failure(version = 2, upcast = path, write_version = 1, downcast = path)]` the version of what is recorded, as
/// `result_version` and its companions do for a result: the functions take and return a `StoredFailure`.
///
/// The record keeps the error's message (`Display`), the message of its `source()`, and the fields
/// as JSON: an object by name, or a list if the fields have no names. A field that the record lacks
/// is read as `null`, so an `Option` field may be added later. Fields of permanent variants must be
/// `Serialize + DeserializeOwned`, and the enum must be a `std::error::Error`. If the enum has type
/// parameters, these bounds are checked where the type is used.
#[proc_macro_derive(Failure, attributes(failure))]
pub fn derive_failure(item: TokenStream) -> TokenStream {
    failure::derive(item.into()).into()
}

/// Runs the attribute on tokens, without a compiler around it. `describes` is set if handlers
/// register the types of their requests and results.
fn expand(arguments: TokenStream2, tokens: &TokenStream2, describes: bool) -> TokenStream2 {
    let mut faults = Faults::default();
    let mut options = args::parse(arguments, &mut faults);
    options.describes = describes;
    let item = match item::parse(tokens) {
        Ok(item) => item,
        Err(error) => return alone(error, tokens),
    };
    if validate::is_async_trait(&item) {
        let error = diagnostic::fault(
            Code::AsyncTrait,
            &item.sig.ident,
            "`#[async_trait]` has rewritten this method before `#[idempotent]` could read it\nhelp: write the handler as an inherent `async fn` of the type, and call it from the trait's method",
        );
        return alone(error, tokens);
    }
    let model = Model::read(&item.sig);
    let plan = validate::plan(&item, &model, &options, &mut faults);
    match (faults.into_tokens(), plan) {
        (None, Some(plan)) => expand::handler(&item, &model, &options, &plan),
        (errors, _) => {
            let handler = fallback::handler(&item, &model, &options);
            quote!(#errors #handler)
        }
    }
}

/// Returns an item that cannot be a handler unchanged, with the one error that says so.
fn alone(error: syn::Error, tokens: &TokenStream2) -> TokenStream2 {
    let mut faults = Faults::default();
    faults.absorb(error);
    let error = faults.into_tokens();
    quote!(#error #tokens)
}

#[cfg(test)]
mod tests;
