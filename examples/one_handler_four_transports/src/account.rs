//! Stands for authentication. All transports ask it, so that a key has the same scope in each.

use idem_runtime::Scope;

/// Returns the account of `Bearer <account>`.
pub fn of(authorization: Option<&str>) -> Option<Scope> {
    let account = authorization?.strip_prefix("Bearer ")?;
    Scope::new(account).ok()
}
