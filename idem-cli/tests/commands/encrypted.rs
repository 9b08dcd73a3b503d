//! Records of operations whose payloads are encrypted or compressed; the program has no keys.

use crate::program::{idem, signed};
use crate::story::{ORDER, completed, unknown};
use crate::subject::Subject;

/// An envelope under the key with id 7, of which this program can read the head alone.
const SEALED: &str = "0200000007000102030405060708090a0b\
    ffffffffffffffffffffffffffffffffffffffffffffffff";

/// `{"text":"tangerine"}`, as a zstd frame that states its size.
const COMPRESSED: &str = "0128b52ffd2014a100007b2274657874223a2274616e676572696e65227d";

async fn overwrite<S: Subject>(subject: &S, column: &str, digits: &str) {
    let value = match S::DATABASE {
        "postgres" => format!("decode('{digits}', 'hex')"),
        _ => format!("x'{digits}'"),
    };
    let sql = format!("UPDATE idem_record SET codec = 2, {column} = {value}");
    subject.run(&sql).await;
}

pub(crate) async fn an_encrypted_payload_is_named_by_its_key<S: Subject>() {
    let subject = S::fresh().await;
    completed(&subject, "order-17").await;
    overwrite(&subject, "result", SEALED).await;
    let hidden = idem(&subject, &[&["show"], &ORDER[..]].concat()).await;
    let sentence = "41 bytes, encrypted under the key with id 7, which this program does not have";
    assert!(hidden.done().out.contains(sentence));
    let revealed = idem(&subject, &[&["show", "--reveal"], &ORDER[..]].concat()).await;
    assert_eq!(revealed.code, 1, "{revealed:?}");
    assert!(revealed.out.contains(sentence), "{revealed:?}");
    let json = [&["show", "--reveal", "--json"], &ORDER[..]].concat();
    let json = idem(&subject, &json).await;
    assert_eq!(json.code, 1, "{json:?}");
    let json = json.json();
    assert_eq!(
        (&json["encrypted"]["result"], &json["codec"]),
        (&7.into(), &2.into())
    );
    assert!(json["result"].is_null(), "{json}");
    subject
        .run("UPDATE idem_record SET fingerprint_version = 101")
        .await;
    let keyed = format!("00000007{}", "ab".repeat(28));
    overwrite(&subject, "fingerprint", &keyed).await;
    let dir = tempfile::tempdir().expect("a directory");
    let file = dir.path().join("request.json");
    std::fs::write(&file, "{}").expect("written");
    let request = ["--request", file.to_str().expect("text")];
    let explained = idem(&subject, &[&["explain"], &ORDER[..], &request].concat()).await;
    assert_eq!(explained.code, 1, "{explained:?}");
    let sentence = "the fingerprint is keyed, and this program does not have the key with id 7";
    assert!(explained.out.contains(sentence), "{explained:?}");
}

pub(crate) async fn nothing_in_clear_is_written_beside_an_encrypted_payload<S: Subject>() {
    let subject = S::fresh().await;
    let _owner = unknown(&subject, "order-17").await;
    overwrite(&subject, "request", SEALED).await;
    let completed = [&["resolve", "completed"], &ORDER[..], &["--result", "1"]].concat();
    let refused = signed(&subject, &completed).await;
    refused.refused(1, "a result in clear would stand beside them");
    let never = [&["resolve", "never-happened"], &ORDER[..]].concat();
    signed(&subject, &never).await.done();
}

pub(crate) async fn what_is_only_compressed_is_shown<S: Subject>() {
    let subject = S::fresh().await;
    completed(&subject, "order-17").await;
    overwrite(&subject, "result", COMPRESSED).await;
    let revealed = idem(&subject, &[&["show", "--reveal"], &ORDER[..]].concat()).await;
    assert!(revealed.done().out.contains(r#"{"text":"tangerine"}"#));
}
