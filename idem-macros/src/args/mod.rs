//! The attribute's arguments: `name = value`, `name(..)` and flags, each at most once.

mod slot;
pub(crate) mod value;
pub(crate) mod versions;
mod vocabulary;

use proc_macro2::{Span, TokenStream};
use quote::{ToTokens, quote_spanned};
use syn::{Expr, Ident, LitStr, Path};

pub(crate) use self::slot::Slot;
pub(crate) use self::value::{Argument, Fingerprint, KeyOption, Operation, bare};
pub(crate) use self::versions::{Upcast, Versions};
pub(crate) use self::vocabulary::Vocabulary;
use crate::diagnostic::Faults;
use crate::literal;

/// Ten years: a record with a longer retention is in effect never purged.
const RETENTION_LIMIT: u64 = 3_650 * 86_400;
/// A longer wait outlives the timeouts of most clients and proxies.
const WAIT_LIMIT: u64 = 60;
/// One day: after a crash the lease blocks its key for this long.
const LEASE_LIMIT: u64 = 86_400;
/// 256 MiB: a database takes no much longer value, and everything around a record has several copies of it.
const RESULT_LIMIT: u64 = 256 * 1024 * 1024;

const VOCABULARY: Vocabulary = Vocabulary {
    attribute: "idempotent",
    options: &[
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
        ("result_limit", "result_limit = \"64KiB\""),
        ("result_version", "result_version = 2"),
        ("upcast", "upcast = upcast_payment"),
        ("write_version", "write_version = 1"),
        ("downcast", "downcast = downcast_payment"),
        ("expiry", "expiry = \"strict\""),
        ("lease", "lease = \"5m\""),
        ("on_lapse", "on_lapse = \"retry\""),
        ("signature", "signature = \"keep\""),
        ("table", "table = \"app.idempotency\""),
        ("authorize", "authorize = may_see_payment"),
        ("on_replay", "on_replay = refresh_payment"),
        ("codec", "codec = PAYMENTS"),
        ("marker", "marker = CreatePaymentOperation"),
        ("allow", "allow(pool)"),
        ("crate", "crate = path::to::idem_runtime"),
    ],
    synonyms: &[
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
        ("max_result", "result_limit"),
        ("response_limit", "result_limit"),
        ("authorise", "authorize"),
        ("authorization", "authorize"),
        ("response_hook", "on_replay"),
        ("version", "result_version"),
        ("schema_version", "result_version"),
        ("migrate", "upcast"),
        ("upcaster", "upcast"),
        ("downcaster", "downcast"),
        ("protect", "codec"),
        ("encrypt", "codec"),
        ("compress", "codec"),
    ],
};

/// The options of the attribute. An option that is not given has an empty slot.
#[derive(Default)]
pub(crate) struct Options {
    pub(crate) namespace: Slot<LitStr>,
    pub(crate) retention: Slot<u64>,
    pub(crate) operation: Slot<Operation>,
    pub(crate) key: Slot<KeyOption>,
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
    /// In bytes.
    pub(crate) result_limit: Slot<u64>,
    pub(crate) versions: Versions,
    /// `expiry`: whether an expired record counts as absent before it is purged.
    pub(crate) strict_expiry: Slot<bool>,
    pub(crate) lease: Slot<u64>,
    /// `on_lapse`: whether a lapsed lease leaves the outcome unknown until it is reconciled.
    pub(crate) unknown_on_lapse: Slot<bool>,
    /// `signature`: whether the signature stays as written.
    pub(crate) keeps_signature: Slot<bool>,
    pub(crate) table: Slot<LitStr>,
    /// The type, beside the handler, that describes the operation.
    pub(crate) marker: Slot<Ident>,
    /// The function that says who may see a replay.
    pub(crate) authorize: Slot<Path>,
    /// The function that edits a replayed result.
    pub(crate) on_replay: Slot<Path>,
    /// `allow`: whether a pool among the parameters is meant.
    pub(crate) allows_pool: Slot<bool>,
    /// The static whose keys and settings the payloads are written by.
    pub(crate) codec: Slot<Path>,
    pub(crate) runtime: Slot<Path>,
    /// Whether an argument could not be assigned to an option. A missing option may then be that
    /// argument.
    pub(crate) unsure: bool,
    /// Whether the handler registers the types of its request and result (feature `schemas`).
    pub(crate) describes: bool,
}

/// Reads the arguments. Faults go to `faults`; the arguments after a faulty one are still read.
pub(crate) fn parse(arguments: TokenStream, faults: &mut Faults) -> Options {
    let mut options = Options::default();
    let sure = VOCABULARY.read(arguments, faults, |at, name| option(&mut options, at, name));
    options.unsure = !sure;
    options
}

fn option(options: &mut Options, at: &Argument<'_>, name: &str) -> syn::Result<()> {
    match name {
        "namespace" => options
            .namespace
            .set(at, value::checked(literal::namespace)),
        "retention" => options.retention.set(at, value::duration(RETENTION_LIMIT)),
        "operation" => options.operation.set(at, value::operation),
        "key" => options.key.set(at, value::key),
        "scope" => options.scope.set(at, value::scope),
        "key_required" => options.key_required.set(at, value::boolean),
        "skip" => options.skip.set(at, value::names),
        "fingerprint" => options.fingerprint.set(at, value::fingerprint),
        "on_conflict" => options
            .waits
            .set(at, value::choice([("reject", false), ("wait", true)])),
        "wait" => options.wait.set(at, value::duration(WAIT_LIMIT)),
        "failures" => options
            .records_failures
            .set(at, value::choice([("retry", false), ("record", true)])),
        "record_request" => options.record_request.set(at, value::flag),
        "result_limit" => options.result_limit.set(at, value::size(RESULT_LIMIT)),
        "result_version" => options.versions.version.set(at, versions::version),
        "upcast" => options.versions.upcast.set(at, versions::upcast),
        "write_version" => options.versions.written.set(at, versions::version),
        "downcast" => options.versions.downcast.set(at, versions::function),
        "expiry" => options
            .strict_expiry
            .set(at, value::choice([("replay", false), ("strict", true)])),
        "lease" => options.lease.set(at, value::duration(LEASE_LIMIT)),
        "on_lapse" => options
            .unknown_on_lapse
            .set(at, value::choice([("retry", false), ("unknown", true)])),
        "signature" => options
            .keeps_signature
            .set(at, value::choice([("keep", true)])),
        "table" => options.table.set(at, value::checked(literal::table)),
        "marker" => options.marker.set(at, value::name),
        "authorize" => options.authorize.set(at, value::path),
        "on_replay" => options.on_replay.set(at, value::path),
        "allow" => options.allows_pool.set(at, value::allowed),
        "codec" => options.codec.set(at, value::path),
        "crate" => options.runtime.set(at, value::path),
        other => unreachable!("`{other}` is in the table of options but has no slot"),
    }
}

impl Options {
    /// Returns whether `skip` was given but could not be read.
    pub(crate) fn skip_is_faulty(&self) -> bool {
        self.skip.is_given() && self.skip.value.is_none()
    }

    /// Returns whether a replay is shown to a function of the user's before it is answered.
    pub(crate) fn reviews(&self) -> bool {
        self.authorize.value.is_some() || self.on_replay.value.is_some()
    }

    /// Returns the path of the runtime crate for generated code.
    pub(crate) fn runtime(&self) -> TokenStream {
        runtime(&self.runtime)
    }
}

/// Returns the path of the runtime crate: `::idem_runtime` unless the option `crate` renames it.
pub(crate) fn runtime(renamed: &Slot<Path>) -> TokenStream {
    renamed.value.as_ref().map_or_else(
        || quote_spanned!(Span::mixed_site()=> ::idem_runtime),
        ToTokens::to_token_stream,
    )
}
