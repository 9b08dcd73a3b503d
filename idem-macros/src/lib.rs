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
//! # The generated function
//!
//! The first parameter after `self` is the transaction for the body: `&mut` of sqlx's
//! `Transaction`, or of an alias of it. In its place, callers pass any value that can begin a unit
//! of work on that database: `&pool`, `&mut connection` or `&mut tx`; within a handler, `&mut *tx`.
//! The other parameters stay as written, with their patterns and `#[cfg]`s. The handler returns a
//! `Result<T, E>` or an alias of it, and callers get `Result<Replayable<T>, E>`:
//!
//! ```text
//! async fn create_payment(
//!     tx: impl Begin<'_, PgTransaction<'_>>,
//!     key: &IdempotencyKey,
//!     cmd: &CreatePayment,
//! ) -> Result<Replayable<Payment>, PaymentError>
//! ```
//!
//! `T` must be `Serialize + DeserializeOwned`, and `E` must be `From<idem_runtime::Error>`. For the
//! future to be `Send`, both must be `Send`. Free functions, methods with any receiver, generics,
//! lifetimes, `impl Trait` arguments, `?` and early `return` work as they do without the attribute.
//! The body is passed on unchanged, and lints treat it as the user's own.
//!
//! The transaction's parameter keeps its name, so that other attributes can name it:
//! `#[tracing::instrument(skip(tx))]`. Its type becomes an `impl Trait` argument, with the two
//! consequences that this has in any function: generic parameters can still be named at a call, and
//! a result of `impl Trait` cannot use `use<..>`.
//!
#![doc = include_str!("reference.md")]
//!
//! # Errors at compile time
//!
//! Every error has a code, underlines the faulty token and says what to type. All independent
//! errors are reported at once. A faulty handler still gets its final signature, so that its
//! callers compile and editors keep completing in its body.
//!
//! | code | fault |
//! |---|---|
//! | `IDEM001` | the function is not `async` |
//! | `IDEM002` | there is no return type |
//! | `IDEM003` | the return type is not a `Result` |
//! | `IDEM004` | the recorded result holds a reference |
//! | `IDEM005` | the first parameter is not the transaction |
//! | `IDEM006` | the transaction's lifetime is written `'static` |
//! | `IDEM007` | there is no key |
//! | `IDEM008` | there are two keys |
//! | `IDEM009` | the function is `const`, `unsafe`, `extern` or variadic |
//! | `IDEM010` | `#[async_trait]` has rewritten the method |
//! | `IDEM011` | a caching attribute is beside this one |
//! | `IDEM012` | the item is not a function with a body |
//! | `IDEM013` | the first parameter of a leased handler is not the attempt |
//! | `IDEM014` | a leased handler borrows from its caller |
//! | `IDEM015` | a method does not name its operation |
//! | `IDEM016` | a receiver is neither compared nor skipped |
//! | `IDEM017` | a type or const parameter is neither compared nor skipped |
//! | `IDEM018` | a compared parameter is a set without an order |
//! | `IDEM019` | the result is an answer to a request, not the value in it |
//! | `IDEM020` | the function is an axum handler |
//! | `IDEM021` | there is no such option |
//! | `IDEM022` | an option is given twice |
//! | `IDEM023` | an option has the wrong syntax |
//! | `IDEM024` | an option has no such value |
//! | `IDEM025` | the namespace is missing |
//! | `IDEM026` | the namespace breaks its rule |
//! | `IDEM027` | the operation's name breaks its rule |
//! | `IDEM028` | the table's name breaks its rule |
//! | `IDEM029` | a duration is zero, too long or not a duration |
//! | `IDEM030` | `skip` names a value that is not compared anyway |
//! | `IDEM031` | two options contradict each other |
//! | `IDEM032` | a key, a scope or a fingerprint is a literal |
//! | `IDEM033` | a marker is on a method, or its operation is not a literal |
//! | `IDEM034` | a size is zero, too large or not a size |
//! | `IDEM035` | a parameter cannot be handed to `authorize` or `on_replay` |
//! | `IDEM036` | a version is zero, too large or not a version |
//! | `IDEM041` | `derive(Failure)` is not on an enum |
//! | `IDEM042` | there is not exactly one variant for replayed failures |
//! | `IDEM043` | the variant for replayed failures holds something else |
//! | `IDEM044` | a permanent variant holds a database error |
//! | `IDEM045` | two variants have the same class |
//! | `IDEM046` | the class breaks its rule |
//! | `IDEM047` | a word of `#[failure]` is in the wrong place |
//! | `IDEM048` | no variant is permanent |
//! | `IDEM049` | a field of a permanent variant holds a reference |
//! | `IDEM061` | the first parameter is not the transaction of this sqlx |
//! | `IDEM062` | a pool is among the parameters (a warning) |
//! | `IDEM063` | `failures = "record"` with an error type that is no `Failure` |
//!
//! `docs/diagnostics.md` in the repository shows the wrong code, the message, the reason and the
//! right code for each.

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

/// Makes an async command handler safe to retry.
///
/// ```text
/// #[idempotent(namespace = "payments", retention = "24h")]
/// async fn create_payment(
///     tx: &mut PgTransaction<'_>,
///     key: &IdempotencyKey,
///     cmd: &CreatePayment,
/// ) -> Result<Payment, PaymentError> {
///     ..
/// }
/// ```
///
/// The [crate's page](crate) shows the generated function and lists the errors at compile time.
///
#[doc = include_str!("reference.md")]
#[proc_macro_attribute]
pub fn idempotent(arguments: TokenStream, item: TokenStream) -> TokenStream {
    expand(arguments.into(), &item.into(), cfg!(feature = "lock")).into()
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

/// Runs the attribute on tokens, without a compiler around it. `locks` is set if handlers register what they compare.
fn expand(arguments: TokenStream2, tokens: &TokenStream2, locks: bool) -> TokenStream2 {
    let mut faults = Faults::default();
    let mut options = args::parse(arguments, &mut faults);
    options.locks = locks;
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
