//! Faults: each has a stable code, and all independent faults are reported together.

use std::fmt::{self, Display};

use proc_macro2::TokenStream;
use quote::ToTokens;

/// The kind of a fault, as a number that stays the same while the wording improves.
///
/// 1 to 20 concern the function, 21 to 39 the attribute's arguments, 41 to 59 the derive. From 61 on the compiler reports
/// a type; the runtime crate has the text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Code {
    NotAsync = 1,
    NoReturnType = 2,
    NotAResult = 3,
    BorrowedResult = 4,
    NoTransaction = 5,
    StaticTransaction = 6,
    NoKey = 7,
    TwoKeys = 8,
    Qualifier = 9,
    AsyncTrait = 10,
    CachingAttribute = 11,
    NotAFunction = 12,
    LeasedWithoutAttempt = 13,
    LeasedBorrow = 14,
    MethodWithoutOperation = 15,
    UncomparedReceiver = 16,
    UncomparedGeneric = 17,
    UnorderedSet = 18,
    WebAnswer = 19,
    WebHandler = 20,

    UnknownOption = 21,
    DuplicateOption = 22,
    Form = 23,
    UnknownValue = 24,
    NoNamespace = 25,
    Namespace = 26,
    OperationName = 27,
    TableName = 28,
    Duration = 29,
    Skip = 30,
    Contradiction = 31,
    Constant = 32,
    Marker = 33,
    Size = 34,
    Review = 35,
    Version = 36,

    NotAnEnum = 41,
    ReplayedVariant = 42,
    ReplayedShape = 43,
    DatabaseFailure = 44,
    DuplicateClass = 45,
    Class = 46,
    Misplaced = 47,
    NothingPermanent = 48,
    BorrowedField = 49,

    #[expect(dead_code, reason = "the runtime crate has its text")]
    OtherTransaction = 61,
    #[expect(dead_code, reason = "the runtime crate has its text")]
    PoolParameter = 62,
    #[expect(dead_code, reason = "the runtime crate has its text")]
    ForeignFailure = 63,
}

impl Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "IDEM{:03}", *self as u8)
    }
}

/// Builds one fault that underlines `at` from its first token to its last.
///
/// If `at` has no tokens, the fault underlines the attribute.
pub(crate) fn fault(code: Code, at: impl ToTokens, message: impl Display) -> syn::Error {
    syn::Error::new_spanned(at, format_args!("[{code}] {message}"))
}

/// The faults of one item, in the order in which they were found.
#[derive(Default)]
pub(crate) struct Faults(Option<syn::Error>);

impl Faults {
    pub(crate) fn push(&mut self, code: Code, at: impl ToTokens, message: impl Display) {
        self.absorb(fault(code, at, message));
    }

    pub(crate) fn absorb(&mut self, error: syn::Error) {
        match &mut self.0 {
            Some(first) => first.combine(error),
            none => *none = Some(error),
        }
    }

    /// Returns the faults as `compile_error!` items, or `None` if there are none.
    pub(crate) fn into_tokens(self) -> Option<TokenStream> {
        self.0.map(|error| error.to_compile_error())
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn every_code_is_in_the_documentation_and_no_other() {
        let codes = |text: &'static str, of: fn(&str) -> Option<String>| {
            text.lines().filter_map(of).collect::<Vec<String>>()
        };
        let declared = codes(include_str!("diagnostic.rs"), |line| {
            let (name, number) = line.strip_suffix(',')?.split_once(" = ")?;
            let number: u8 = number.parse().ok()?;
            (!name.contains('"')).then(|| format!("IDEM{number:03}"))
        });
        let documented = codes(include_str!("codes.md"), |line| {
            Some(line.strip_prefix("| `IDEM")?.split_once('`')?.0)
                .map(|number| format!("IDEM{number}"))
        });
        assert_eq!(declared.len(), 48);
        assert_eq!(declared, documented);
    }
}
