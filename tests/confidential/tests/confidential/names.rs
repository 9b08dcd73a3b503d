//! Keyed hashes in place of keys and scopes.

use idem_runtime::codec::{Codec, NameKey, Protection};
use idem_runtime::error::CodecFault;
use idem_runtime::{Error, IdempotencyKey, Scope};

use crate::desk::{ORDER, TENANT, codec, first, key, pay, replays, ring, secret};
use crate::subject::Subject;

fn protection(id: u8) -> Protection {
    Protection::encrypted(ring(1)).hash_names(NameKey::new(&secret(id)))
}

fn hashing() -> &'static Codec {
    codec(protection(7))
}

pub(crate) async fn neither_key_nor_scope_is_in_the_table<S: Subject>() {
    let (subject, pay) = (S::fresh().await, pay(hashing()));
    first(&subject, pay, &key(ORDER)).await;
    replays(&subject, pay, &key(ORDER)).await;
    let dump = subject.dump().await;
    for text in [ORDER, TENANT] {
        assert!(
            !dump.windows(text.len()).any(|part| part == text.as_bytes()),
            "{text}"
        );
    }
    let other = key("another-order");
    first(&subject, pay, &other).await;
    assert_eq!(subject.records().await, 2);
}

pub(crate) async fn an_operator_finds_a_record_by_the_stored_key<S: Subject>() {
    let (subject, codec) = (S::fresh().await, hashing());
    first(&subject, pay(codec), &key(ORDER)).await;
    assert!(subject.show(&key(ORDER)).await.is_none());
    let stored = codec.stored_key("payments", &key(ORDER)).expect("a scope");
    assert_eq!(stored.as_str().len(), 64);
    let found = subject.show(&stored).await.expect("it is there");
    let opened = found.open(codec).expect("by its codec");
    let result = opened.result.expect("a result");
    assert!(
        String::from_utf8(result)
            .expect("text")
            .contains("Ada Lovelace")
    );
    let unscoped = ORDER.parse::<IdempotencyKey>().expect("a key");
    let refused = codec.stored_key("payments", &unscoped);
    assert!(
        matches!(refused, Err(Error::ScopeMissing { .. })),
        "{refused:?}"
    );
}

pub(crate) async fn the_key_of_the_hashes_does_not_rotate<S: Subject>() {
    let (subject, codec) = (S::fresh().await, hashing());
    first(&subject, pay(codec), &key(ORDER)).await;
    let expected = CodecFault::NamesChanged { codec: "TEST" };
    for changed in [protection(8), Protection::encrypted(ring(1))] {
        let refused = codec.install(changed).expect_err("it would find no record");
        assert!(
            matches!(&refused, Error::Codec(fault) if *fault == expected),
            "{refused:?}"
        );
    }
    replays(&subject, pay(codec), &key(ORDER)).await;
    codec.install(protection(7)).expect("the same");
    replays(&subject, pay(codec), &key(ORDER)).await;
}

pub(crate) async fn one_scope_has_one_hash_and_one_key_has_one_in_each_scope<S: Subject>() {
    let (subject, codec) = (S::fresh().await, hashing());
    let other = Scope::new("tenant-of-bob").expect("a scope");
    let theirs = ORDER
        .parse::<IdempotencyKey>()
        .expect("a key")
        .scoped(other);
    let shared = ORDER.parse::<IdempotencyKey>().expect("a key").global();
    for key in [&key(ORDER), &key("second"), &theirs, &shared] {
        first(&subject, pay(codec), key).await;
    }
    let distinct = |column| format!("SELECT count(DISTINCT {column}) FROM idem_record");
    assert_eq!(subject.number(&distinct(S::KEY)).await, 4);
    assert_eq!(subject.number(&distinct("scope")).await, 3);
    let stored = codec.stored_key("payments", &shared).expect("a scope");
    assert_eq!(stored.scope(), Some(&Scope::GLOBAL));
    // A tenant is forgotten by the hash of its scope, in every namespace at once.
    let stored = codec.stored_key("mail", &key("any")).expect("a scope");
    let scope = stored.scope().expect("a scope").as_str();
    let of = format!("SELECT count(*) FROM idem_record WHERE scope = '{scope}'");
    assert_eq!(subject.number(&of).await, 2);
}
