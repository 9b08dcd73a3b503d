//! The key of a logical request, and the header that carries it.

use std::fmt;
use std::str::FromStr;

use http::{HeaderMap, HeaderName, HeaderValue, Method};
use uuid::Uuid;

/// The request header that carries the key.
pub const IDEMPOTENCY_KEY: HeaderName = HeaderName::from_static("idempotency-key");

/// The longest key that the server accepts, in characters.
pub const KEY_MAX: usize = 255;

/// A key: 1-255 characters of printable ASCII, since a header carries it. White space around it is left out.
///
/// `Debug` does not show it.
///
/// ```
/// use idem_client::Key;
///
/// let key: Key = "order-17".parse()?;
/// assert_eq!(key.to_header(), r#""order-17""#);
/// assert_ne!(Key::random(), Key::random());
/// # Ok::<(), idem_client::KeyError>(())
/// ```
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Key(Box<str>);

impl Key {
    /// Makes a new key: a UUID of version 7, which begins with the time. Such keys keep the server's index compact.
    pub fn random() -> Self {
        Self(Uuid::now_v7().to_string().into())
    }

    /// Returns the key.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns the header's value: a String of RFC 9651, section 3.3.3, in double quotes.
    pub fn to_header(&self) -> HeaderValue {
        let mut quoted = String::with_capacity(self.0.len() + 2);
        quoted.push('"');
        for character in self.0.chars() {
            if matches!(character, '"' | '\\') {
                quoted.push('\\');
            }
            quoted.push(character);
        }
        quoted.push('"');
        // Printable ASCII was checked when the key was made.
        HeaderValue::from_str(&quoted).unwrap_or_else(|_| HeaderValue::from_static(""))
    }

    /// Returns the key in these headers, with or without quotes, or `None` if there is none.
    ///
    /// # Errors
    /// - [`KeyError::Several`] if there are two header lines: a server cannot know which is meant.
    /// - The errors of parsing a key.
    pub fn of_headers(headers: &HeaderMap) -> Result<Option<Self>, KeyError> {
        let mut values = headers.get_all(IDEMPOTENCY_KEY).iter();
        let Some(value) = values.next() else {
            return Ok(None);
        };
        if values.next().is_some() {
            return Err(KeyError::Several);
        }
        let text = value
            .to_str()
            .map_err(|_| KeyError::Character { index: 0 })?;
        unquoted(text.trim()).parse().map(Some)
    }
}

/// Returns what a quoted String contains, and any other text as it is.
fn unquoted(text: &str) -> String {
    let inner = text
        .strip_prefix('"')
        .and_then(|text| text.strip_suffix('"'));
    let Some(inner) = inner else {
        return text.to_owned();
    };
    let mut plain = String::with_capacity(inner.len());
    let mut characters = inner.chars();
    while let Some(character) = characters.next() {
        let escaped = (character == '\\').then(|| characters.next()).flatten();
        plain.push(escaped.unwrap_or(character));
    }
    plain
}

impl FromStr for Key {
    type Err = KeyError;

    fn from_str(text: &str) -> Result<Self, KeyError> {
        let text = text.trim();
        if text.is_empty() {
            return Err(KeyError::Blank);
        }
        let odd = |byte: u8| !(b' '..=b'~').contains(&byte);
        if let Some(index) = text.bytes().position(odd) {
            return Err(KeyError::Character { index });
        }
        if text.len() > KEY_MAX {
            return Err(KeyError::TooLong { length: text.len() });
        }
        Ok(Self(text.into()))
    }
}

impl From<Uuid> for Key {
    fn from(uuid: Uuid) -> Self {
        Self(uuid.to_string().into())
    }
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Key(..)")
    }
}

/// Why a key cannot be used. Nothing was sent.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum KeyError {
    /// The key has no character but white space.
    #[error("the idempotency key is blank; nothing was sent; give it 1 to {KEY_MAX} characters")]
    Blank,
    /// The key is too long.
    #[error(
        "the idempotency key has {length} characters, and at most {KEY_MAX} are allowed; nothing was sent; shorten it"
    )]
    TooLong {
        /// Its length, in characters.
        length: usize,
    },
    /// The key has a character that a header cannot carry.
    #[error(
        "the idempotency key has at byte {index} something other than printable ASCII, which a header cannot carry; nothing \
         was sent; encode it"
    )]
    Character {
        /// The byte at which it begins.
        index: usize,
    },
    /// The request has two headers of this name.
    #[error(
        "the request has several Idempotency-Key headers; nothing was sent; set the header once"
    )]
    Several,
    /// A key was given for a method that has no effect.
    #[error(
        "{method} has no effect, so it takes no idempotency key; nothing was sent; leave the key out"
    )]
    SafeMethod {
        /// The method.
        method: Method,
    },
}

#[cfg(test)]
mod tests {
    use http::{HeaderMap, HeaderValue};

    use super::{IDEMPOTENCY_KEY, KEY_MAX, Key, KeyError};

    fn headers(values: &[&str]) -> HeaderMap {
        let mut headers = HeaderMap::new();
        for value in values {
            headers.append(IDEMPOTENCY_KEY, HeaderValue::from_str(value).expect("text"));
        }
        headers
    }

    #[test]
    fn a_key_comes_back_from_the_header_that_it_was_written_to() {
        for text in ["k", "a \"quoted\" one", r"back\slash", "a b", r#"\""#] {
            let key: Key = text.parse().expect("a key");
            let mut headers = HeaderMap::new();
            headers.insert(IDEMPOTENCY_KEY, key.to_header());
            assert_eq!(Key::of_headers(&headers), Ok(Some(key)), "{text}");
        }
    }

    #[test]
    fn a_bare_token_and_a_quoted_one_are_one_key() {
        let bare = Key::of_headers(&headers(&["k-1"])).expect("a key");
        assert_eq!(
            bare,
            Key::of_headers(&headers(&["\"k-1\""])).expect("a key")
        );
        assert_eq!(Key::of_headers(&headers(&[])), Ok(None));
    }

    #[test]
    fn what_is_no_key_is_refused_with_its_limit() {
        let long = "k".repeat(KEY_MAX + 1);
        let refusals = [
            ("  ", KeyError::Blank),
            (&*long, KeyError::TooLong { length: 256 }),
            ("k\u{e9}", KeyError::Character { index: 1 }),
            ("a\nb", KeyError::Character { index: 1 }),
        ];
        for (text, refusal) in refusals {
            assert_eq!(text.parse::<Key>(), Err(refusal), "{text}");
        }
        assert_eq!("k".repeat(KEY_MAX).parse::<Key>().map(|_| ()), Ok(()));
        assert_eq!(
            Key::of_headers(&headers(&["a", "b"])),
            Err(KeyError::Several)
        );
    }

    #[test]
    fn a_key_does_not_show_in_a_log() {
        let key: Key = "secret".parse().expect("a key");
        assert!(!format!("{key:?}").contains("secret"));
    }
}
