//! The options about the versions of what is recorded, of the attribute and of the derive.

use proc_macro2::{Group, TokenTree};
use syn::parse::discouraged::Speculative as _;
use syn::parse::{ParseStream, Parser as _};
use syn::punctuated::Punctuated;
use syn::{LitInt, LitStr, Path, Token, token};

use super::Slot;
use super::value::{Argument, expected};
use crate::diagnostic::{Code, fault};

/// What a build reads and writes.
#[derive(Default)]
pub(crate) struct Versions {
    pub(crate) version: Slot<u16>,
    pub(crate) upcast: Slot<Upcast>,
    /// The version that is written; the present one if it is not given.
    pub(crate) written: Slot<u16>,
    /// The function that converts the present type to the version that is written.
    pub(crate) downcast: Slot<Path>,
}

/// How older versions are read.
pub(crate) enum Upcast {
    /// `upcast = off`: they are refused.
    Off,
    /// A function for each of the last versions, the oldest first. Each returns what the next takes.
    Steps(Vec<Path>),
}

impl Upcast {
    pub(crate) fn steps(&self) -> &[Path] {
        match self {
            Self::Off => &[],
            Self::Steps(steps) => steps,
        }
    }
}

/// Reads a version: a whole number of at least 1.
pub(crate) fn version(at: &Argument<'_>) -> syn::Result<u16> {
    at.assignment()?;
    let next = at.input.fork().parse::<TokenTree>()?;
    let written = |help: &str| {
        fault(
            Code::Version,
            &next,
            format_args!(
                "`{}` is a whole number from 1 to 65535\nhelp: {help}",
                at.name
            ),
        )
    };
    if at.input.peek(LitInt) {
        let literal: LitInt = at.input.parse()?;
        return match literal.base10_parse::<u16>() {
            Ok(0) => Err(written("the first version of a result is 1")),
            Ok(version) => Ok(version),
            Err(_) => Err(written(&format!("write `{}`", at.example))),
        };
    }
    if let Ok(text) = at.input.fork().parse::<LitStr>()
        && let Ok(version) = text.value().parse::<u16>()
    {
        return Err(written(&format!(
            "write it without quotes: `{} = {version}`",
            at.name
        )));
    }
    Err(written(&format!("write `{}`", at.example)))
}

/// Reads the path of a function, which may have generic arguments: `downcast = Payment::<T>::to_first`.
pub(crate) fn function(at: &Argument<'_>) -> syn::Result<Path> {
    at.assignment()?;
    let ahead = at.input.fork();
    let path = ahead.parse().map_err(|_| at.misformed())?;
    at.input.advance_to(&ahead);
    Ok(path)
}

/// Reads `upcast = path`, `upcast = off`, or `upcast(path, path)`.
pub(crate) fn upcast(at: &Argument<'_>) -> syn::Result<Upcast> {
    if !at.input.peek(token::Paren) {
        let path = function(at)?;
        return Ok(if path.is_ident("off") {
            Upcast::Off
        } else {
            Upcast::Steps(vec![path])
        });
    }
    let group: Group = at.input.parse()?;
    let list = |input: ParseStream| {
        Punctuated::<Path, Token![,]>::parse_terminated_with(input, |input| {
            let ahead = input.fork();
            let path = ahead
                .parse()
                .map_err(|_| expected(input, "the path of a function"))?;
            input.advance_to(&ahead);
            Ok(path)
        })
    };
    let steps = list.parse2(group.stream())?;
    if steps.is_empty() {
        return Err(at.misformed());
    }
    Ok(Upcast::Steps(steps.into_iter().collect()))
}
