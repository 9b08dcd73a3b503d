//! The rule of a namespace is written once in the macro crate and once in the runtime: both accept the same texts.

use idem_runtime::Namespace;

#[path = "../../../idem-macros/src/namespace.rs"]
mod of_the_attribute;

/// Every character of ASCII and some beyond, and each length around the limit.
fn texts() -> Vec<String> {
    let odd = [
        '\u{80}', 'ä', 'ß', 'ı', 'Σ', '–', '１', '\u{200b}', '\u{feff}', '😀',
    ];
    let characters: Vec<char> = ('\0'..='\u{7f}').chain(odd).collect();
    let mut texts = vec![String::new()];
    for one in &characters {
        for frame in ["{}", "a{}", "{}a", "pay{}ments"] {
            texts.push(frame.replace("{}", &one.to_string()));
        }
        for length in 60..=68 {
            texts.push("a".repeat(length) + &one.to_string());
            texts.push(one.to_string().repeat(length));
        }
        for other in &characters {
            texts.push([*one, *other].iter().collect());
        }
    }
    texts
}

#[test]
fn the_attribute_and_the_runtime_accept_the_same_namespaces() {
    let (mut accepted, mut refused) = (0, 0);
    for text in texts() {
        let by_the_attribute = of_the_attribute::complaint(&text).is_none();
        assert_eq!(by_the_attribute, Namespace::new(&*text).is_ok(), "{text:?}");
        let count = if by_the_attribute {
            &mut accepted
        } else {
            &mut refused
        };
        *count += 1;
    }
    assert!(
        accepted > 1000 && refused > 1000,
        "{accepted} accepted, {refused} refused"
    );
}
