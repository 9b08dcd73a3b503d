//! The key in a request's headers.
//!
//! 1. `Idempotency-Key` is read; only where it is absent, the older `X-Idempotency-Key`. If both
//!    are there they must mean one key.
//! 2. The value is a String of RFC 8941, section 3.3.3: `"8e03978e-40d5"`. Its quotes are not part
//!    of the key; parameters after it are ignored, as the RFC asks of unknown ones.
//! 3. With [`Syntax::Lenient`], the default, a bare value is read too, because most clients send
//!    it: `8e03978e-40d5` is the same key. It is visible ASCII without `"`, `,`, `;` and `\`, which
//!    would make it a list, a parameter or half a string.
//!    Under [`Syntax::Strict`] the older name is not read, and a request that has only that one is refused
//!    also where no key is required: whoever sent it takes the request for protected.
//! 4. Several lines of one header are refused, unless (lenient) they mean one key. A proxy may have
//!    joined them with commas (RFC 9110, section 5.3): `k, k`, of two equal lines, is the key `k`, and
//!    `a, b` is refused as two lines are.
//! 5. Then the rules of [`IdempotencyKey`]: 1 to 255 characters, trimmed, no control characters.
//!    Present but empty is refused: somebody meant to send a key.
//!
//! [`Syntax::pattern`] says all of this of one value as a regular expression.

mod string;
#[cfg(test)]
mod tests;

use crate::values::error::{Field, Invalid, Reason};
use crate::values::key::IdempotencyKey;

/// `Idempotency-Key`, by the IETF draft.
pub const IDEMPOTENCY_KEY: &str = "idempotency-key";

/// `X-Idempotency-Key`, in use before the draft.
pub const X_IDEMPOTENCY_KEY: &str = "x-idempotency-key";

/// `Idempotent-Replayed`: `true` on a response that an earlier request made.
pub const IDEMPOTENT_REPLAYED: &str = "idempotent-replayed";

/// How strictly the header's syntax is read.
///
/// With the feature `axum-core`, the extractor of a key follows the one in the request's extensions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Syntax {
    /// A String of RFC 8941, or a bare value.
    #[default]
    Lenient,
    /// A String of RFC 8941, on one line, in `Idempotency-Key`.
    Strict,
}

impl Syntax {
    /// Returns a regular expression (ECMA-262) that matches exactly those values of one header line that
    /// are accepted, without the white space around them, for the `pattern` of a schema.
    ///
    /// ```
    /// use idem_runtime::http::Syntax;
    ///
    /// assert!(Syntax::Lenient.pattern().starts_with("^("));
    /// ```
    pub const fn pattern(self) -> &'static str {
        match self {
            Self::Lenient => string::LENIENT,
            Self::Strict => string::STRICT,
        }
    }
}

/// Returns the key that a request's headers hold, if any.
///
/// `lines` gives the values of all lines of one header, in their order. It is asked by the names above, in lower
/// case.
///
/// ```
/// use idem_runtime::http::Syntax;
/// use idem_runtime::http::header::{self, IDEMPOTENCY_KEY, X_IDEMPOTENCY_KEY};
///
/// let quoted = [(IDEMPOTENCY_KEY, r#""8e03978e-40d5""#)];
/// let bare = [(X_IDEMPOTENCY_KEY, "8e03978e-40d5")];
/// let key = |headers: &[(&str, &'static str)], syntax| {
///     let lines = |name| headers.iter().filter(move |line| line.0 == name).map(|line| line.1.as_bytes());
///     header::key(lines, syntax)
/// };
///
/// let strict = key(&quoted, Syntax::Strict)?.expect("a key");
/// assert_eq!(strict.as_str(), "8e03978e-40d5");
/// assert_eq!(key(&bare, Syntax::Lenient)?, Some(strict));
/// # Ok::<_, idem_runtime::error::Invalid>(())
/// ```
///
/// # Errors
/// [`Invalid`], naming [`Field::Header`] for the header's syntax and [`Field::Key`] for what stands
/// in it.
pub fn key<'h, L>(
    lines: impl Fn(&'static str) -> L,
    syntax: Syntax,
) -> Result<Option<IdempotencyKey>, Invalid>
where
    L: IntoIterator<Item = &'h [u8]>,
{
    let names: &[&'static str] = match syntax {
        Syntax::Lenient => &[IDEMPOTENCY_KEY, X_IDEMPOTENCY_KEY],
        Syntax::Strict => &[IDEMPOTENCY_KEY],
    };
    let mut found: Option<(&'static str, IdempotencyKey)> = None;
    for &name in names {
        for line in lines(name) {
            let read = read_line(name, line, syntax)?;
            match &found {
                None => found = Some((name, read)),
                Some((_, key)) if *key == read && syntax == Syntax::Lenient => {}
                Some((first, _)) if *first == name => return Err(refused(name, Reason::Repeated)),
                Some((first, _)) => {
                    let other = spelling(first);
                    return Err(refused(name, Reason::Differs { other }));
                }
            }
        }
    }
    Ok(found.map(|(_, key)| key))
}

/// Returns whether a request in which [`key`] found none has one under a name that was not read
/// (`X-Idempotency-Key`, under [`Syntax::Strict`]). `lines` is that of [`key`].
///
/// Whoever sent it takes the request for protected: refuse it with
/// [`Error::KeyMissing`](crate::Error::KeyMissing), also where no key is required.
pub fn has_unread<'h, L>(lines: impl Fn(&'static str) -> L) -> bool
where
    L: IntoIterator<Item = &'h [u8]>,
{
    lines(X_IDEMPOTENCY_KEY).into_iter().next().is_some()
}

/// The key of one line.
fn read_line(name: &'static str, line: &[u8], syntax: Syntax) -> Result<IdempotencyKey, Invalid> {
    let mut values = string::members(line);
    let first = values.next().unwrap_or_default();
    let key = read(name, first, syntax)?;
    for other in values {
        read(name, other, syntax)?;
        if syntax == Syntax::Strict || other != first {
            return Err(refused(name, Reason::Repeated));
        }
    }
    Ok(key)
}

/// The key of one value.
fn read(name: &'static str, bytes: &[u8], syntax: Syntax) -> Result<IdempotencyKey, Invalid> {
    if bytes.is_empty() {
        return Err(Invalid::new(Field::Key, Reason::Empty));
    }
    if syntax == Syntax::Strict || bytes.starts_with(b"\"") {
        let text = string::unquoted(bytes);
        return text
            .ok_or_else(|| refused(name, Reason::NotString))?
            .parse();
    }
    bare(name, bytes)?.parse()
}

/// A bare value, as it is.
fn bare<'a>(name: &'static str, bytes: &'a [u8]) -> Result<&'a str, Invalid> {
    let is_bare = |byte: u8| byte.is_ascii_graphic() && !matches!(byte, b'"' | b',' | b';' | b'\\');
    match bytes.iter().position(|&byte| !is_bare(byte)) {
        None => std::str::from_utf8(bytes).map_err(|_| refused(name, Reason::NotString)),
        Some(index) if bytes[index].is_ascii() => Err(refused(
            name,
            Reason::Character {
                found: char::from(bytes[index]),
                index,
                allowed: "visible ASCII characters other than `\"`, `,`, `;` and `\\`, or a string in double quotes",
            },
        )),
        // What it stands for depends on an encoding that HTTP does not name.
        Some(_) => Err(refused(name, Reason::NotString)),
    }
}

fn refused(name: &'static str, reason: Reason) -> Invalid {
    Invalid::new(Field::Header(spelling(name)), reason)
}

/// The name as the draft writes it.
fn spelling(name: &str) -> &'static str {
    if name == IDEMPOTENCY_KEY {
        "Idempotency-Key"
    } else {
        "X-Idempotency-Key"
    }
}
