//! The attribute's arguments: `name = value`, `name(..)` and flags, each at most once.

mod slot;
mod value;

use proc_macro2::{Span, TokenStream, TokenTree};
use quote::{ToTokens, quote_spanned};
use syn::ext::IdentExt as _;
use syn::parse::{ParseStream, Parser as _};
use syn::{Expr, Ident, LitStr, Path, Token};

pub(crate) use self::slot::Slot;
pub(crate) use self::value::{Fingerprint, Key, bare};
use crate::diagnostic::{Code, Faults, fault};
use crate::{literal, nearest};

/// Ten years: a longer retention is a record kept for ever.
const RETENTION_LIMIT: u64 = 3_650 * 86_400;
/// A longer wait outlives the timeouts of most clients and proxies.
const WAIT_LIMIT: u64 = 60;

/// Every option, with an example of how it is written.
const OPTIONS: [(&str, &str); 18] = [
    ("namespace", "namespace = \"payments\""),
    ("retention", "retention = \"24h\""),
    ("operation", "operation = \"create_payment\""),
    ("key", "key = cmd.request_id"),
    ("scope", "scope = cmd.tenant"),
    ("key_required", "key_required = false"),
    ("skip", "skip(clock, client)"),
    ("fingerprint", "fingerprint = (cmd.amount, cmd.payee)"),
    ("on_conflict", "on_conflict = \"wait\""),
    ("wait", "wait = \"2s\""),
    ("failures", "failures = \"record\""),
    ("record_request", "record_request"),
    ("expiry", "expiry = \"strict\""),
    ("lease", "lease = \"5m\""),
    ("on_lapse", "on_lapse = \"retry\""),
    ("signature", "signature = \"keep\""),
    ("table", "table = \"app.idempotency\""),
    ("crate", "crate = path::to::idem_runtime"),
];

/// Words that other libraries use for an option of ours.
const SYNONYMS: [(&str, &str); 12] = [
    ("ns", "namespace"),
    ("ttl", "retention"),
    ("expires", "retention"),
    ("name", "operation"),
    ("tenant", "scope"),
    ("principal", "scope"),
    ("ignore", "skip"),
    ("exclude", "skip"),
    ("skip_all", "fingerprint"),
    ("hash", "fingerprint"),
    ("timeout", "wait"),
    ("errors", "failures"),
];

/// What the attribute says; whatever it does not say is an empty slot.
#[derive(Default)]
pub(crate) struct Options {
    pub(crate) namespace: Slot<LitStr>,
    pub(crate) retention: Slot<u64>,
    pub(crate) operation: Slot<LitStr>,
    pub(crate) key: Slot<Key>,
    pub(crate) scope: Slot<Expr>,
    pub(crate) key_required: Slot<bool>,
    pub(crate) skip: Slot<Vec<Ident>>,
    pub(crate) fingerprint: Slot<Fingerprint>,
    /// `on_conflict`: whether a duplicate waits for the first call.
    pub(crate) waits: Slot<bool>,
    pub(crate) wait: Slot<u64>,
    /// `failures`: whether permanent failures are recorded.
    pub(crate) records_failures: Slot<bool>,
    pub(crate) record_request: Slot<bool>,
    /// `expiry`: whether an expired record counts as absent before it is purged.
    pub(crate) strict_expiry: Slot<bool>,
    pub(crate) lease: Slot<()>,
    pub(crate) on_lapse: Slot<()>,
    /// `signature`: whether the signature stays as written.
    pub(crate) keeps_signature: Slot<bool>,
    pub(crate) table: Slot<LitStr>,
    pub(crate) runtime: Slot<Path>,
    /// An argument could not be attributed to an option, so that one may seem to be missing.
    pub(crate) unsure: bool,
}

/// Reads the arguments; whatever is at fault goes to `faults`, the rest is read all the same.
pub(crate) fn parse(arguments: TokenStream, faults: &mut Faults) -> Options {
    let mut options = Options::default();
    let read = |input: ParseStream| {
        while !input.is_empty() {
            if let Err(error) = argument(input, &mut options) {
                faults.absorb(error);
                resynchronise(input);
            }
            if !input.is_empty() {
                input.parse::<Token![,]>()?;
            }
        }
        Ok(())
    };
    if let Err(error) = read.parse2(arguments) {
        options.unsure = true;
        faults.absorb(error);
    }
    options
}

/// Skips to the next comma that an option follows, or to the end.
///
/// Commas inside a broken expression would otherwise give further errors for the same fault.
fn resynchronise(input: ParseStream) {
    while !input.is_empty() && !at_next_option(input) {
        // Infallible: the input is not empty.
        let _ = input.parse::<TokenTree>();
    }
}

fn at_next_option(input: ParseStream) -> bool {
    let ahead = input.fork();
    if ahead.parse::<Token![,]>().is_err() {
        return false;
    }
    ahead.is_empty()
        || Ident::parse_any(&ahead).is_ok_and(|name| {
            example(&name.to_string()).is_some() || ahead.is_empty() || ahead.peek(Token![=])
        })
}

/// Reads one argument up to the comma after it.
fn argument(input: ParseStream, options: &mut Options) -> syn::Result<()> {
    let name = Ident::parse_any(input).map_err(|_| {
        options.unsure = true;
        value::expected(
            input,
            "the name of an option, such as `retention = \"24h\"`",
        )
    })?;
    let text = name.to_string();
    let Some(example) = example(&text) else {
        options.unsure = true;
        return Err(unknown(&name, &text));
    };
    let at = value::Argument {
        name: &name,
        example,
        input,
    };
    match text.as_str() {
        "namespace" => options
            .namespace
            .set(&at, value::checked(literal::namespace)),
        "retention" => options.retention.set(&at, value::duration(RETENTION_LIMIT)),
        "operation" => options
            .operation
            .set(&at, value::checked(literal::operation)),
        "key" => options.key.set(&at, value::key),
        "scope" => options.scope.set(&at, value::expression),
        "key_required" => options.key_required.set(&at, value::boolean),
        "skip" => options.skip.set(&at, value::names),
        "fingerprint" => options.fingerprint.set(&at, value::fingerprint),
        "on_conflict" => options
            .waits
            .set(&at, value::choice([("reject", false), ("wait", true)])),
        "wait" => options.wait.set(&at, value::duration(WAIT_LIMIT)),
        "failures" => options
            .records_failures
            .set(&at, value::choice([("retry", false), ("record", true)])),
        "record_request" => options.record_request.set(&at, value::flag),
        "expiry" => options
            .strict_expiry
            .set(&at, value::choice([("replay", false), ("strict", true)])),
        "lease" => options.lease.set(&at, value::ignored),
        "on_lapse" => options.on_lapse.set(&at, value::ignored),
        "signature" => options
            .keeps_signature
            .set(&at, value::choice([("keep", true)])),
        "table" => options.table.set(&at, value::checked(literal::table)),
        "crate" => options.runtime.set(&at, value::path),
        other => unreachable!("`{other}` is in the table of options but has no slot"),
    }?;
    if input.is_empty() || input.peek(Token![,]) {
        return Ok(());
    }
    Err(value::expected(input, "`,` before the next option"))
}

fn example(name: &str) -> Option<&'static str> {
    OPTIONS
        .iter()
        .find_map(|(known, example)| (*known == name).then_some(*example))
}

fn unknown(name: &Ident, text: &str) -> syn::Error {
    let known = OPTIONS.iter().map(|(known, _)| *known);
    let synonym = SYNONYMS
        .iter()
        .find_map(|(word, option)| (*word == text).then_some(*option));
    let help = synonym
        .or_else(|| nearest::nearest(text, known.clone()))
        .and_then(example)
        .map_or_else(
            || format!("the options are {}", known.collect::<Vec<_>>().join(", ")),
            |example| format!("did you mean `{example}`?"),
        );
    fault(
        Code::UnknownOption,
        name,
        format_args!("`{text}` is no option of `#[idempotent]`\nhelp: {help}"),
    )
}

impl Options {
    /// The path of the runtime crate, as generated code writes it.
    pub(crate) fn runtime(&self) -> TokenStream {
        self.runtime.value.as_ref().map_or_else(
            || quote_spanned!(Span::mixed_site()=> ::idem_runtime),
            ToTokens::to_token_stream,
        )
    }
}
