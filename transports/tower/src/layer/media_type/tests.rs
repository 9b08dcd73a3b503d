//! Which spellings are one media type.

use proptest::prelude::*;

use super::*;

#[test]
fn spellings_of_one_media_type_are_one() {
    for (one, other) in [
        ("application/json", "Application/JSON; charset=utf-8"),
        ("application/json", "application/json;charset=\"UTF-8\" ; "),
        ("text/a; b=C; d=\"e f\"", "TEXT/A;D=\"e \\f\" ;B=C"),
        ("text/plain;charset=utf-8", "text/plain; charset=UTF-8"),
        (
            "application/x-www-form-urlencoded",
            "application/x-www-form-urlencoded;charset=utf8",
        ),
    ] {
        let [one, other] = [one, other].map(|text| MediaType::parse(text.as_bytes()));
        assert!(one.is_some());
        assert_eq!(one, other);
    }
}

#[test]
fn media_types_that_differ_stay_different() {
    let all = [
        "application/json",
        "application/json; charset=latin1",
        "application/problem+json",
        "application/json; v=a",
        "application/json; v=A",
        "application/json; v=\"a,b\"",
        "text/plain",
        "text/plain; charset=utf-8",
    ];
    for (index, one) in all.iter().enumerate() {
        let one = MediaType::parse(one.as_bytes()).expect("a media type");
        for other in &all[index + 1..] {
            assert_ne!(Some(&one), MediaType::parse(other.as_bytes()).as_ref());
        }
    }
}

#[test]
fn what_is_no_media_type_is_none() {
    for text in [
        "",
        "text",
        "text/",
        "/plain",
        "text/plain text",
        "text/plain; a",
        "text/plain; a=",
        "text/plain; a=\"b",
        "text/plain; a=b; A=c",
        "text/plain, text/html",
        "text/plain; a = b",
    ] {
        assert_eq!(MediaType::parse(text.as_bytes()), None, "{text}");
    }
}

proptest! {
    #[test]
    fn a_parameter_is_what_stands_in_its_quotes(value in "[ -~]{0,20}") {
        let quoted = value.replace('\\', "\\\\").replace('"', "\\\"");
        let mut media_type =
            MediaType::parse(format!("multipart/x; boundary=\"{quoted}\"").as_bytes()).expect("a media type");
        let again = MediaType::parse(media_type.text().as_bytes());
        prop_assert_eq!(again.as_ref(), Some(&media_type));
        prop_assert_eq!(media_type.take_boundary(), Some(value));
    }
}
