//! Generates the code of a handler: a few calls of the runtime around the body.
//!
//! The expansion is linear. A closure around the body would cost the future its `Send`; a function
//! that contains the body would cost the signature its generics.

pub(crate) mod describe;
mod lease;
mod registration;
mod review;
pub(crate) mod versions;

use proc_macro2::{Delimiter, Group, Ident, Span, TokenStream};
use quote::{ToTokens, quote, quote_spanned};
use syn::ext::IdentExt as _;
use syn::{Expr, Pat, Token, Type};

use crate::args::{Fingerprint, Operation, Options};
use crate::item::Item;
use crate::model::{First, Model, Output};
use crate::signature::{self, Ends};
use crate::types;
use crate::validate::{Compared, Handle, KeyValue, Plan, Pool};
use crate::web;

/// The default of `wait`, in seconds.
const DEFAULT_WAIT: u64 = 2;
/// The default of `retention`, in seconds: one day.
const DEFAULT_RETENTION: u64 = 86_400;

/// Generates the handler with its final signature.
pub(crate) fn handler(
    item: &Item,
    model: &Model<'_>,
    options: &Options,
    plan: &Plan<'_>,
) -> TokenStream {
    let Item {
        attrs,
        vis,
        defaultness,
        ..
    } = item;
    let sig = signature::rewritten(item, model, options);
    let body = match plan.handle {
        Handle::Transaction(transaction) => body(item, model, options, plan, transaction),
        Handle::Attempt(attempt) => lease::body(item, model, options, plan, attempt),
    };
    let marker = describe::marker(item, options);
    let documentation = describe::documentation(item, options);
    // The braces span the user's tokens from first to last: no lint reports on a function whose
    // span ends in a macro's.
    let mut braces = Group::new(Delimiter::Brace, body);
    braces.set_span(item.body.span());
    quote! { #marker #(#attrs)* #documentation #vis #defaultness #sig #braces }
}

fn body(
    item: &Item,
    model: &Model<'_>,
    options: &Options,
    plan: &Plan<'_>,
    transaction: &Type,
) -> TokenStream {
    let mixed = Span::mixed_site();
    let runtime = options.runtime();
    let p = quote_spanned!(mixed=> #runtime::__private);
    let registration = registration::registration(item, model, options, plan, &p);
    let operation = describe::constant(item, options, &p);
    let contract = contract(model, options, plan, &p);
    let request = request(options, plan, &p);
    let pools = plan.pools.iter().map(|pool| warning(pool, &p));
    let source = signature::source(model);
    let underscored = allowance(&source);
    let unit = unit(&source, transaction, options, &p);
    let result = types::inferred(plan.result);
    let anchor = anchor(&result, &p);
    let returned = Ends::of(&result).open(&quote!(result));
    let binding = binding(model, None, &quote_spanned!(mixed=> #p::tx(&mut claim)));
    let user = user_block(item);
    let mut done = quote_spanned!(mixed=> done);
    let mut settled = quote_spanned!(mixed=> #p::settle(unit, finished, request, &contract).await);
    if options.keeps_signature.given_as(true).is_some() {
        done = quote_spanned!(mixed=> #p::keep(#done));
        settled = quote_spanned!(mixed=> #p::keep(#settled));
    }
    let claim = if options.reviews() {
        let review = review::atomic(model, options, &p);
        quote_spanned! {mixed=>
            request.review();
            let mut unit = #unit;
            let mut claim = 'claim: {
                let done = loop {
                    match #p::claim(&mut unit, &mut request, &contract).await {
                        #p::Run(claim) => break 'claim claim,
                        #p::Done(done) => break done,
                        #p::Again => {}
                    }
                };
                #p::drop(unit);
                #review
            };
        }
    } else {
        quote_spanned! {mixed=>
            let mut unit = #unit;
            let mut claim = loop {
                match #p::claim(&mut unit, &mut request, &contract).await {
                    #p::Run(claim) => break claim,
                    #p::Done(done) => return #done,
                    #p::Again => {}
                }
            };
        }
    };
    quote_spanned! {mixed=>
        #registration
        #(#pools)*
        let contract = #contract;
        let mut request = #p::Request::new(#operation);
        #request
        #underscored
        #claim
        let result: #result = #p::body(&request, async {
            #anchor
            #binding
            #user
        }).await;
        let finished = #p::finish(claim, #returned, &contract).await;
        return #settled
    }
}

/// Generates `unit(tx)`, underlined like the transaction's type, since that type is in the bound of
/// the argument.
fn unit(source: &Ident, transaction: &Type, options: &Options, p: &TokenStream) -> TokenStream {
    let at = Ends::of(transaction);
    let of = options
        .keeps_signature
        .given_as(true)
        .map(|_| quote!(::<#transaction>));
    let open = at.open(&quote!(#p::unit));
    // The name inside keeps the user's span.
    let mut call = Group::new(Delimiter::Parenthesis, source.to_token_stream());
    call.set_span(at.last.resolved_at(Span::mixed_site()));
    quote!(#open #of #call)
}

/// Generates the use of a deprecated function, underlined at the pool: a stable compiler offers no other warning.
fn warning(pool: &Pool<'_>, p: &TokenStream) -> TokenStream {
    let mixed = Span::mixed_site();
    let Pool { name, cfgs } = pool;
    let deprecated = Ident::new("pool_parameter", name.span().resolved_at(mixed));
    quote_spanned!(mixed=> #(#cfgs)* #p::#deprecated();)
}

/// Generates the assertions on `T` and `E`, underlined at the user's types.
fn contract(model: &Model<'_>, options: &Options, plan: &Plan<'_>, p: &TokenStream) -> TokenStream {
    let mixed = Span::mixed_site();
    let (ok, err) = match &model.output {
        Output::Result { ok, err, .. } => (Ends::of(ok), Ends::of(err.unwrap_or(plan.result))),
        _ => (Ends::of(plan.result), Ends::of(plan.result)),
    };
    let assertion = |name: &str, at: Ends| {
        let name = Ident::new(name, mixed);
        let (open, close) = (at.open(&quote!(#p::#name::<_>)), at.close(&quote!(())));
        quote!(#open #close)
    };
    let lifts = assertion("lifts", err);
    let mut contract = match &model.output {
        Output::Result { ok: answer, .. } if web::is_answer(answer) => {
            let codec = Ident::new("codec", ok.first.resolved_at(mixed));
            quote_spanned! {mixed=>
                #p::contract_of(
                    {
                        use #p::{ByReference as _, ByValue as _};
                        #p::answer_named::<#answer>().#codec()
                    },
                    #lifts
                )
            }
        }
        _ => {
            let (writes, reads) = (assertion("writes", ok), assertion("reads", ok));
            quote_spanned!(mixed=> #p::contract(#writes, #reads, #lifts))
        }
    };
    if options.records_failures.given_as(true).is_some() {
        let failures = assertion("failures", err);
        contract.extend(quote_spanned!(mixed=> .recording(#failures)));
    }
    let present = (!types::has_impl_trait(plan.result)).then(|| {
        let (runtime, result) = (options.runtime(), plan.result);
        quote_spanned!(mixed=> <#result as #runtime::handler::HandlerResult>::Ok)
    });
    if let Some(versions) = versions::described(&options.versions, present.as_ref(), p) {
        contract.extend(quote_spanned!(mixed=> .versioned(#versions)));
    }
    contract
}

/// Generates the statements that identify the call and list the values that a retry must repeat.
fn request(options: &Options, plan: &Plan<'_>, p: &TokenStream) -> TokenStream {
    let mixed = Span::mixed_site();
    let key = match &plan.key {
        KeyValue::Parameter(name) => quote_spanned!(mixed=> &#name),
        KeyValue::Given(expr) => borrowed(expr, p),
        KeyValue::Natural(parts) => {
            let parts = parts.iter().map(|part| borrowed(part, p));
            quote_spanned!(mixed=> &#p::natural(&[#(#parts),*]))
        }
    };
    let underscored = match &plan.key {
        KeyValue::Parameter(name) => allowance(name),
        KeyValue::Given(_) | KeyValue::Natural(_) => None,
    };
    let mut request = quote_spanned!(mixed=> #underscored request.key(#key););
    if let Some(Operation::Computed(name)) = &options.operation.value {
        let name = borrowed(name, p);
        request.extend(quote_spanned!(mixed=> request.named(#name);));
    }
    if let Some(scope) = &options.scope.value {
        let scope = borrowed(scope, p);
        request.extend(quote_spanned!(mixed=> request.scope(#scope);));
    }
    if let Some(Fingerprint::Projection(projection)) = &options.fingerprint.value {
        let projection = borrowed(projection, p);
        request.extend(quote_spanned!(mixed=> request.projection(#projection);));
    }
    request.extend(plan.compared.iter().map(field));
    request
}

/// Generates `request.field("cmd", &cmd);`, with the value underlined at the parameter's type.
fn field(compared: &Compared<'_>) -> TokenStream {
    let Compared { name, ty, cfgs } = compared;
    let mixed = Span::mixed_site();
    let at = Ends::of(ty);
    let text = name.unraw().to_string();
    // Both tokens need the same syntax context, or they are not underlined as one.
    let mut value = (*name).clone();
    value.set_span(at.last.resolved_at(name.span()));
    let borrow = Token![&](at.first.resolved_at(name.span()));
    let underscored = allowance(name);
    quote_spanned!(mixed=> #(#cfgs)* #underscored request.field(#text, #borrow #value);)
}

/// Returns the lint allowance for a name that starts with `_` but is used by generated code.
fn allowance(name: &Ident) -> Option<TokenStream> {
    name.to_string()
        .starts_with('_')
        .then(|| quote_spanned!(Span::mixed_site()=> #[allow(clippy::used_underscore_binding)]))
}

/// Generates `&expr`, underlined like the expression.
///
/// A tuple holds references, so that naming `cmd.payee` in it does not move it out of `cmd`. `self`
/// is dereferenced, so the value is the same for every kind of receiver.
fn borrowed(expr: &Expr, p: &TokenStream) -> TokenStream {
    let borrow = Token![&](Ends::of(expr).first);
    let operand = match expr {
        Expr::Group(group) => return borrowed(&group.expr, p),
        Expr::Path(path) if path.path.is_ident("self") => {
            let open = Ends::of(expr).open(&quote!(#p::receiver::<Self>));
            return quote!(#open(#borrow #expr));
        }
        Expr::Path(_) | Expr::Field(_) | Expr::MethodCall(_) | Expr::Call(_) => {
            expr.to_token_stream()
        }
        Expr::Tuple(tuple) => {
            let parts = tuple.elems.iter().map(|part| borrowed(part, p));
            quote_spanned!(tuple.paren_token.span.join()=> (#(#parts,)*))
        }
        _ => quote_spanned!(borrow.span=> (#expr)),
    };
    quote!(#borrow #operand)
}

/// Generates a `return` that is never taken. It gives the async block its type, so that a type
/// mismatch is reported at the user's expression and coercions work there.
pub(crate) fn anchor(result: &Type, p: &TokenStream) -> TokenStream {
    // rustc reports a mismatch as "expected because of this" at this expression.
    let never = Ends::of(result).open(&quote!(never));
    quote_spanned! {Span::mixed_site()=>
        if let #p::Some(#never) = #p::None::<#result> {
            return #never;
        }
    }
}

/// Generates the statement that binds the transaction to the user's pattern for the body.
pub(crate) fn binding(
    model: &Model<'_>,
    ty: Option<&Type>,
    value: &TokenStream,
) -> Option<TokenStream> {
    let First { typed, .. } = model.first.as_ref()?;
    let mixed = Span::mixed_site();
    let others = typed
        .attrs
        .iter()
        .filter(|attr| !attr.path().is_ident("cfg"));
    if let Pat::Wild(_) = *typed.pat {
        return Some(quote_spanned!(mixed=> #value;));
    }
    let pat = &typed.pat;
    let ty = ty.map(|ty| quote_spanned!(mixed=> : #ty));
    // The user has written one binding, not two.
    Some(
        quote_spanned!(mixed=> #(#others)* #[allow(clippy::shadow_unrelated)] let #pat #ty = #value;),
    )
}

/// Returns the user's body in braces.
///
/// The braces belong to the macro, so that no lint takes them for the user's. They carry the span
/// of the user's braces, so that a missing tail expression is underlined there.
pub(crate) fn user_block(item: &Item) -> Group {
    let mut block = item.body.clone();
    block.set_span(item.body.span().resolved_at(Span::mixed_site()));
    block
}
