//! Generates the description of a handler: its constant, its marker.

use proc_macro2::{Literal, Span, TokenStream};
use quote::{ToTokens, quote_spanned};
use syn::Meta;
use syn::ext::IdentExt as _;

use super::{DEFAULT_RETENTION, DEFAULT_WAIT};
use crate::args::{Fingerprint, Operation, Options};
use crate::duration;
use crate::item::Item;

/// Generates the description of the operation: a constant without a name that the body could see.
pub(super) fn constant(item: &Item, options: &Options, p: &TokenStream) -> TokenStream {
    let mixed = Span::mixed_site();
    if let Some(marker) = &options.marker.value {
        return quote_spanned!(mixed=> <#marker as #p::DescribeOperation>::OPERATION);
    }
    let operation = operation(item, options, p);
    quote_spanned!(mixed=> const { #operation })
}

/// Generates the operation with all its options.
fn operation(item: &Item, options: &Options, p: &TokenStream) -> TokenStream {
    let mixed = Span::mixed_site();
    let mut operation = with_policy(item, options, p);
    if let Some(table) = &options.table.value {
        operation.extend(quote_spanned!(mixed=> .table(#table)));
    }
    if let Some(codec) = &options.codec.value {
        operation.extend(quote_spanned!(mixed=> .codec(&#codec)));
    }
    operation
}

/// Generates an operation of the same policy, as an item inside the handler can name it.
pub(super) fn policy(item: &Item, options: &Options, p: &TokenStream) -> TokenStream {
    let mixed = Span::mixed_site();
    if let Some(marker) = &options.marker.value {
        return quote_spanned!(mixed=> <#marker as #p::DescribeOperation>::OPERATION);
    }
    with_policy(item, options, p)
}

/// Generates `Operation::new(..)` and the calls that set its policy.
fn with_policy(item: &Item, options: &Options, p: &TokenStream) -> TokenStream {
    let mixed = Span::mixed_site();
    let namespace = &options.namespace.value;
    let name = match &options.operation.value {
        Some(Operation::Literal(name)) => name.to_token_stream(),
        // The name is known only at the call. The constant holds the function's name until then.
        Some(Operation::Computed(_)) | None => function(item).into_token_stream(),
    };
    let retention = options.retention.value.unwrap_or(DEFAULT_RETENTION);
    let mut operation = quote_spanned! {mixed=>
        #p::Operation::new(#namespace, #name).retention(#p::seconds(#retention))
    };
    if options.waits.given_as(true).is_some() {
        let wait = options.wait.value.unwrap_or(DEFAULT_WAIT);
        operation.extend(quote_spanned!(mixed=> .wait(#p::seconds(#wait))));
    }
    if options.record_request.given_as(true).is_some() {
        operation.extend(quote_spanned!(mixed=> .record_request()));
    }
    if let Some(limit) = options.result_limit.value {
        let limit = Literal::u64_unsuffixed(limit);
        operation.extend(quote_spanned!(mixed=> .result_limit(#limit)));
    }
    operation.extend(lease(options, p));
    operation.extend(failures(options));
    let switches = [
        (
            options.key_required.given_as(false),
            quote_spanned!(mixed=> .optional_key()),
        ),
        (
            options.strict_expiry.given_as(true),
            quote_spanned!(mixed=> .strict_expiry()),
        ),
    ];
    for (_, switch) in switches.into_iter().filter(|(given, _)| given.is_some()) {
        operation.extend(switch);
    }
    if let Some(Fingerprint::Off) = options.fingerprint.value {
        operation.extend(quote_spanned!(mixed=> .without_fingerprint()));
    }
    operation
}

/// Generates the operation's lease options.
fn lease(options: &Options, p: &TokenStream) -> Option<TokenStream> {
    let mixed = Span::mixed_site();
    let lease = options.lease.value?;
    let on_lapse = if options.unknown_on_lapse.given_as(false).is_some() {
        quote_spanned!(mixed=> Retry)
    } else {
        // The default: no effect happens twice.
        quote_spanned!(mixed=> Unknown)
    };
    Some(quote_spanned!(mixed=> .lease(#p::seconds(#lease), #p::OnLapse::#on_lapse)))
}

/// The switch that records failures, if they are.
fn failures(options: &Options) -> Option<TokenStream> {
    options.records_failures.given_as(true)?;
    Some(quote_spanned!(Span::mixed_site()=> .record_failures()))
}

/// The type of the operation.
fn type_of(options: &Options, p: &TokenStream) -> TokenStream {
    let mixed = Span::mixed_site();
    let failures = if options.records_failures.given_as(true).is_some() {
        quote_spanned!(mixed=> RecordFailures)
    } else {
        quote_spanned!(mixed=> RetryFailures)
    };
    let operation = if options.lease.value.is_some() {
        quote_spanned!(mixed=> LeasedOperation)
    } else {
        quote_spanned!(mixed=> Operation)
    };
    quote_spanned!(mixed=> #p::#operation<#p::#failures>)
}

/// Generates the type that `marker` names. It describes the operation and has the handler's
/// visibility.
pub(super) fn marker(item: &Item, options: &Options) -> Option<TokenStream> {
    described(item, options, |p| operation(item, options, p))
}

/// Generates the same type for a handler with faults, so that uses of the type still compile.
pub(crate) fn stand_in(item: &Item, options: &Options) -> Option<TokenStream> {
    described(item, options, |p| {
        let mixed = Span::mixed_site();
        let (lease, failures) = (lease(options, p), failures(options));
        quote_spanned!(mixed=> #p::Operation::new("faulty", "faulty") #lease #failures)
    })
}

fn described(
    item: &Item,
    options: &Options,
    operation: impl FnOnce(&TokenStream) -> TokenStream,
) -> Option<TokenStream> {
    let marker = options.marker.value.as_ref()?;
    let mixed = Span::mixed_site();
    let runtime = options.runtime();
    let p = quote_spanned!(mixed=> #runtime::__private);
    let operation = operation(&p);
    let of = type_of(options, &p);
    let vis = &item.vis;
    let cfgs = item.attrs.iter().filter(|attr| attr.path().is_ident("cfg"));
    let cfgs: Vec<_> = cfgs.collect();
    let doc = format!(
        "Describes the operation of the handler `{}`.",
        function(item)
    );
    Some(quote_spanned! {mixed=>
        #(#cfgs)*
        #[doc = #doc]
        #[allow(dead_code)]
        #[derive(#p::Clone, #p::Copy, #p::Debug)]
        #vis struct #marker;
        #(#cfgs)*
        impl #p::DescribeOperation for #marker {
            type Operation = #of;
            const OPERATION: #of = #operation;
        }
    })
}

/// Generates the last line of the handler's documentation, which says what the attribute made of it.
///
/// A handler without documentation gets none, so that `missing_docs` still reports it.
pub(super) fn documentation(item: &Item, options: &Options) -> Option<TokenStream> {
    let documented = |attr: &syn::Attribute| matches!(&attr.meta, Meta::NameValue(meta) if meta.path.is_ident("doc"));
    if !item.attrs.iter().any(documented) {
        return None;
    }
    let namespace = options.namespace.value.as_ref()?.value();
    let operation = match &options.operation.value {
        Some(Operation::Literal(name)) => format!("operation `{}`", name.value()),
        Some(Operation::Computed(_)) => "an operation that is named at the call".to_owned(),
        None => format!("operation `{}`", function(item)),
    };
    let retention = duration::display(options.retention.value.unwrap_or(DEFAULT_RETENTION));
    let lease = options.lease.value.map(duration::display);
    let lease = lease
        .map(|lease| format!(", lease {lease}"))
        .unwrap_or_default();
    let line = format!(
        "\n\nIdempotent: namespace `{namespace}`, {operation}, retention {retention}{lease}."
    );
    Some(quote_spanned!(Span::mixed_site()=> #[doc = #line]))
}

/// Returns the function's name as text.
pub(super) fn function(item: &Item) -> String {
    item.sig.ident.unraw().to_string()
}
