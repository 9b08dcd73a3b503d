//! Reads the key from a request's headers.
//!
//! 1. `Idempotency-Key` is read, or the older `X-Idempotency-Key` if it is absent. If both are present,
//!    they must hold the same key.
//! 2. The value is a String of RFC 8941, section 3.3.3: `"8e03978e-40d5"`. Its quotes are not part
//!    of the key; parameters after it are ignored, as the RFC requires for unknown ones.
//! 3. With [`Syntax::Lenient`], the default, an unquoted value is read too, because most clients send
//!    it: `8e03978e-40d5` is the same key. It is visible ASCII without `"`, `,`, `;` and `\`, which
//!    would make it a list, a parameter or half a string.
//!    With [`Syntax::Strict`] the older name is not read. A request that has only that one is refused even
//!    if no key is required, because its sender believes that it is protected.
//! 4. Several lines of one header are refused, unless (lenient) they hold the same key. A proxy may have
//!    joined them with commas (RFC 9110, section 5.3): `k, k`, of two equal lines, is the key `k`, and
//!    `a, b` is refused like two lines.
//! 5. Then the rules of [`IdempotencyKey`] apply: 1 to 255 characters, trimmed, no control characters.
//!    An empty value is refused, because its sender meant to send a key.
//!
//! [`Syntax::pattern`] expresses these rules for one value as a regular expression.

mod string;
#[cfg(test)]
mod tests;

use crate::values::error::{Field, Invalid, Reason};
use crate::values::key::IdempotencyKey;

/// `Idempotency-Key`, the name in the IETF draft.
pub const IDEMPOTENCY_KEY: &str = "idempotency-key";

/// `X-Idempotency-Key`, an older name.
pub const X_IDEMPOTENCY_KEY: &str = "x-idempotency-key";

/// `Idempotent-Replayed`: `true` on a response that is a replay.
pub const IDEMPOTENT_REPLAYED: &str = "idempotent-replayed";

/// How strictly the header's syntax is read.
///
/// With the feature `axum-core`, the extractor of a key uses the one in the request's extensions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Syntax {
    /// A String of RFC 8941, or an unquoted value.
    #[default]
    Lenient,
    /// A String of RFC 8941, on one line, in `Idempotency-Key`.
    Strict,
}

impl Syntax {
    /// Returns a regular expression (ECMA-262) for the `pattern` of a schema. It matches exactly the accepted
    /// values of one header line, without the white space around them.
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

/// Returns the key of a request's headers, or `None` if there is none.
///
/// `lines` returns the values of all lines of one header, in their order. It is called with the names above,
/// in lower case.
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
/// [`Invalid`] of [`Field::Header`] for the header's syntax, and of [`Field::Key`] for the key in
/// it.
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

/// Returns whether a request in which [`key`] found no key has one under a name that was not read
/// (`X-Idempotency-Key`, under [`Syntax::Strict`]). `lines` is that of [`key`].
///
/// Its sender believes that the request is protected: refuse it with
/// [`Error::KeyMissing`](crate::Error::KeyMissing), even if no key is required.
pub fn has_unread<'h, L>(lines: impl Fn(&'static str) -> L) -> bool
where
    L: IntoIterator<Item = &'h [u8]>,
{
    lines(X_IDEMPOTENCY_KEY).into_iter().next().is_some()
}

/// Returns the key of one line.
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

/// Returns the key of one value.
fn read(name: &'static str, bytes: &[u8], syntax: Syntax) -> Result<IdempotencyKey, Invalid> {
    if bytes.is_empty() {
        return Err(Invalid::new(Field::Key, Reason::Empty));
    }
    if syntax == Syntax::Strict || bytes.starts_with(b"\"") {
        let text = string::unquoted(bytes).ok_or_else(|| refused(name, Reason::NotString))?;
        return IdempotencyKey::checked(&text);
    }
    IdempotencyKey::checked(bare(name, bytes)?)
}

/// Returns an unquoted value.
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
        // Its meaning depends on an encoding that HTTP does not define.
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
