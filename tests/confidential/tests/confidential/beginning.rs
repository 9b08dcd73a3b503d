//! How an operation with records in clear begins to encrypt.

use idem_runtime::Error;
use idem_runtime::codec::Protection;
use idem_runtime::error::CodecFault;

use crate::desk::{codec, encrypting, first, in_clear, key, pay, refused, replays, ring};
use crate::subject::Subject;

pub(crate) async fn a_record_in_clear_is_refused_unless_it_is_accepted<S: Subject>() {
    let subject = S::fresh().await;
    first(&subject, in_clear(), &key("k")).await;
    let refusal = refused(&subject, pay(encrypting()), &key("k")).await;
    let expected = CodecFault::InClear { what: "result" };
    assert!(
        matches!(&refusal, Error::Codec(fault) if *fault == expected),
        "{refusal:?}"
    );
    let accepting = codec(Protection::encrypted(ring(1)).accept_clear());
    replays(&subject, pay(accepting), &key("k")).await;
    // Whoever can write to the table cannot replace an encrypted one.
    first(&subject, pay(encrypting()), &key("forged")).await;
    let forged = S::literal(br#"{"text":"forged"}"#);
    let sql = format!(
        "UPDATE idem_record SET result = {forged} WHERE {} = 'forged'",
        S::KEY
    );
    subject.run(&sql).await;
    for codec in [2, 1] {
        subject
            .run(&format!("UPDATE idem_record SET codec = {codec}"))
            .await;
        let refusal = refused(&subject, pay(encrypting()), &key("forged")).await;
        assert!(
            matches!(&refusal, Error::Codec(fault) if *fault == expected),
            "{refusal:?}"
        );
    }
}

pub(crate) async fn the_steps_of_a_beginning_read_each_other<S: Subject>() {
    let subject = S::fresh().await;
    let clear = in_clear();
    let prepared = pay(codec(Protection::encrypted(ring(1)).write_clear()));
    let accepting = pay(codec(Protection::encrypted(ring(1)).accept_clear()));
    let strict = pay(encrypting());
    for (writer, name, readers) in [
        (clear, "1", vec![clear, prepared]),
        (prepared, "2", vec![clear, prepared, accepting]),
        (accepting, "3", vec![prepared, accepting, strict]),
        (strict, "4", vec![accepting, strict]),
    ] {
        first(&subject, writer, &key(name)).await;
        for reader in readers {
            replays(&subject, reader, &key(name)).await;
        }
    }
}
