//! The token of a form: only a page that this console made for this principal in this browser has it.

use std::fmt::Write as _;

use hmac::{Hmac, KeyInit as _, Mac as _};
use http::HeaderMap;
use http::header::COOKIE;
use sha2::Sha256;
use uuid::Uuid;

use crate::authorise::Principal;

/// The cookie that ties a form to a browser. It says nothing of who asks.
pub(crate) const COOKIE_NAME: &str = "idem_console";

/// The key of the tokens.
pub(crate) struct Secret([u8; 32]);

impl Secret {
    /// Draws a secret: the pages of another process are refused then.
    pub(crate) fn random() -> Self {
        let mut secret = [0; 32];
        // Two ids of 122 random bits each.
        for half in secret.chunks_mut(16) {
            half.copy_from_slice(Uuid::new_v4().as_bytes());
        }
        Self(secret)
    }

    pub(crate) fn of(secret: [u8; 32]) -> Self {
        Self(secret)
    }

    /// Returns the token of a form, in hexadecimal digits.
    pub(crate) fn token(&self, cookie: &str, principal: &Principal) -> String {
        let mut text = String::with_capacity(64);
        for byte in self.mac(cookie, principal).finalize().into_bytes() {
            let _ = write!(text, "{byte:02x}");
        }
        text
    }

    /// Returns whether a token is that of the cookie and the principal, in a time that does not depend on it.
    pub(crate) fn is_token(&self, token: &str, cookie: &str, principal: &Principal) -> bool {
        let digits: Option<Vec<u8>> = (token.len() == 64 && token.is_ascii())
            .then(|| {
                let digits = (0..32).map(|at| u8::from_str_radix(&token[2 * at..2 * at + 2], 16));
                digits.collect::<Result<_, _>>().ok()
            })
            .flatten();
        digits.is_some_and(|digits| self.mac(cookie, principal).verify_slice(&digits).is_ok())
    }

    fn mac(&self, cookie: &str, principal: &Principal) -> Hmac<Sha256> {
        // As long as a block of SHA-256, to which HMAC fills a key up with zeros.
        let mut block = [0; 64];
        block[..32].copy_from_slice(&self.0);
        let mut mac = Hmac::<Sha256>::new(&block.into());
        mac.update(b"idem-console form 1");
        for part in [cookie, principal.name(), principal.session_id()] {
            let length = u64::try_from(part.len()).unwrap_or(u64::MAX);
            mac.update(&length.to_be_bytes());
            mac.update(part.as_bytes());
        }
        mac
    }
}

/// Returns the cookie of a request, if it is one that this console made.
pub(crate) fn cookie(headers: &HeaderMap) -> Option<String> {
    let all = headers.get_all(COOKIE).iter();
    let pairs = all
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(';'));
    let mut ours = pairs.filter_map(|pair| pair.trim().split_once('='));
    let (_, value) = ours.find(|(name, _)| *name == COOKIE_NAME)?;
    let is_ours = value.len() == 64 && value.bytes().all(|byte| byte.is_ascii_hexdigit());
    is_ours.then(|| value.to_owned())
}

/// Draws a cookie.
pub(crate) fn fresh_cookie() -> String {
    let halves = [Uuid::new_v4(), Uuid::new_v4()];
    halves.map(|half| half.simple().to_string()).concat()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_is_good_for_its_cookie_principal_session_and_secret_only() {
        let secret = Secret::random();
        let ada = Principal::new("ada").expect("a name");
        let token = secret.token("c", &ada);
        assert!(secret.is_token(&token, "c", &ada));
        assert!(!secret.is_token(&token, "d", &ada));
        assert!(!secret.is_token(&token, "c", &ada.clone().session("s")));
        assert!(!secret.is_token(&token, "c", &Principal::new("eve").expect("a name")));
        assert!(!Secret::random().is_token(&token, "c", &ada));
        for wrong in ["", "zz", &"0".repeat(64), &"é".repeat(32)] {
            assert!(!secret.is_token(wrong, "c", &ada), "{wrong}");
        }
        // Its parts cannot be moved into one another.
        let moved = Principal::new("b").expect("a name");
        assert_ne!(
            secret.token("ab", &moved),
            secret.token("a", &Principal::new("bb").expect("a name"))
        );
    }
}
