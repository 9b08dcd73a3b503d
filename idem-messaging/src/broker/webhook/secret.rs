//! Secrets, and the signatures that are made with them.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use aws_lc_rs::signature::{Ed25519KeyPair, KeyPair as _};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use hmac::{Hmac, KeyInit as _, Mac as _};
use sha2::Sha256;

/// What a text begins with: a shared secret, the secret key of a pair, and its public key.
const SHARED: &str = "whsec_";
const SECRET_KEY: &str = "whsk_";
const PUBLIC_KEY: &str = "whpk_";

/// The least and the most bytes of a shared secret.
const BYTES: std::ops::RangeInclusive<usize> = 24..=64;

/// The bytes of a seed of ed25519, from which the key pair is made (RFC 8032, section 5.1.5).
const SEED: usize = 32;

/// What signs the events for an endpoint, of either scheme of Standard Webhooks (*Signature scheme*). `Debug` does not show
/// it.
///
/// | text | scheme | the receiver has | signature |
/// |---|---|---|---|
/// | `whsec_` and 24 to 64 random bytes in Base64 | HMAC-SHA256 | the same text | `v1,..` |
/// | `whsk_` and a secret key in Base64: its seed of 32 bytes, or seed and public key | ed25519 | the [public key](Self::public_key) | `v1a,..` |
///
/// ```
/// use idem_messaging::broker::webhook::WebhookSecret;
///
/// let shared: WebhookSecret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw".parse()?;
/// assert_eq!(shared.public_key(), None);
/// assert!("whsec_c2hvcnQ=".parse::<WebhookSecret>().is_err());
///
/// let pair: WebhookSecret = "whsk_nWGxne/9WmC6hEr0kuwsxERJxWl7MmkZcDusAxyuf2A=".parse()?;
/// let public = "whpk_11qYAYKxCrfVS/7TyWQHOg7hcvPapiMlrwIaaPcHURo=";
/// assert_eq!(pair.public_key().as_deref(), Some(public));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct WebhookSecret(Scheme);

#[derive(Clone)]
enum Scheme {
    Shared(Vec<u8>),
    Pair {
        seed: [u8; SEED],
        keys: Arc<Ed25519KeyPair>,
    },
}

/// Why a text is no secret.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum WebhookSecretError {
    /// It begins neither with `whsec_` nor with `whsk_`.
    #[error(
        "the secret begins neither with `whsec_` nor with `whsk_`; give it as Standard Webhooks writes it: that and Base64"
    )]
    Prefix,
    /// What follows is no Base64 with the standard alphabet and padding.
    #[error("the secret is no Base64 (standard alphabet, with padding) after `whsec_` or `whsk_`")]
    Base64,
    /// A shared secret is too short or too long.
    #[error("the secret has {bytes} bytes; after `whsec_` it must have 24 to 64 random ones")]
    Length {
        /// How many bytes it has.
        bytes: usize,
    },
    /// A secret key of ed25519 has another length.
    #[error(
        "the secret key has {bytes} bytes; after `whsk_` it must have the 32 of its seed, or 64 with its public key"
    )]
    KeyLength {
        /// How many bytes it has.
        bytes: usize,
    },
    /// The second half of a secret key is not the public key that belongs to its first.
    #[error(
        "the public key in the secret key after `whsk_` does not belong to its seed; copy it again"
    )]
    KeyPair,
}

impl FromStr for WebhookSecret {
    type Err = WebhookSecretError;

    fn from_str(text: &str) -> Result<Self, WebhookSecretError> {
        let decode = |encoded: &str| {
            let decoded = BASE64.decode(encoded);
            decoded.map_err(|_| WebhookSecretError::Base64)
        };
        if let Some(encoded) = text.strip_prefix(SECRET_KEY) {
            return pair(&decode(encoded)?).map(Self);
        }
        let encoded = text
            .strip_prefix(SHARED)
            .ok_or(WebhookSecretError::Prefix)?;
        let bytes = decode(encoded)?;
        if !BYTES.contains(&bytes.len()) {
            return Err(WebhookSecretError::Length { bytes: bytes.len() });
        }
        Ok(Self(Scheme::Shared(bytes)))
    }
}

/// Makes the key pair of a seed, which the public key may follow.
fn pair(bytes: &[u8]) -> Result<Scheme, WebhookSecretError> {
    let length = WebhookSecretError::KeyLength { bytes: bytes.len() };
    let (seed, public) = bytes.split_first_chunk::<SEED>().ok_or(length)?;
    if !matches!(public.len(), 0 | SEED) {
        return Err(length);
    }
    let keys = Ed25519KeyPair::from_seed_unchecked(seed).map_err(|_| length)?;
    if !public.is_empty() && keys.public_key().as_ref() != public {
        return Err(WebhookSecretError::KeyPair);
    }
    Ok(Scheme::Pair {
        seed: *seed,
        keys: Arc::new(keys),
    })
}

impl WebhookSecret {
    /// Returns the public key as the receiver needs it to check `v1a` signatures: `whpk_` and Base64. A shared secret has none.
    pub fn public_key(&self) -> Option<String> {
        match &self.0 {
            Scheme::Shared(_) => None,
            Scheme::Pair { keys, .. } => {
                let encoded = BASE64.encode(keys.public_key().as_ref());
                Some(format!("{PUBLIC_KEY}{encoded}"))
            }
        }
    }

    /// Returns the signature of one attempt, after the identifier of its scheme.
    pub(super) fn sign(&self, id: &str, timestamp: u64, payload: &[u8]) -> String {
        let mut signed = format!("{id}.{timestamp}.").into_bytes();
        signed.extend_from_slice(payload);
        match &self.0 {
            Scheme::Shared(secret) => {
                let mac = Hmac::<Sha256>::new_from_slice(secret);
                let mut mac = mac.expect("HMAC takes a key of any length");
                mac.update(&signed);
                format!("v1,{}", BASE64.encode(mac.finalize().into_bytes()))
            }
            Scheme::Pair { keys, .. } => format!("v1a,{}", BASE64.encode(keys.sign(&signed))),
        }
    }
}

impl PartialEq for WebhookSecret {
    fn eq(&self, other: &Self) -> bool {
        match (&self.0, &other.0) {
            (Scheme::Shared(one), Scheme::Shared(two)) => one == two,
            (Scheme::Pair { seed: one, .. }, Scheme::Pair { seed: two, .. }) => one == two,
            _ => false,
        }
    }
}

impl Eq for WebhookSecret {}

impl fmt::Debug for WebhookSecret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("WebhookSecret(..)")
    }
}

#[cfg(test)]
mod tests {
    use super::{BASE64, WebhookSecret, WebhookSecretError};
    use base64::Engine as _;

    /// The example of the libraries of Standard Webhooks.
    #[test]
    fn a_signature_is_that_of_the_published_example() {
        let secret: WebhookSecret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
            .parse()
            .expect("a secret");
        let signature = secret.sign(
            "msg_p5jXN8AQM9LWM0D4loKWxJek",
            1_614_265_330,
            br#"{"test": 2432232314}"#,
        );
        assert_eq!(signature, "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=");
        assert_eq!(format!("{secret:?}"), "WebhookSecret(..)");
    }

    #[test]
    fn a_secret_has_its_prefix_and_24_to_64_bytes_in_base64() {
        let of = |bytes: usize| format!("whsec_{}", BASE64.encode(vec![7; bytes]));
        let parse = |text: &str| text.parse::<WebhookSecret>().map(drop);
        for bytes in [24, 64] {
            assert_eq!(parse(&of(bytes)), Ok(()));
        }
        for bytes in [0, 23, 65] {
            assert_eq!(parse(&of(bytes)), Err(WebhookSecretError::Length { bytes }));
        }
        let bare = &of(24)[6..];
        assert_eq!(parse(bare), Err(WebhookSecretError::Prefix));
        assert_eq!(parse("whsec_*"), Err(WebhookSecretError::Base64));
    }

    /// The seed and the public key of test 1 in RFC 8032, section 7.1.
    const SEED: &str = "9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60";
    const PUBLIC: &str = "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a";

    fn bytes(digits: &str) -> Vec<u8> {
        let pairs = digits.as_bytes().chunks(2).map(|pair| {
            let pair = std::str::from_utf8(pair).expect("ASCII");
            u8::from_str_radix(pair, 16).expect("two digits")
        });
        pairs.collect()
    }

    fn key_of(bytes: &[u8]) -> Result<WebhookSecret, WebhookSecretError> {
        format!("whsk_{}", BASE64.encode(bytes)).parse()
    }

    #[test]
    fn a_secret_key_is_its_seed_alone_or_with_the_public_key_that_belongs_to_it() {
        let (seed, public) = (bytes(SEED), bytes(PUBLIC));
        let whole = [&seed[..], &public[..]].concat();
        let (short, long) = (
            key_of(&seed).expect("a key"),
            key_of(&whole).expect("a key"),
        );
        assert_eq!(short, long);
        let shown = format!("whpk_{}", BASE64.encode(&public));
        assert_eq!(short.public_key(), Some(shown));
        assert_eq!(format!("{short:?}"), "WebhookSecret(..)");
        let other = [&seed[..], &seed[..]].concat();
        assert_eq!(key_of(&other), Err(WebhookSecretError::KeyPair));
        for length in [0, 31, 33, 63, 65] {
            let error = WebhookSecretError::KeyLength { bytes: length };
            assert_eq!(key_of(&vec![7; length]), Err(error));
        }
        let public: Result<WebhookSecret, _> = format!("whpk_{}", BASE64.encode(public)).parse();
        assert_eq!(public, Err(WebhookSecretError::Prefix));
    }

    #[test]
    fn a_secret_is_equal_to_itself_only() {
        let shared: WebhookSecret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
            .parse()
            .expect("a secret");
        let key = key_of(&[7; 32]).expect("a key");
        assert_eq!(key, key_of(&[7; 32]).expect("a key"));
        assert_ne!(key, key_of(&[8; 32]).expect("a key"));
        assert_ne!(key, shared);
    }
}
