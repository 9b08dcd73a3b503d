//! The attribute of idem: `#[idempotent]` makes an async command handler safe to retry.
//!
//! Use it through the runtime crate, which re-exports it (`use idem_runtime::idempotent;`) and whose
//! documentation has complete programs. This page is the attribute's reference.
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
//! # The function it becomes
//!
//! The first parameter after `self` is the transaction that the body sees: `&mut` of sqlx's
//! `Transaction`, or of an alias of it. Callers pass in its place whatever can begin a unit of work on
//! that database: `&pool`, `&mut connection` or `&mut tx`; from within a handler `&mut *tx`. The other
//! parameters stay as written, patterns, `#[cfg]`s and all. The result is a `Result<T, E>` under any
//! alias, and callers get `Result<Replayable<T>, E>`:
//!
//! ```text
//! async fn create_payment(
//!     tx: impl Begin<'_, PgTransaction<'_>>,
//!     key: &IdempotencyKey,
//!     cmd: &CreatePayment,
//! ) -> Result<Replayable<Payment>, PaymentError>
//! ```
//!
//! `T` must be `Serialize + DeserializeOwned`, `E` must be `From<idem_runtime::Error>`, and for the
//! future to be `Send` both must be. Free functions and methods with any receiver, generics,
//! lifetimes, `impl Trait` arguments, `?` and early `return` work as without the attribute. The body
//! is passed on as it is, and lints see it as the user's own.
//!
//! The transaction's parameter keeps its name, so that attributes beside this one can name it:
//! `#[tracing::instrument(skip(tx))]`. It being an `impl Trait` argument, two things are as with any
//! function that has one: generic parameters can still be named at a call, and a result of `impl Trait`
//! cannot say `use<..>`.
//!
#![doc = include_str!("reference.md")]
//!
//! # Errors at compile time
//!
//! Every error carries a code, stands at the token at fault and says what to type. All independent
//! ones are reported at once, and a faulty handler still has its final signature, so that its callers
//! compile and editors keep completing in its body.
//!
//! | code | fault |
//! |---|---|
//! | `IDEM001` | the function is not `async` |
//! | `IDEM002` | there is no return type |
//! | `IDEM003` | the return type is no `Result` |
//! | `IDEM004` | the recorded result holds a reference |
//! | `IDEM005` | the first parameter is not the transaction |
//! | `IDEM006` | the transaction's lifetime is written `'static` |
//! | `IDEM007` | there is no key |
//! | `IDEM008` | there are two keys |
//! | `IDEM009` | the function is `const`, `unsafe`, `extern` or variadic |
//! | `IDEM010` | `#[async_trait]` has rewritten the method |
//! | `IDEM011` | a caching attribute stands beside this one |
//! | `IDEM012` | the item is not a function with a body |
//! | `IDEM013` | the first parameter of a leased handler is not the attempt |
//! | `IDEM014` | a leased handler borrows from its caller |
//! | `IDEM015` | a method does not say its operation |
//! | `IDEM016` | a receiver is neither compared nor skipped |
//! | `IDEM017` | a type or const parameter is neither compared nor skipped |
//! | `IDEM018` | a compared parameter is a set without an order |
//! | `IDEM021` | there is no such option |
//! | `IDEM022` | an option is given twice |
//! | `IDEM023` | an option is not written as it must be |
//! | `IDEM024` | an option has no such value |
//! | `IDEM025` | the namespace is missing |
//! | `IDEM026` | the namespace breaks its rule |
//! | `IDEM027` | the operation's name breaks its rule |
//! | `IDEM028` | the table's name breaks its rule |
//! | `IDEM029` | a duration is zero, too long or not one |
//! | `IDEM030` | `skip` names what is not compared anyway |
//! | `IDEM031` | two options contradict each other |
//! | `IDEM032` | a key, a scope or a fingerprint is a literal |
//! | `IDEM033` | a marker is on a method, or its operation is no literal |
//! | `IDEM041` | `derive(Failure)` is not on an enum |
//! | `IDEM042` | there is not exactly one variant for replayed failures |
//! | `IDEM043` | the variant for replayed failures holds something else |
//! | `IDEM044` | a permanent variant holds a database error |
//! | `IDEM045` | two variants have the same class |
//! | `IDEM046` | the class breaks its rule |
//! | `IDEM047` | a word of `#[failure]` is in the wrong place |
//! | `IDEM048` | no variant is permanent |
//! | `IDEM049` | a field of a permanent variant holds a reference |
//!
//! `docs/diagnostics.md` in the repository shows each: the wrong code, the message, the reason and the
//! right code.

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
mod nearest;
mod pattern;
mod signature;
mod types;
mod validate;

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
/// The [crate's page](crate) shows the function that it becomes and lists the errors at compile time.
///
#[doc = include_str!("reference.md")]
#[proc_macro_attribute]
pub fn idempotent(arguments: TokenStream, item: TokenStream) -> TokenStream {
    expand(arguments.into(), &item.into()).into()
}

/// Implements `Failure` for an error enum: which of its variants are permanent, and how a handler with
/// `failures = "record"` records and replays them.
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
/// | `permanent` | no retry can mend it: it is recorded, and every retry gets it back |
/// | `class = "…"` | its name in the record, 1-255 characters; without it, the variant's. Renaming a variant without keeping its class makes the failures recorded before come back in the `replayed` variant |
/// | `replayed` | required, once: what a recorded failure comes back in whose class this build does not know, or whose fields it cannot read. It holds a `StoredFailure`, and is permanent as what it holds |
/// | `database` | beside `permanent`: although the variant holds a database error. Its fields are not recorded, so that it comes back in the `replayed` variant, with message and cause |
///
/// On the enum, `#[failure(crate = path)]` says where the runtime is, if it was renamed.
///
/// The record keeps the error's message (`Display`), the message of its `source()`, and the fields as
/// JSON: by name, or as a list if they have none. A field that the record lacks is read as `null`, so an
/// `Option` may be added. Fields of permanent variants must be `Serialize + DeserializeOwned`, and the
/// enum must be a `std::error::Error`. With type parameters, this is asked where the type is used.
#[proc_macro_derive(Failure, attributes(failure))]
pub fn derive_failure(item: TokenStream) -> TokenStream {
    failure::derive(item.into()).into()
}

/// The attribute on tokens, without a compiler around it.
fn expand(arguments: TokenStream2, tokens: &TokenStream2) -> TokenStream2 {
    let mut faults = Faults::default();
    let options = args::parse(arguments, &mut faults);
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

/// An item that cannot be a handler: as it was, with the one error that says so.
fn alone(error: syn::Error, tokens: &TokenStream2) -> TokenStream2 {
    let mut faults = Faults::default();
    faults.absorb(error);
    let error = faults.into_tokens();
    quote!(#error #tokens)
}

#[cfg(test)]
mod tests;
