//! The key of a whole request: read from its headers, in the scope of its caller.

use super::header::{self, Syntax};
use crate::values::error::Error;
use crate::values::key::{IdempotencyKey, Scope};

/// What of a request says which key it has, for the edge of a framework. `lines` is the function of [`header::key`].
///
/// ```
/// use idem_runtime::Scope;
/// use idem_runtime::http::KeyedRequest;
///
/// let headers = [("idempotency-key", &b"\"8e03978e\""[..])];
/// let acme = Scope::new("acme")?;
/// let request = KeyedRequest {
///     method: "POST",
///     path: "/orders",
///     lines: |name| headers.iter().filter(move |line| line.0 == name).map(|line| line.1),
///     syntax: None,
///     scope: Some(&acme),
/// };
/// let key = request.key()?;
/// assert_eq!((key.as_str(), key.scope()), ("8e03978e", Some(&acme)));
/// # Ok::<_, Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, Copy)]
pub struct KeyedRequest<'r, F> {
    /// The method, for the text of a refusal.
    pub method: &'r str,
    /// The path, for the text of a refusal.
    pub path: &'r str,
    /// Returns the values of all lines of one header, whose name is in lower case.
    pub lines: F,
    /// The syntax that a policy has set; lenient without one.
    pub syntax: Option<Syntax>,
    /// The scope that authentication has set. A key without a scope is refused by the call: there is no default that
    /// all callers share.
    pub scope: Option<&'r Scope>,
}

impl<'h, F, L> KeyedRequest<'_, F>
where
    F: Fn(&'static str) -> L,
    L: IntoIterator<Item = &'h [u8]>,
{
    /// Returns the key, in the scope of the request.
    ///
    /// # Errors
    /// [`Error::KeyMissing`] if there is none; [`Error::Invalid`] if it breaks a rule of [`header`]. Both are 400, as in
    /// the IETF draft (section 2.7).
    pub fn key(&self) -> Result<IdempotencyKey, Error> {
        self.read()?.ok_or_else(|| self.missing())
    }

    /// Returns the key, or `None` only if none was sent. An invalid key is refused: without it the call would not be safe
    /// to retry.
    ///
    /// # Errors
    /// [`Error::Invalid`]; [`Error::KeyMissing`] if the only key has a name that is not read (`X-Idempotency-Key`, under
    /// [`Syntax::Strict`]).
    pub fn optional_key(&self) -> Result<Option<IdempotencyKey>, Error> {
        match self.read()? {
            None if header::has_unread(&self.lines) => Err(self.missing()),
            key => Ok(key),
        }
    }

    fn read(&self) -> Result<Option<IdempotencyKey>, Error> {
        let key = header::key(&self.lines, self.syntax.unwrap_or_default())?;
        Ok(match (key, self.scope) {
            (Some(key), Some(scope)) => Some(key.scoped(scope.clone())),
            (key, _) => key,
        })
    }

    fn missing(&self) -> Error {
        Error::KeyMissing {
            operation: format!("{} {}", self.method, self.path).into(),
        }
    }
}
