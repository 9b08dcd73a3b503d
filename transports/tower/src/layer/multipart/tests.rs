//! One body under two boundaries is one; whatever else differs, or could be divided otherwise, is not.

use proptest::prelude::*;

use super::*;

/// A form of these parts, as HTTP clients write it.
fn form(boundary: &str, parts: &[(&str, &[u8])]) -> Vec<u8> {
    let mut body = Vec::new();
    for (headers, content) in parts {
        body.extend(format!("--{boundary}\r\n{headers}\r\n").into_bytes());
        body.extend(*content);
        body.extend(b"\r\n");
    }
    body.extend(format!("--{boundary}--\r\n").into_bytes());
    body
}

const NOTE: &str = "Content-Disposition: form-data; name=\"note\"\r\n";
const FILE: &str = "Content-Disposition: form-data; name=\"file\"; filename=\"a.bin\"\r\nContent-Type: application/octet-stream\r\n";

#[test]
fn a_form_under_another_boundary_is_the_same() {
    let parts: [(&str, &[u8]); 2] = [(NOTE, b"tea"), (FILE, b"\x00\r\n--\r\n\xff")];
    let one = digest(&form("----one7f3c", &parts), "----one7f3c");
    assert!(one.is_ok());
    assert_eq!(one, digest(&form("2", &parts), "2"));
    let lower = NOTE.replace("Content-Disposition: ", "content-disposition:");
    let again = form("3", &[(&lower, b"tea"), parts[1]]);
    assert_eq!(one, digest(&again, "3"));
}

#[test]
fn forms_that_differ_in_anything_else_differ() {
    let renamed = FILE.replace("a.bin", "b.bin");
    let retyped = FILE.replace("octet-stream", "pdf");
    let all: [&[(&str, &[u8])]; 10] = [
        &[(NOTE, b"tea"), (FILE, b"1")],
        &[(FILE, b"1"), (NOTE, b"tea")],
        &[(NOTE, b"tea")],
        &[(NOTE, b"tea"), (NOTE, b"tea"), (FILE, b"1")],
        &[(NOTE, b"tee"), (FILE, b"1")],
        &[(NOTE, b"tea\r\n"), (FILE, b"1")],
        &[(NOTE, b"tea"), (&renamed, b"1")],
        &[(NOTE, b"tea"), (&retyped, b"1")],
        &[("", b"tea"), (FILE, b"1")],
        &[],
    ];
    let all = all.map(|parts| digest(&form("b", parts), "b").expect("a form"));
    for (index, one) in all.iter().enumerate() {
        assert!(!all[index + 1..].contains(one), "{index}");
    }
}

#[test]
fn parts_within_a_part_are_compared_without_their_boundary_too() {
    let mixed = |outer: &str, inner: &str, content: &[u8]| {
        let header = format!("Content-Type: multipart/mixed; boundary=\"{inner}\"\r\n");
        let body = form(outer, &[(&header, &form(inner, &[(FILE, content)]))]);
        digest(&body, outer)
    };
    let one = mixed("a", "b", b"tea");
    assert!(one.is_ok());
    assert_eq!(one, mixed("c", "d", b"tea"));
    assert_ne!(one, mixed("a", "b", b"tee"));
}

#[test]
fn what_could_be_divided_in_another_place_is_refused() {
    for body in [
        "",
        "tea",
        "--b",
        "--b\r\n",
        "--b\r\nA: b\r\n\r\ntea",
        "--b\r\nA: b\r\n\r\ntea\r\n--b",
        "--b\r\nA: b\r\n\r\ntea--b--",
        "--b\r\nA: b\r\n\r\ntea\n--b--",
        "--b\nA: b\n\ntea\n--b--\n",
        "--b\r\nA: b\r\n\r\n--b\r\n--b--",
        "--b\r\nA: b\r\n\r\ntea --b\r\n--b--",
        "--b\r\nA: b\r\n\r\ntea\r\n--bc\r\n--b--",
        "--b\r\nA: b\r\n\r\ntea\r\n--b--\r\n--b--",
        "--b\r\nA: b\r\n\r\ntea\r\n--b--tea",
        "--b\r\nA: b\r\n\r\ntea\r\n--b--\n--b",
        "--b\r\nA: b\r\n c\r\n\r\ntea\r\n--b--",
        "--b\r\nA: b\nC: d\r\n\r\ntea\r\n--b--",
        "--b\r\nA b\r\n\r\ntea\r\n--b--",
        "--b\r\nA: b\r\ntea\r\n--b--",
        "--b\r\nA: b\r\n--b--",
        "tea--b\r\nA: b\r\n\r\ntea\r\n--b--",
    ] {
        assert!(digest(body.as_bytes(), "b").is_err(), "{body:?}");
    }
    assert!(digest(b"----\r\n\r\n\r\n------", "--").is_err());
    assert!(digest(b"--\r\n\r\n\r\n----", "").is_err());
}

#[test]
fn what_stands_around_the_parts_and_white_space_after_a_boundary_does_no_harm() {
    let plain = digest(b"--b\r\nA: b\r\n\r\ntea\r\n--b--", "b");
    assert!(plain.is_ok());
    assert_eq!(plain, digest(b"--b \t\r\nA: b\r\n\r\ntea\r\n--b--", "b"));
    let around = digest(b"see below\r\n--b\r\nA: b\r\n\r\ntea\r\n--b--\r\nbye", "b");
    assert!(around.is_ok());
    assert_ne!(plain, around);
}

/// Contents out of the bytes that divide, above all.
fn contents() -> impl Strategy<Value = Vec<Vec<u8>>> {
    let byte = prop_oneof![
        Just(b'-'),
        Just(b'\r'),
        Just(b'\n'),
        Just(b'a'),
        Just(b'b'),
        any::<u8>()
    ];
    prop::collection::vec(prop::collection::vec(byte, 0..12), 0..4)
}

proptest! {
    #[test]
    fn bodies_are_one_exactly_when_their_contents_are(
        one in contents(),
        other in contents(),
        boundaries in ("[ab]{1,3}", "[ab]{1,3}"),
    ) {
        let of = |contents: &[Vec<u8>], boundary: &str| {
            let parts: Vec<(&str, &[u8])> =
                contents.iter().map(|content| (NOTE, content.as_slice())).collect();
            digest(&form(boundary, &parts), boundary)
        };
        let first = of(&one, &boundaries.0);
        // A boundary that a content has is no boundary, and is refused.
        let has = |boundary: &str| {
            let delimiter = format!("--{boundary}").into_bytes();
            one.iter().any(|content| content.windows(delimiter.len()).any(|part| part == delimiter))
        };
        if !has(&boundaries.0) && !has(&boundaries.1) {
            prop_assert!(first.is_ok());
            prop_assert_eq!(first, of(&one, &boundaries.1));
        }
        let second = of(&other, &boundaries.1);
        if first.is_ok() && one != other {
            prop_assert_ne!(first, second);
        }
    }

    #[test]
    fn no_bytes_make_it_panic(body in prop::collection::vec(any::<u8>(), 0..200), boundary in ".{0,4}") {
        let _ = digest(&body, &boundary);
        let _ = digest(&[b"--", boundary.as_bytes(), b"\r\n", &body].concat(), &boundary);
    }
}
