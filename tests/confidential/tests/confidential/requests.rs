//! The request: compared under a key, and kept encrypted.

use idem_runtime::Error;
use idem_runtime::codec::{KeyId, Keyring, Protection};
use idem_runtime::error::CodecFault;
use idem_runtime::fingerprint::{FINGERPRINT_VERSION, Fingerprint, canonical_json};

use crate::desk::{
    CARD, Charge, Runs, call, charge, codec, encrypting, first, key, pay, refused, replays, ring,
    secret,
};
use crate::subject::Subject;

fn other() -> Charge {
    Charge {
        card: "another".to_owned(),
    }
}

/// Calls with another request, and returns the refusal.
async fn mismatch<S: Subject>(
    subject: &S,
    operation: idem_runtime::Operation<idem_runtime::policy::RecordFailures>,
) -> Box<idem_runtime::error::Mismatch> {
    let runs = Runs::default();
    let refused = call(subject, operation, &key("k"), &other(), &runs).await;
    let refused = refused.map(|done| done.replayed()).expect_err("refused");
    assert_eq!(runs.count(), 0);
    match refused.refusal() {
        Error::Mismatch(mismatch) => mismatch,
        other => panic!("{other:?}"),
    }
}

pub(crate) async fn a_request_is_compared_under_a_key<S: Subject>() {
    let (subject, pay) = (S::fresh().await, pay(encrypting()));
    first(&subject, pay, &key("k")).await;
    replays(&subject, pay, &key("k")).await;
    let mismatch = mismatch(&subject, pay).await;
    assert_ne!(mismatch.recorded_hash, mismatch.submitted_hash);
}

pub(crate) async fn a_guessed_request_is_not_confirmed_by_the_table<S: Subject>() {
    let subject = S::fresh().await;
    first(&subject, pay(encrypting()), &key("k")).await;
    let stored = subject.payload("fingerprint").await;
    let canonical = canonical_json(&charge()).expect("canonical");
    let guess = Fingerprint::compute(FINGERPRINT_VERSION, "payments", "pay", &canonical);
    let guess = guess.expect("the version is known");
    assert_eq!(stored.len(), 32);
    assert_eq!(stored[..4], [0, 0, 0, 1]);
    assert_ne!(stored[4..], guess.as_bytes()[4..]);
    assert_ne!(stored[4..], guess.as_bytes()[..28]);
}

pub(crate) async fn equal_requests_under_two_keys_have_no_equal_fingerprint<S: Subject>() {
    let mut stored = Vec::new();
    for name in ["k", "l"] {
        let subject = S::fresh().await;
        first(&subject, pay(encrypting()), &key(name)).await;
        stored.push(subject.payload("fingerprint").await);
    }
    assert_eq!(stored[0][..4], stored[1][..4]);
    assert_ne!(stored[0], stored[1]);
}

/// Another key was installed under the id of the old one.
pub(crate) async fn under_another_key_of_the_same_id_no_request_is_another_one<S: Subject>() {
    let subject = S::fresh().await;
    first(&subject, pay(encrypting()), &key("k")).await;
    let confused = Keyring::new(KeyId::new(1), &secret(9));
    let confused = codec(Protection::encrypted(confused));
    let refusal = refused(&subject, pay(confused), &key("k")).await;
    assert!(
        matches!(
            refusal,
            Error::Codec(CodecFault::NotAuthentic { key_id: 1, .. })
        ),
        "{refusal:?}"
    );
}

pub(crate) async fn after_a_rotation_a_request_is_compared_under_the_old_key<S: Subject>() {
    let (subject, codec) = (S::fresh().await, encrypting());
    first(&subject, pay(codec), &key("k")).await;
    let rotated = ring(2).and(KeyId::new(1), &secret(1));
    codec
        .install(Protection::encrypted(rotated))
        .expect("rotated");
    replays(&subject, pay(codec), &key("k")).await;
    let mismatch = mismatch(&subject, pay(codec)).await;
    for hash in [mismatch.recorded_hash, mismatch.submitted_hash] {
        assert!(hash.expect("a hash").starts_with("00000001"));
    }
}

pub(crate) async fn a_recorded_request_is_encrypted_and_shown_to_the_codec_alone<S: Subject>() {
    let (subject, codec) = (S::fresh().await, encrypting());
    first(&subject, pay(codec).record_request(), &key("k")).await;
    let stored = subject.payload("request").await;
    assert_eq!(stored[0], 2);
    assert!(!stored.windows(4).any(|part| part == b"4111"));
    let shown = mismatch(&subject, pay(codec)).await;
    let recorded = shown.recorded_request.expect("it was recorded");
    assert!(String::from_utf8(recorded).expect("text").contains(CARD));
    // It is another request all the same if the recorded one can no longer be opened.
    subject.overwrite("request", &[2; 60]).await;
    let hidden = mismatch(&subject, pay(codec)).await;
    assert!(hidden.recorded_request.is_none());
    replays(&subject, pay(codec), &key("k")).await;
    let refusal = refused(&subject, crate::desk::in_clear(), &key("k")).await;
    assert!(matches!(refusal, Error::UnknownState { .. }), "{refusal:?}");
}
