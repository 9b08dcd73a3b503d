//! Compression above a threshold, and its limit.

use idem_runtime::Error;
use idem_runtime::codec::{Codec, Compression, Protection};
use idem_runtime::error::CodecFault;

use crate::desk::{PayError, codec, key, pay, refused, ring};
use crate::subject::Subject;

fn compressing() -> &'static Codec {
    codec(Protection::compressed(Compression::new().threshold(100)))
}

/// Records a result of this many letters, and expects it again. Returns what is stored.
async fn record<S: Subject>(subject: &S, codec: &'static Codec, letters: usize) -> Vec<u8> {
    subject.run("DELETE FROM idem_record").await;
    let text = "a".repeat(letters);
    for replayed in [false, true] {
        let body = async |_: &mut sqlx::Transaction<'_, S::Db>| Ok::<_, PayError>(text.clone());
        let done = pay(codec).run(subject.pool(), &key("k"), &1, body).await;
        let done = done.expect("recorded");
        assert_eq!((done.replayed(), done.len()), (replayed, letters));
    }
    subject.payload("result").await
}

pub(crate) async fn what_is_long_is_compressed_and_what_is_short_is_not<S: Subject>() {
    let (subject, codec) = (S::fresh().await, compressing());
    let short = record(&subject, codec, 98).await;
    assert_eq!((short.len(), short[0]), (100, b'"'));
    let long = record(&subject, codec, 10_000).await;
    assert!(long.len() < 100 && long[0] == 1, "{}", long.len());
    // The fingerprint is the plain one: it is compared by every build.
    let version = "SELECT CAST(fingerprint_version AS ";
    let sql = format!("{version}{}) FROM idem_record", S::BIG);
    assert_eq!(subject.number(&sql).await, 1);
    let body = async |_: &mut sqlx::Transaction<'_, S::Db>| Ok::<_, PayError>(String::new());
    let in_clear = crate::desk::in_clear();
    let refused = in_clear.run(subject.pool(), &key("k"), &1, body).await;
    let refused = refused
        .map(|done| done.replayed())
        .expect_err("refused")
        .refusal();
    assert!(
        matches!(
            refused,
            Error::UnknownState {
                what: "codec",
                value: 2
            }
        ),
        "{refused:?}"
    );
}

pub(crate) async fn compressed_and_encrypted_comes_back<S: Subject>() {
    let subject = S::fresh().await;
    let both = Protection::encrypted(ring(1)).compress_first(Compression::new());
    let both = codec(both);
    let long = record(&subject, both, 10_000).await;
    assert!(long.len() < 150 && long[0] == 3, "{}", long.len());
    // A codec that no longer compresses still reads.
    let before = "a".repeat(10_000);
    both.install(Protection::encrypted(ring(1)))
        .expect("changed");
    let body = async |_: &mut sqlx::Transaction<'_, S::Db>| Ok::<_, PayError>(String::new());
    let again = pay(both).run(subject.pool(), &key("k"), &1, body).await;
    let again = again.expect("read");
    assert!(again.replayed() && *again == before);
}

pub(crate) async fn what_would_be_too_long_is_refused_by_the_limit<S: Subject>() {
    let (subject, codec) = (S::fresh().await, compressing());
    record(&subject, codec, 10_000).await;
    let limited = Compression::new().threshold(100).limit(5_000);
    codec
        .install(Protection::compressed(limited))
        .expect("changed");
    let operation = pay(codec).without_fingerprint();
    let refusal = refused(&subject, operation, &key("k")).await;
    let expected = CodecFault::TooLarge {
        what: "result",
        size: 10_002,
        limit: 5_000,
    };
    assert!(
        matches!(&refusal, Error::Codec(fault) if *fault == expected),
        "{refusal:?}"
    );
    assert!(
        refusal.to_string().contains("`Compression::limit`"),
        "{refusal}"
    );
    // What is longer than the limit is written as it is, so that it can be read.
    let long = record(&subject, codec, 10_000).await;
    assert_eq!(long.len(), 10_002);
    // A frame that was cut.
    codec
        .install(Protection::compressed(Compression::new()))
        .expect("changed");
    let frame = record(&subject, codec, 10_000).await;
    subject.overwrite("result", &frame[..frame.len() - 1]).await;
    let refusal = refused(&subject, operation, &key("k")).await;
    let expected = CodecFault::Damaged { what: "result" };
    assert!(
        matches!(&refusal, Error::Codec(fault) if *fault == expected),
        "{refusal:?}"
    );
}
