//! The parts of the signature: the transaction, the parameters, the result.

use proc_macro2::TokenStream;
use quote::ToTokens as _;
use syn::ext::IdentExt as _;
use syn::{
    Attribute, FnArg, GenericParam, Ident, Pat, PatType, Receiver, ReturnType, Signature, Type,
    TypeReference,
};

use crate::pattern;
use crate::types::{self, KeyShape};
use crate::web;

pub(crate) struct Model<'i> {
    /// `self`, in any form.
    pub(crate) receiver: Option<&'i Receiver>,
    /// The names of the type and const parameters.
    pub(crate) generics: Vec<&'i Ident>,
    /// The first parameter after `self`.
    pub(crate) first: Option<First<'i>>,
    /// The parameters after the first.
    pub(crate) rest: Vec<Param<'i>>,
    pub(crate) output: Output<'i>,
}

/// The parameter that must be the transaction.
pub(crate) struct First<'i> {
    /// Its index in the signature.
    pub(crate) index: usize,
    pub(crate) typed: &'i PatType,
    /// The reference, if it is a mutable one.
    pub(crate) reference: Option<&'i TypeReference>,
}

/// A parameter that the handler keeps as written.
pub(crate) struct Param<'i> {
    pub(crate) typed: &'i PatType,
    pub(crate) names: Vec<&'i Ident>,
    /// Set if the type is the library's key.
    pub(crate) key: Option<KeyShape>,
}

/// The return type, as far as its spelling tells.
pub(crate) enum Output<'i> {
    /// There is no arrow.
    Missing,
    /// Spelled `Result<T, ..>`.
    Result {
        ty: &'i Type,
        ok: &'i Type,
        err: Option<&'i Type>,
    },
    /// Possibly an alias of `Result`; the trait bound decides.
    Alias(&'i Type),
    /// Certainly not a `Result`.
    Other(&'i Type),
}

impl<'i> Model<'i> {
    pub(crate) fn read(sig: &'i Signature) -> Self {
        let mut params = sig
            .inputs
            .iter()
            .enumerate()
            .filter_map(|(index, input)| match input {
                FnArg::Typed(typed) => Some((index, typed)),
                FnArg::Receiver(_) => None,
            });
        let first = params.next().map(|(index, typed)| First {
            index,
            typed,
            reference: match types::bare(&typed.ty) {
                Type::Reference(reference) if reference.mutability.is_some() => Some(reference),
                _ => None,
            },
        });
        let rest = params
            .map(|(_, typed)| Param {
                typed,
                names: pattern::names(&typed.pat),
                key: types::key_shape(&typed.ty),
            })
            .collect();
        let receiver = match sig.inputs.first() {
            Some(FnArg::Receiver(receiver)) => Some(receiver),
            _ => None,
        };
        let generics = sig.generics.params.iter();
        let generics = generics.filter_map(|parameter| match parameter {
            GenericParam::Type(parameter) => Some(&parameter.ident),
            GenericParam::Const(parameter) => Some(&parameter.ident),
            GenericParam::Lifetime(_) => None,
        });
        Self {
            receiver,
            generics: generics.collect(),
            first,
            rest,
            output: Output::read(&sig.output),
        }
    }

    /// Returns every name that a parameter after the first binds.
    pub(crate) fn names(&self) -> impl Iterator<Item = &'i Ident> {
        self.rest
            .iter()
            .flat_map(|param| param.names.iter().copied())
    }
}

impl<'i> First<'i> {
    /// Returns the transaction's type, if the parameter is a mutable reference.
    pub(crate) fn transaction(&self) -> Option<&'i Type> {
        self.reference.map(|reference| &*reference.elem)
    }

    /// Returns the transaction's type, also if the parameter is not a mutable reference.
    pub(crate) fn meant(&self) -> Option<&'i Type> {
        self.transaction().or_else(|| {
            let inner = match types::bare(&self.typed.ty) {
                Type::Reference(reference) => types::bare(&reference.elem),
                other => other,
            };
            let name = types::name(inner)?;
            name.to_string().contains("Transaction").then_some(inner)
        })
    }
}

impl Param<'_> {
    /// Returns the parameter's name, if its pattern is a plain name.
    pub(crate) fn plain_name(&self) -> Option<&Ident> {
        match &*self.typed.pat {
            Pat::Ident(binding) if binding.subpat.is_none() => Some(&binding.ident),
            _ => None,
        }
    }
}

impl<'i> Output<'i> {
    fn read(output: &'i ReturnType) -> Self {
        let ReturnType::Type(_, ty) = output else {
            return Self::Missing;
        };
        let ty: &Type = ty;
        match types::bare(ty) {
            Type::Path(_) => {}
            Type::Macro(_) | Type::Verbatim(_) => return Self::Alias(ty),
            _ => return Self::Other(ty),
        }
        let Some(segment) = types::last_segment(ty) else {
            return Self::Other(ty);
        };
        let mut arguments = types::type_arguments(segment);
        match arguments.next() {
            Some(ok) if segment.ident == "Result" => Self::Result {
                ty,
                ok,
                err: arguments.next(),
            },
            _ if web::is_answer(ty) => Self::Other(ty),
            _ if NOT_RESULTS.iter().any(|name| segment.ident == name) => Self::Other(ty),
            _ => Self::Alias(ty),
        }
    }

    /// Returns the type as written, if it may be a `Result`.
    pub(crate) fn result(&self) -> Option<&'i Type> {
        match self {
            Self::Result { ty, .. } | Self::Alias(ty) => Some(ty),
            Self::Missing | Self::Other(_) => None,
        }
    }
}

/// The names of standard types that are never a `Result`.
const NOT_RESULTS: [&str; 26] = [
    "Option", "Vec", "String", "Box", "Arc", "Rc", "Cow", "HashMap", "BTreeMap", "str", "bool",
    "char", "u8", "u16", "u32", "u64", "u128", "usize", "i8", "i16", "i32", "i64", "i128", "isize",
    "f32", "f64",
];

/// Returns the `#[cfg]` attributes among `attrs`, which are repeated wherever the parameter is
/// used.
pub(crate) fn cfgs(attrs: &[Attribute]) -> Vec<&Attribute> {
    attrs
        .iter()
        .filter(|attr| attr.path().is_ident("cfg"))
        .collect()
}

/// Returns whether two names are the same; `r#type` equals `type`.
pub(crate) fn same(a: &Ident, b: &Ident) -> bool {
    a.unraw() == b.unraw()
}

/// Formats the tokens of a type for a message, as a person would write them.
pub(crate) fn shown(ty: &Type) -> String {
    spaced(&ty.to_token_stream())
}

/// Formats tokens without the spaces that the printer puts around punctuation.
pub(crate) fn spaced(tokens: &TokenStream) -> String {
    let mut text = tokens.to_string();
    for (wide, tight) in [
        (" :: ", "::"),
        (" <", "<"),
        ("< ", "<"),
        (" >", ">"),
        (" ,", ","),
        ("& ", "&"),
        ("( ", "("),
        (" )", ")"),
    ] {
        text = text.replace(wide, tight);
    }
    text
}
