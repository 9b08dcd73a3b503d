//! Encryption of results and failures, and the rotation of keys.

use idem_runtime::Error;
use idem_runtime::codec::{KeyId, Protection};
use idem_runtime::error::{CodecFault, ErrorKind};

use crate::desk::{
    CARD, DECLINED, PayError, RECEIPT, Runs, call, charge, codec, decline, empty, encrypting,
    first, in_clear, key, pay, refused, replays, ring, secret,
};
use crate::subject::Subject;

/// The id of the key in the head of a payload.
fn key_id(payload: &[u8]) -> u32 {
    assert_eq!(payload[0], 2, "it is encrypted, and not compressed");
    u32::from_be_bytes(payload[1..5].try_into().expect("four bytes"))
}

fn contains(bytes: &[u8], text: &str) -> bool {
    bytes
        .windows(text.len())
        .any(|part| part == text.as_bytes())
}

pub(crate) async fn a_result_is_encrypted_and_replayed<S: Subject>() {
    let (subject, pay) = (S::fresh().await, pay(encrypting()));
    first(&subject, pay, &key("k")).await;
    replays(&subject, pay, &key("k")).await;
    let stored = subject.payload("result").await;
    assert_eq!(key_id(&stored), 1);
    assert!(!contains(&stored, RECEIPT) && !contains(&stored, "Ada"));
    let numbers = "SELECT CAST(codec * 10 + fingerprint_version AS";
    let numbers = format!("{numbers} {}) FROM idem_record", S::BIG);
    assert_eq!(subject.number(&numbers).await, 121);
}

pub(crate) async fn a_failure_is_encrypted_and_replayed<S: Subject>() {
    let (subject, pay) = (S::fresh().await, pay(encrypting()));
    for _ in 0..2 {
        match decline(&subject, pay, &key("k")).await {
            PayError::Declined { reason } => assert_eq!(reason, DECLINED),
            other => panic!("{other:?}"),
        }
    }
    let stored = subject.payload("failure").await;
    assert_eq!(key_id(&stored), 1);
    assert!(!contains(&stored, DECLINED) && !contains(&stored, "Declined"));
}

pub(crate) async fn after_a_rotation_old_records_are_read_and_new_ones_are_under_the_new_key<
    S: Subject,
>() {
    let (subject, codec) = (S::fresh().await, encrypting());
    first(&subject, pay(codec), &key("old")).await;
    let rotated = ring(2).and(KeyId::new(1), &secret(1));
    codec
        .install(Protection::encrypted(rotated))
        .expect("rotated");
    first(&subject, pay(codec), &key("new")).await;
    for name in ["old", "new"] {
        replays(&subject, pay(codec), &key(name)).await;
    }
    let under = async |name: &str| {
        let sql = format!("SELECT result FROM idem_record WHERE {} = '{name}'", S::KEY);
        key_id(&subject.bytes(&sql).await)
    };
    assert_eq!((under("old").await, under("new").await), (1, 2));
}

pub(crate) async fn a_record_under_a_key_that_is_gone_is_refused_by_its_id<S: Subject>() {
    let (subject, codec) = (S::fresh().await, encrypting());
    let unchecked = pay(codec).without_fingerprint();
    first(&subject, pay(codec), &key("k")).await;
    first(&subject, unchecked, &key("unchecked")).await;
    codec
        .install(Protection::encrypted(ring(2)))
        .expect("rotated");
    for (operation, name, what) in [
        (pay(codec), "k", "fingerprint"),
        (unchecked, "unchecked", "result"),
    ] {
        let refusal = refused(&subject, operation, &key(name)).await;
        assert_eq!(refusal.kind(), ErrorKind::Incompatible);
        assert!(
            refusal.to_string().contains("the key with id 1"),
            "{refusal}"
        );
        let Error::Codec(fault) = refusal else {
            panic!("{refusal:?}");
        };
        assert_eq!(fault, CodecFault::UnknownKey { what, key_id: 1 });
    }
}

pub(crate) async fn without_keys_nothing_runs_and_nothing_is_written<S: Subject>() {
    let (subject, codec) = (S::fresh().await, empty());
    let refusal = refused(&subject, pay(codec), &key("k")).await;
    assert_eq!(refusal.kind(), ErrorKind::Misuse);
    let expected = CodecFault::NotInstalled { codec: "TEST" };
    assert!(
        matches!(&refusal, Error::Codec(fault) if *fault == expected),
        "{refusal:?}"
    );
    assert_eq!(subject.records().await, 0);
    codec
        .install(Protection::encrypted(ring(1)))
        .expect("the first");
    first(&subject, pay(codec), &key("k")).await;
}

pub(crate) async fn a_program_without_the_codec_refuses_the_record<S: Subject>() {
    let subject = S::fresh().await;
    let unchecked = pay(encrypting()).without_fingerprint();
    first(&subject, pay(encrypting()), &key("k")).await;
    first(&subject, unchecked, &key("unchecked")).await;
    for (operation, name, unknown) in [
        (in_clear(), "k", ("fingerprint version", 101)),
        (in_clear().without_fingerprint(), "unchecked", ("codec", 2)),
    ] {
        let refusal = refused(&subject, operation, &key(name)).await;
        let Error::UnknownState { what, value } = refusal else {
            panic!("{refusal:?}");
        };
        assert_eq!((what, value), unknown);
    }
    // A codec without keys knows the form, and not the payload.
    let compressing = codec(Protection::compressed(
        idem_runtime::codec::Compression::new(),
    ));
    let runs = Runs::default();
    let operation = pay(compressing).without_fingerprint();
    let refusal = call(&subject, operation, &key("unchecked"), &charge(), &runs).await;
    let refusal = refusal
        .map(|done| done.replayed())
        .expect_err("refused")
        .refusal();
    let expected = CodecFault::UnknownKey {
        what: "result",
        key_id: 1,
    };
    assert!(
        matches!(&refusal, Error::Codec(fault) if *fault == expected),
        "{refusal:?}"
    );
    assert!(!format!("{refusal:?} {refusal}").contains(CARD));
    assert_eq!(runs.count(), 0);
}
