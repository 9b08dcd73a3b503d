//! The forms that an option's value can take.

use proc_macro2::{Group, TokenTree};
use syn::ext::IdentExt as _;
use syn::parse::discouraged::Speculative as _;
use syn::parse::{Parse, ParseStream, Parser as _};
use syn::punctuated::Punctuated;
use syn::{Expr, ExprLit, Ident, Lit, LitBool, LitStr, Path, Token, token};

use crate::diagnostic::{Code, fault};
use crate::{literal, nearest};

/// An option whose name has been read and whose value comes next.
pub(crate) struct Argument<'i> {
    pub(crate) name: &'i Ident,
    pub(crate) example: &'static str,
    pub(crate) input: ParseStream<'i>,
}

/// Where the key comes from.
pub(crate) enum KeyOption {
    /// `key = expr`: the value is a key.
    Given(Expr),
    /// `key = natural(a, b)`: the key is derived from its parts.
    Natural(Vec<Expr>),
}

/// The operation's name.
pub(crate) enum Operation {
    /// `operation = "name"`: the name is part of the constant description.
    Literal(LitStr),
    /// `operation = expr`: the name is evaluated at each call.
    Computed(Expr),
}

/// The value that is compared in place of all parameters.
pub(crate) enum Fingerprint {
    Off,
    Projection(Expr),
}

/// Returns the error for input that continues with something other than `what`.
pub(crate) fn expected(input: ParseStream, what: &str) -> syn::Error {
    let next = input.fork().parse::<TokenTree>().ok();
    fault(Code::Form, next, format_args!("expected {what}"))
}

impl Argument<'_> {
    pub(super) fn misformed(&self) -> syn::Error {
        fault(
            Code::Form,
            self.name,
            format_args!("`{}` is written `{}`", self.name, self.example),
        )
    }

    /// Reads the `=` and checks that something follows it.
    pub(super) fn assignment(&self) -> syn::Result<()> {
        if self.input.parse::<Option<Token![=]>>()?.is_none() || self.next_is_missing() {
            return Err(self.misformed());
        }
        Ok(())
    }

    fn next_is_missing(&self) -> bool {
        self.input.is_empty() || self.input.peek(Token![,])
    }

    /// Reads a value with syn. The error shows how the option is written.
    fn parsed<T: Parse>(&self) -> syn::Result<T> {
        self.assignment()?;
        // Parses ahead of the input, so that tokens left over inside a group are not a second
        // error.
        let ahead = self.input.fork();
        let value = ahead.parse().map_err(|error| {
            let shown = format!("{error}: `{}` is written `{}`", self.name, self.example);
            syn::Error::new(error.span(), format_args!("[{}] {shown}", Code::Form))
        })?;
        self.input.advance_to(&ahead);
        Ok(value)
    }

    fn text(&self) -> syn::Result<LitStr> {
        self.text_or(str::to_owned)
    }

    /// Reads a string literal. In place of a number, `quoted` says what to put in quotes.
    fn text_or(&self, quoted: impl FnOnce(&str) -> String) -> syn::Result<LitStr> {
        self.assignment()?;
        if self.input.peek(LitStr) {
            return self.input.parse();
        }
        let next = self.input.fork().parse::<TokenTree>()?;
        let help = match &next {
            TokenTree::Literal(number)
                if number.to_string().starts_with(|c: char| c.is_ascii_digit()) =>
            {
                let number = quoted(&number.to_string());
                format!("put it in quotes: `{} = \"{number}\"`", self.name)
            }
            TokenTree::Ident(word) if word.to_string().chars().all(|c| !c.is_uppercase()) => {
                format!("put it in quotes: `{} = \"{word}\"`", self.name)
            }
            TokenTree::Ident(_) => format!(
                "the value is checked at compile time, so it cannot be a constant: write `{}`",
                self.example
            ),
            _ => format!("write `{}`", self.example),
        };
        Err(fault(
            Code::Form,
            &next,
            format_args!("`{}` takes a string literal\nhelp: {help}", self.name),
        ))
    }
}

/// Reads a string literal and checks it against a rule.
pub(crate) fn checked(
    rule: fn(&LitStr) -> syn::Result<String>,
) -> impl FnOnce(&Argument<'_>) -> syn::Result<LitStr> {
    move |at| {
        let literal = at.text()?;
        rule(&literal)?;
        Ok(literal)
    }
}

/// Reads `"name"`, or an expression that evaluates to one.
pub(crate) fn operation(at: &Argument<'_>) -> syn::Result<Operation> {
    let number = |ahead: ParseStream| ahead.peek(Lit) && !ahead.peek(LitStr);
    let ahead = at.input.fork();
    if ahead.parse::<Option<Token![=]>>()?.is_some() && number(&ahead) {
        return checked(literal::operation)(at).map(Operation::Literal);
    }
    let expr: Expr = at.parsed()?;
    match bare(&expr) {
        Expr::Lit(ExprLit {
            lit: Lit::Str(text),
            ..
        }) => {
            literal::operation(text)?;
            Ok(Operation::Literal(text.clone()))
        }
        _ => Ok(Operation::Computed(expr)),
    }
}

pub(crate) fn duration(limit: u64) -> impl FnOnce(&Argument<'_>) -> syn::Result<u64> {
    let with_unit = |number: &str| match number.parse::<u64>() {
        Ok(_) => format!("{number}s"),
        Err(_) => number.to_owned(),
    };
    move |at| literal::duration(&at.name.to_string(), &at.text_or(with_unit)?, limit)
}

pub(crate) fn size(limit: u64) -> impl FnOnce(&Argument<'_>) -> syn::Result<u64> {
    let with_unit = |number: &str| match number.parse::<u64>() {
        Ok(_) => format!("{number}B"),
        Err(_) => number.to_owned(),
    };
    move |at| literal::size(&at.name.to_string(), &at.text_or(with_unit)?, limit)
}

/// Reads one of a few words.
pub(crate) fn choice<const N: usize>(
    choices: [(&'static str, bool); N],
) -> impl FnOnce(&Argument<'_>) -> syn::Result<bool> {
    move |at| {
        let literal = at.text()?;
        let text = literal.value();
        if let Some((_, value)) = choices.iter().find(|(word, _)| *word == text) {
            return Ok(*value);
        }
        let words = choices.map(|(word, _)| word);
        let help = match nearest::nearest(&text, words) {
            Some(word) => format!("did you mean `{} = \"{word}\"`?", at.name),
            None => format!("write `{} = \"{}\"`", at.name, words.join("\"` or `\"")),
        };
        Err(fault(
            Code::UnknownValue,
            &literal,
            format_args!("`{}` cannot be {text:?}\nhelp: {help}", at.name),
        ))
    }
}

pub(crate) fn boolean(at: &Argument<'_>) -> syn::Result<bool> {
    at.assignment()?;
    if at.input.peek(LitBool) {
        return Ok(at.input.parse::<LitBool>()?.value);
    }
    Err(at.misformed())
}

/// Reads `name` or `name = true`.
pub(crate) fn flag(at: &Argument<'_>) -> syn::Result<bool> {
    if at.next_is_missing() {
        Ok(true)
    } else {
        boolean(at)
    }
}

/// Reads `name` and checks that nothing follows it.
pub(crate) fn word(at: &Argument<'_>) -> syn::Result<()> {
    if at.next_is_missing() {
        Ok(())
    } else {
        Err(at.misformed())
    }
}

/// Reads `option = Name`.
pub(crate) fn name(at: &Argument<'_>) -> syn::Result<Ident> {
    at.assignment()?;
    at.input.parse().map_err(|_| at.misformed())
}

/// Reads `name(a, b)`.
pub(crate) fn names(at: &Argument<'_>) -> syn::Result<Vec<Ident>> {
    if !at.input.peek(token::Paren) {
        return Err(at.misformed());
    }
    let group: Group = at.input.parse()?;
    let name = |input: ParseStream| {
        let name = Ident::parse_any(input).map_err(|_| expected(input, "a parameter's name"))?;
        if input.is_empty() || input.peek(Token![,]) {
            return Ok(name);
        }
        Err(expected(
            input,
            "`,`\nhelp: `skip` takes the names of whole parameters; to compare parts of one, write `fingerprint = (cmd.a, cmd.b)`",
        ))
    };
    let list =
        |input: ParseStream| Punctuated::<Ident, Token![,]>::parse_terminated_with(input, name);
    let names = list.parse2(group.stream())?;
    if names.is_empty() {
        return Err(at.misformed());
    }
    Ok(names.into_iter().collect())
}

/// Reads `allow(pool)`.
pub(crate) fn allowed(at: &Argument<'_>) -> syn::Result<bool> {
    match names(at)?.iter().find(|name| **name != "pool") {
        Some(other) => Err(fault(
            Code::UnknownValue,
            other,
            format_args!(
                "`{}` cannot be given `{other}`\nhelp: write `{}`",
                at.name, at.example
            ),
        )),
        None => Ok(true),
    }
}

pub(crate) fn scope(at: &Argument<'_>) -> syn::Result<Expr> {
    let expr: Expr = at.parsed()?;
    if is_literal(&expr) {
        return Err(fault(
            Code::Constant,
            &expr,
            "a literal is the same scope for every caller\nhelp: name a parameter or a part of one, without quotes: `scope = cmd.tenant`; for one scope on purpose, `scope = Scope::GLOBAL`",
        ));
    }
    Ok(expr)
}

pub(crate) fn key(at: &Argument<'_>) -> syn::Result<KeyOption> {
    let expr: Expr = at.parsed()?;
    if is_literal(&expr) {
        return Err(fault(
            Code::Constant,
            &expr,
            "a literal is the same key for every call\nhelp: name a parameter or a part of one, without quotes: `key = cmd.request_id, scope = cmd.tenant`",
        ));
    }
    match bare(&expr) {
        Expr::Call(call) if is_word(&call.func, "natural") => {
            if call.args.is_empty() {
                return Err(fault(
                    Code::Form,
                    call,
                    "a natural key needs at least one part: `key = natural(cmd.tenant, cmd.order)`",
                ));
            }
            Ok(KeyOption::Natural(call.args.iter().cloned().collect()))
        }
        _ => Ok(KeyOption::Given(expr)),
    }
}

pub(crate) fn fingerprint(at: &Argument<'_>) -> syn::Result<Fingerprint> {
    let expr: Expr = at.parsed()?;
    if is_literal(&expr) {
        return Err(fault(
            Code::Constant,
            &expr,
            "a literal is the same for every request, so nothing would be compared\nhelp: write `fingerprint = (cmd.amount, cmd.payee)`, or `fingerprint = off` if that is intended",
        ));
    }
    if is_word(&expr, "off") {
        return Ok(Fingerprint::Off);
    }
    Ok(Fingerprint::Projection(expr))
}

pub(crate) fn path(at: &Argument<'_>) -> syn::Result<Path> {
    at.assignment()?;
    at.input
        .call(Path::parse_mod_style)
        .map_err(|_| at.misformed())
}

/// Returns the expression inside invisible groups and parentheses.
pub(crate) fn bare(expr: &Expr) -> &Expr {
    match expr {
        Expr::Group(group) => bare(&group.expr),
        Expr::Paren(paren) => bare(&paren.expr),
        other => other,
    }
}

fn is_literal(expr: &Expr) -> bool {
    match bare(expr) {
        Expr::Lit(_) => true,
        Expr::Reference(reference) => is_literal(&reference.expr),
        _ => false,
    }
}

fn is_word(expr: &Expr, word: &str) -> bool {
    matches!(expr, Expr::Path(path) if path.path.is_ident(word))
}
