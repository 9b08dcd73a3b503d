//! Types accepted by `key = expr`, `key = natural(..)` and `scope = expr`.

use std::borrow::Cow;
use std::fmt;

use uuid::Uuid;

use super::idempotency::IdempotencyKey;
use super::scope::Scope;
use crate::values::error::{Error, Field, Invalid};

/// A type that is accepted in `key = expr`.
///
/// Implemented for text, keys, UUIDs (converted to hyphenated lower case), integers, references to them, and
/// an `Option` of them, where `None` means that the caller sent no key. Also implemented for the
/// results of [`IdempotencyKey::parse`] and [`derive`](super::IdempotencyKey::derive): an `Err` becomes
/// the error of the call.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be an idempotency key",
    label = "not a key, text, an integer or a UUID",
    note = "a key is made from an `IdempotencyKey`, text, an integer or a `Uuid`, an `Option` of one, or the \
            result of `IdempotencyKey::parse` or `IdempotencyKey::derive`",
    note = "to make a key from several values: `IdempotencyKey::derive([tenant, order])`"
)]
pub trait KeySource {
    /// Returns the key, or `None` if the caller sent none.
    ///
    /// # Errors
    ///
    /// [`Invalid`] if the key breaks a rule of [`IdempotencyKey`], or if the source is an `Err`.
    fn idempotency_key(&self) -> Result<Option<IdempotencyKey>, Invalid>;
}

impl<S: KeySource + ?Sized> KeySource for &S {
    fn idempotency_key(&self) -> Result<Option<IdempotencyKey>, Invalid> {
        (**self).idempotency_key()
    }
}

impl<S: KeySource> KeySource for Option<S> {
    fn idempotency_key(&self) -> Result<Option<IdempotencyKey>, Invalid> {
        match self {
            Some(source) => source.idempotency_key(),
            None => Ok(None),
        }
    }
}

impl<S: KeySource> KeySource for Result<S, Invalid> {
    fn idempotency_key(&self) -> Result<Option<IdempotencyKey>, Invalid> {
        match self {
            Ok(source) => source.idempotency_key(),
            Err(invalid) => Err(invalid.clone()),
        }
    }
}

impl<S: KeySource> KeySource for Result<S, Error> {
    fn idempotency_key(&self) -> Result<Option<IdempotencyKey>, Invalid> {
        match self {
            Ok(source) => source.idempotency_key(),
            Err(error) => Err(Invalid::of(error, Field::Key)),
        }
    }
}

impl KeySource for IdempotencyKey {
    fn idempotency_key(&self) -> Result<Option<IdempotencyKey>, Invalid> {
        Ok(Some(self.clone()))
    }
}

impl KeySource for str {
    fn idempotency_key(&self) -> Result<Option<IdempotencyKey>, Invalid> {
        IdempotencyKey::checked(self).map(Some)
    }
}

impl KeySource for String {
    fn idempotency_key(&self) -> Result<Option<IdempotencyKey>, Invalid> {
        self.as_str().idempotency_key()
    }
}

impl KeySource for Cow<'_, str> {
    fn idempotency_key(&self) -> Result<Option<IdempotencyKey>, Invalid> {
        (**self).idempotency_key()
    }
}

impl KeySource for Uuid {
    fn idempotency_key(&self) -> Result<Option<IdempotencyKey>, Invalid> {
        let mut buffer = Uuid::encode_buffer();
        self.hyphenated()
            .encode_lower(&mut buffer)
            .idempotency_key()
    }
}

/// A type that is accepted as a part of `key = natural(..)`: any type that implements `Display`.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be a part of a natural key",
    label = "not `Display`",
    note = "a part identifies the effect in the business: text, a number, a `Uuid`",
    note = "of a larger value, pass the identifying field: `natural(cmd.tenant, cmd.order.number)`"
)]
pub trait KeyPart {
    #[doc(hidden)]
    fn text(&self) -> String;
}

impl<T: fmt::Display + ?Sized> KeyPart for T {
    fn text(&self) -> String {
        self.to_string()
    }
}

/// A type that is accepted in `scope = expr`: text, a [`Scope`], UUIDs (converted to hyphenated lower case), integers,
/// references to them, and the result of [`Scope::new`].
///
/// Not implemented for `Option`: an absent tenant can mean all callers or a fault, and the caller
/// has to decide which.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be a scope",
    label = "not a `Scope`, text, an integer or a UUID",
    note = "a scope is made from a `Scope`, text, an integer, a `Uuid`, or the result of `Scope::new`",
    note = "decide what an absent scope means: `scope.unwrap_or(Scope::GLOBAL)` shares the keys \
            among all callers"
)]
pub trait ScopeSource {
    /// Returns the scope.
    ///
    /// # Errors
    ///
    /// [`Invalid`] if the text breaks a rule of [`Scope`], or if the source is an `Err`.
    fn scope(&self) -> Result<Scope, Invalid>;
}

impl<S: ScopeSource + ?Sized> ScopeSource for &S {
    fn scope(&self) -> Result<Scope, Invalid> {
        (**self).scope()
    }
}

impl ScopeSource for Result<Scope, Error> {
    fn scope(&self) -> Result<Scope, Invalid> {
        match self {
            Ok(scope) => Ok(scope.clone()),
            Err(error) => Err(Invalid::of(error, Field::Scope)),
        }
    }
}

impl ScopeSource for Scope {
    fn scope(&self) -> Result<Scope, Invalid> {
        Ok(self.clone())
    }
}

impl ScopeSource for str {
    fn scope(&self) -> Result<Scope, Invalid> {
        Scope::checked(self.to_owned())
    }
}

impl ScopeSource for String {
    fn scope(&self) -> Result<Scope, Invalid> {
        Scope::checked(self.clone())
    }
}

impl ScopeSource for Cow<'_, str> {
    fn scope(&self) -> Result<Scope, Invalid> {
        Scope::checked(self.clone().into_owned())
    }
}

impl ScopeSource for Uuid {
    fn scope(&self) -> Result<Scope, Invalid> {
        Scope::checked(self.hyphenated().to_string())
    }
}

macro_rules! integers {
    ($($integer:ty),*) => {
        $(
            impl KeySource for $integer {
                fn idempotency_key(&self) -> Result<Option<IdempotencyKey>, Invalid> {
                    self.to_string().idempotency_key()
                }
            }

            impl ScopeSource for $integer {
                fn scope(&self) -> Result<Scope, Invalid> {
                    Scope::checked(self.to_string())
                }
            }
        )*
    };
}

integers!(
    i8, i16, i32, i64, i128, isize, u8, u16, u32, u64, u128, usize
);
