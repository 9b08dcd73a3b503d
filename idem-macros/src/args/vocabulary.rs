//! The options of one attribute, and the parser for a list of them.

use proc_macro2::{TokenStream, TokenTree};
use syn::ext::IdentExt as _;
use syn::parse::{ParseStream, Parser as _};
use syn::{Ident, Token};

use super::value::{self, Argument};
use crate::diagnostic::{Code, Faults, fault};
use crate::nearest;

/// The options that an attribute accepts, and the words that people write instead.
pub(crate) struct Vocabulary {
    /// The attribute's name in messages.
    pub(crate) attribute: &'static str,
    /// Every option, with an example of its syntax.
    pub(crate) options: &'static [(&'static str, &'static str)],
    /// The words of other libraries for our options.
    pub(crate) synonyms: &'static [(&'static str, &'static str)],
}

impl Vocabulary {
    /// Reads the arguments. Faults go to `faults`; the arguments after a faulty one are still read.
    ///
    /// Calls `option` to read the value of each option whose name was read. Returns whether every
    /// argument could be assigned to an option; if not, a missing option may be the unreadable
    /// argument.
    pub(crate) fn read(
        &self,
        arguments: TokenStream,
        faults: &mut Faults,
        mut option: impl FnMut(&Argument<'_>, &str) -> syn::Result<()>,
    ) -> bool {
        let mut sure = true;
        let list = |input: ParseStream| {
            while !input.is_empty() {
                if let Err(error) = self.argument(input, &mut sure, &mut option) {
                    faults.absorb(error);
                    self.resynchronise(input);
                }
                if !input.is_empty() {
                    input.parse::<Token![,]>()?;
                }
            }
            Ok(())
        };
        if let Err(error) = list.parse2(arguments) {
            faults.absorb(error);
            return false;
        }
        sure
    }

    /// Reads one argument, up to the comma after it.
    fn argument(
        &self,
        input: ParseStream,
        sure: &mut bool,
        option: &mut impl FnMut(&Argument<'_>, &str) -> syn::Result<()>,
    ) -> syn::Result<()> {
        let Ok(name) = Ident::parse_any(input) else {
            *sure = false;
            let (_, example) = self.options[0];
            return Err(value::expected(
                input,
                &format!("the name of an option, such as `{example}`"),
            ));
        };
        let text = name.to_string();
        let Some(example) = self.example(&text) else {
            *sure = false;
            return Err(self.unknown(&name, &text));
        };
        let at = Argument {
            name: &name,
            example,
            input,
        };
        option(&at, &text)?;
        if input.is_empty() || input.peek(Token![,]) {
            return Ok(());
        }
        Err(value::expected(input, "`,` before the next option"))
    }

    /// Skips to the next comma that an option follows, or to the end.
    ///
    /// Commas inside a broken expression would otherwise produce further errors for the same fault.
    fn resynchronise(&self, input: ParseStream) {
        while !input.is_empty() && !self.at_next_option(input) {
            // Cannot fail: the input is not empty.
            let _ = input.parse::<TokenTree>();
        }
    }

    fn at_next_option(&self, input: ParseStream) -> bool {
        let ahead = input.fork();
        if ahead.parse::<Token![,]>().is_err() {
            return false;
        }
        ahead.is_empty()
            || Ident::parse_any(&ahead).is_ok_and(|name| {
                self.example(&name.to_string()).is_some()
                    || ahead.is_empty()
                    || ahead.peek(Token![=])
            })
    }

    fn example(&self, name: &str) -> Option<&'static str> {
        self.options
            .iter()
            .find_map(|(known, example)| (*known == name).then_some(*example))
    }

    fn unknown(&self, name: &Ident, text: &str) -> syn::Error {
        let known = self.options.iter().map(|(known, _)| *known);
        let synonym = self
            .synonyms
            .iter()
            .find_map(|(word, option)| (*word == text).then_some(*option));
        let help = synonym
            .or_else(|| nearest::nearest(text, known.clone()))
            .and_then(|option| self.example(option))
            .map_or_else(
                || format!("the options are {}", known.collect::<Vec<_>>().join(", ")),
                |example| format!("did you mean `{example}`?"),
            );
        fault(
            Code::UnknownOption,
            name,
            format_args!(
                "`{text}` is not an option of `#[{}]`\nhelp: {help}",
                self.attribute
            ),
        )
    }
}
