//! The laws of protected payloads, without a database.

use proptest::prelude::*;
use uuid::Uuid;

use super::{Binding, Column, Key, KeyId, Keyring, Protection};
use crate::values::envelope::{CODEC_ENVELOPE, HEAD, TAG};
use crate::values::error::{CodecFault, Error};
use crate::values::identity::Identity;
use crate::values::key::{IdempotencyKey, Namespace, Scope, hex};
use crate::values::record::AttemptId;

fn protection(id: u8) -> Protection {
    Protection::encrypted(Keyring::new(KeyId::new(1), &Key::from_bytes([id; 32])))
}

fn identity(scope: &str, key: &str) -> Identity {
    let key = key.parse::<IdempotencyKey>().unwrap();
    Identity::new(
        &Namespace::from_static("payments"),
        Scope::new(scope).unwrap(),
        key,
    )
}

fn attempt() -> AttemptId {
    AttemptId::from_uuid(Uuid::from_u128(0x0011_2233_4455_4677_8899_aabb_ccdd_eeff))
}

const COLUMNS: [Column; 3] = [Column::Request, Column::Result, Column::Failure];

/// Records in tables hold these bytes: they must never change.
#[test]
fn a_sealed_payload_has_these_bytes() {
    let identity = identity("acme", "order-17");
    let binding = Binding {
        identity: &identity,
        operation: "pay",
    };
    let protected = protection(7)
        .protect(binding, Column::Result, attempt(), b"{\"id\":1}")
        .unwrap();
    assert_eq!(protected.len(), HEAD + 8 + TAG);
    assert_eq!(hex::lower(&protected), VECTOR);
}

/// By Python: `AESGCMSIV` of `cryptography`, over the layout that the modules describe.
const VECTOR: &str =
    "0200000001667bee9bee92a843025e31e0a5eb399eb72c93c8f4c1e8d79f12b6520ee5921036b17a96";

/// What is hashed and keyed must never change either.
#[test]
fn a_keyed_fingerprint_has_these_bytes() {
    let identity = identity("acme", "order-17");
    let computed = protection(7).fingerprint(&identity, "pay", b"{}").unwrap();
    assert_eq!(computed.to_string(), FINGERPRINT);
}

/// By Python: `hmac`.
const FINGERPRINT: &str = "00000001ebe07213633246ed6a8cef21d86804263621a0d62ab76a999dc676dc";

#[test]
fn an_attempt_that_writes_again_writes_the_same_and_no_two_columns_share_a_nonce() {
    let identity = identity("s", "k");
    let binding = Binding {
        identity: &identity,
        operation: "pay",
    };
    let protect = |column| {
        protection(7)
            .protect(binding, column, attempt(), b"1")
            .unwrap()
            .into_owned()
    };
    let protected = COLUMNS.map(protect);
    assert_eq!(protected, COLUMNS.map(protect));
    let nonces = protected.map(|protected| protected[5..HEAD].to_vec());
    assert!(nonces[0] != nonces[1] && nonces[1] != nonces[2] && nonces[0] != nonces[2]);
}

proptest! {
    #[test]
    fn a_payload_comes_back_to_its_place_and_to_no_other(
        payload in proptest::collection::vec(any::<u8>(), 1..2000),
        scope in "[a-z]{1,9}",
        key in "[a-z]{1,9}",
        operation in "[a-z]{1,9}",
        other in "[A-Z]{1,9}",
        column in 0..3_usize,
    ) {
        let (protection, right) = (protection(7), identity(&scope, &key));
        let binding = Binding { identity: &right, operation: &operation };
        let column = COLUMNS[column];
        let protected = protection.protect(binding, column, AttemptId::random(), &payload).unwrap();
        let open = |binding, column| protection.open(binding, column, CODEC_ENVELOPE, &protected);
        prop_assert_eq!(open(binding, column).unwrap(), payload.clone());
        // No character moves from the scope into the key.
        let joined = identity(&format!("{scope}{key}"), &key);
        let identities = [identity(&other, &key), identity(&scope, &other), joined];
        let mut wrong: Vec<_> = identities
            .iter()
            .map(|identity| (Binding { identity, ..binding }, column))
            .collect();
        wrong.push((Binding { operation: &other, ..binding }, column));
        wrong.extend(COLUMNS.into_iter().filter(|other| *other != column).map(|other| (binding, other)));
        for (binding, column) in wrong {
            let refused = open(binding, column);
            let is_refused = matches!(refused, Err(Error::Codec(CodecFault::NotAuthentic { .. })));
            prop_assert!(is_refused, "{:?}", refused);
        }
    }

    #[test]
    fn no_change_of_a_bit_is_read(
        payload in proptest::collection::vec(any::<u8>(), 1..200),
        at in any::<proptest::sample::Index>(),
        bit in 0..8_u32,
    ) {
        let (protection, identity) = (protection(7), identity("s", "k"));
        let binding = Binding { identity: &identity, operation: "pay" };
        let protected = protection.protect(binding, Column::Result, AttemptId::random(), &payload).unwrap();
        let mut changed = protected.into_owned();
        let at = at.index(changed.len());
        changed[at] ^= 1 << bit;
        let read = protection.open(binding, Column::Result, CODEC_ENVELOPE, &changed);
        let is_refused = matches!(read, Err(Error::Codec(_) | Error::UnknownState { .. }));
        prop_assert!(is_refused, "{at}: {:?}", read);
    }
}
