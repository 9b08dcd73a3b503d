//! The words in `#[failure(..)]`, on the enum and on each of its variants.

use proc_macro2::TokenStream;
use syn::{Attribute, DataEnum, DeriveInput, LitStr, Meta, Path, Variant};

use crate::args::{self, Argument, Slot, Versions, Vocabulary, value};
use crate::diagnostic::{Code, Faults, fault};
use crate::literal;

const VOCABULARY: Vocabulary = Vocabulary {
    attribute: "failure",
    options: &[
        ("permanent", "permanent"),
        ("class", "class = \"declined\""),
        ("database", "database"),
        ("replayed", "replayed"),
        ("version", "version = 2"),
        ("upcast", "upcast = upcast_failure"),
        ("write_version", "write_version = 1"),
        ("downcast", "downcast = downcast_failure"),
        ("crate", "crate = path::to::idem_runtime"),
    ],
    synonyms: &[
        ("result_version", "version"),
        ("tag", "class"),
        ("name", "class"),
        ("rename", "class"),
        ("code", "class"),
        ("record", "permanent"),
        ("recorded", "replayed"),
        ("other", "replayed"),
        ("unknown", "replayed"),
        ("catch_all", "replayed"),
    ],
};

/// The content of every `#[failure(..)]` of an enum.
pub(super) struct Attributes<'i> {
    /// `crate`, on the enum.
    pub(super) runtime: Slot<Path>,
    /// `version`, `upcast`, `write_version` and `downcast`, on the enum.
    pub(super) versions: Versions,
    pub(super) variants: Vec<Words<'i>>,
    /// Whether a word could not be read. A missing word may then be that one.
    pub(super) unsure: bool,
}

/// A variant and the words of its attribute.
pub(super) struct Words<'i> {
    pub(super) variant: &'i Variant,
    pub(super) permanent: Slot<()>,
    pub(super) class: Slot<LitStr>,
    pub(super) database: Slot<()>,
    pub(super) replayed: Slot<()>,
    /// Whether a word of this variant could not be read.
    pub(super) unsure: bool,
}

impl<'i> Attributes<'i> {
    pub(super) fn read(input: &'i DeriveInput, data: &'i DataEnum, faults: &mut Faults) -> Self {
        let mut this = Self {
            runtime: Slot::default(),
            versions: Versions::default(),
            variants: Vec::new(),
            unsure: false,
        };
        for arguments in arguments(&input.attrs, faults, &mut this.unsure) {
            let (runtime, versions) = (&mut this.runtime, &mut this.versions);
            let sure = VOCABULARY.read(arguments, faults, |at, name| match name {
                "crate" => runtime.set(at, value::path),
                "version" => versions.version.set(at, args::versions::version),
                "upcast" => versions.upcast.set(at, args::versions::upcast),
                "write_version" => versions.written.set(at, args::versions::version),
                "downcast" => versions.downcast.set(at, args::versions::function),
                _ => Err(misplaced(at, "goes on a variant")),
            });
            this.unsure |= !sure;
        }
        for variant in &data.variants {
            let mut words = Words::of(variant);
            let mut unsure = false;
            for arguments in arguments(&variant.attrs, faults, &mut unsure) {
                unsure |= !VOCABULARY.read(arguments, faults, |at, name| words.word(at, name));
            }
            words.unsure = unsure;
            this.unsure |= unsure;
            for attr in variant.fields.iter().flat_map(|field| ours(&field.attrs)) {
                faults.push(
                    Code::Misplaced,
                    attr.path(),
                    "`#[failure]` goes on a variant, not on a field: a permanent failure is recorded with all of them",
                );
            }
            this.variants.push(words);
        }
        this
    }
}

impl<'i> Words<'i> {
    fn of(variant: &'i Variant) -> Self {
        Self {
            variant,
            permanent: Slot::default(),
            class: Slot::default(),
            database: Slot::default(),
            replayed: Slot::default(),
            unsure: false,
        }
    }

    fn word(&mut self, at: &Argument<'_>, name: &str) -> syn::Result<()> {
        match name {
            "permanent" => self.permanent.set(at, value::word),
            "class" => self.class.set(at, value::checked(literal::class)),
            "database" => self.database.set(at, value::word),
            "replayed" => self.replayed.set(at, value::word),
            _ => Err(misplaced(at, "goes on the enum")),
        }
    }
}

fn misplaced(at: &Argument<'_>, location: &str) -> syn::Error {
    fault(
        Code::Misplaced,
        at.name,
        format_args!("`{}` {location}: move it there", at.name),
    )
}

fn ours(attrs: &[Attribute]) -> impl Iterator<Item = &Attribute> {
    attrs.iter().filter(|attr| attr.path().is_ident("failure"))
}

/// Returns the tokens between the parentheses of each `#[failure(..)]`.
fn arguments(attrs: &[Attribute], faults: &mut Faults, unsure: &mut bool) -> Vec<TokenStream> {
    let mut all = Vec::new();
    for attr in ours(attrs) {
        match &attr.meta {
            Meta::List(list) if !list.tokens.is_empty() => all.push(list.tokens.clone()),
            _ => {
                *unsure = true;
                faults.push(
                    Code::Form,
                    attr.path(),
                    "this attribute is empty: write `#[failure(permanent)]` or `#[failure(replayed)]`",
                );
            }
        }
    }
    all
}
