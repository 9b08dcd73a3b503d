//! What was moved or altered in the table is refused, and its body does not run.

use idem_runtime::codec::{KeyId, Keyring, Protection};
use idem_runtime::error::CodecFault;
use idem_runtime::{Error, Operation};

use crate::desk::{codec, encrypting, first, key, pay, refused, replays, secret};
use crate::subject::Subject;

#[track_caller]
fn is_not_authentic(refusal: &Error, what: &str) {
    let Error::Codec(CodecFault::NotAuthentic {
        what: found,
        key_id: 1,
    }) = refusal
    else {
        panic!("{refusal:?}");
    };
    assert_eq!(*found, what);
}

pub(crate) async fn a_payload_of_another_record_is_refused<S: Subject>() {
    let (subject, codec) = (S::fresh().await, encrypting());
    let pay = pay(codec);
    for name in ["a", "b"] {
        first(&subject, pay, &key(name)).await;
    }
    let of = |name| format!("SELECT result FROM idem_record WHERE {} = '{name}'", S::KEY);
    let (a, b) = (subject.bytes(&of("a")).await, subject.bytes(&of("b")).await);
    assert_ne!(a, b);
    for (name, payload) in [("a", &b), ("b", &a)] {
        let payload = S::literal(payload);
        let sql = format!(
            "UPDATE idem_record SET result = {payload} WHERE {} = '{name}'",
            S::KEY
        );
        subject.run(&sql).await;
    }
    for name in ["a", "b"] {
        is_not_authentic(&refused(&subject, pay, &key(name)).await, "result");
    }
    // The row as a whole, under another name, or for another operation.
    subject.run("DELETE FROM idem_record").await;
    first(&subject, pay, &key("a")).await;
    subject
        .run(&format!("UPDATE idem_record SET {} = 'b'", S::KEY))
        .await;
    is_not_authentic(&refused(&subject, pay, &key("b")).await, "result");
    subject.run("DELETE FROM idem_record").await;
    let refund = Operation::new("payments", "refund").record_failures();
    let refund = refund.codec(codec).without_fingerprint();
    first(&subject, refund, &key("a")).await;
    subject
        .run("UPDATE idem_record SET operation = 'pay'")
        .await;
    let refusal = refused(&subject, pay.without_fingerprint(), &key("a")).await;
    is_not_authentic(&refusal, "result");
}

pub(crate) async fn a_payload_of_another_column_is_refused<S: Subject>() {
    let subject = S::fresh().await;
    let pay = pay(encrypting()).record_request();
    first(&subject, pay, &key("k")).await;
    let (request, result) = (
        subject.payload("request").await,
        subject.payload("result").await,
    );
    subject.overwrite("result", &request).await;
    is_not_authentic(&refused(&subject, pay, &key("k")).await, "result");
    subject.overwrite("result", &result).await;
    replays(&subject, pay, &key("k")).await;
    subject
        .run("UPDATE idem_record SET status = 2, failure = result, result = NULL")
        .await;
    is_not_authentic(&refused(&subject, pay, &key("k")).await, "failure");
}

pub(crate) async fn a_payload_with_a_byte_changed_is_refused<S: Subject>() {
    let (subject, pay) = (S::fresh().await, pay(encrypting()));
    first(&subject, pay, &key("k")).await;
    let stored = subject.payload("result").await;
    // The form, the id of the key, the nonce, the first and the last of the ciphertext, the tag.
    for (at, is_authentic) in [
        (0, false),
        (4, false),
        (5, false),
        (16, false),
        (17, false),
        (stored.len() - 17, false),
        (stored.len() - 1, false),
        (stored.len(), true),
    ] {
        let mut changed = stored.clone();
        match changed.get_mut(at) {
            Some(byte) => *byte ^= 1,
            None => assert!(is_authentic),
        }
        subject.overwrite("result", &changed).await;
        if is_authentic {
            replays(&subject, pay, &key("k")).await;
            continue;
        }
        let refusal = refused(&subject, pay, &key("k")).await;
        match at {
            // 2 became 3: compressed and encrypted. The head is bound to the payload, too.
            0 | 5.. => is_not_authentic(&refusal, "result"),
            _ => {
                let expected = CodecFault::UnknownKey {
                    what: "result",
                    key_id: 0,
                };
                assert!(
                    matches!(&refusal, Error::Codec(fault) if *fault == expected),
                    "{at}: {refusal:?}"
                );
            }
        }
    }
    // Cut, or of a form that no build knows.
    for payload in [&stored[..32], &[8, 1, 2]] {
        subject.overwrite("result", payload).await;
        let refusal = refused(&subject, pay, &key("k")).await;
        assert!(matches!(refusal, Error::UnknownState { .. }), "{refusal:?}");
    }
}

pub(crate) async fn another_key_with_the_same_id_is_refused<S: Subject>() {
    let subject = S::fresh().await;
    let unchecked = pay(encrypting()).without_fingerprint();
    first(&subject, unchecked, &key("k")).await;
    let other = Keyring::new(KeyId::new(1), &secret(9));
    let unchecked = pay(codec(Protection::encrypted(other))).without_fingerprint();
    is_not_authentic(&refused(&subject, unchecked, &key("k")).await, "result");
}
