//! The grammar of durations in the attribute, compared with its description in words.

/// The macro crate's source, because a crate of procedural macros exports nothing else.
#[path = "../../idem-macros/src/duration.rs"]
mod grammar;

/// Reads whole numbers, each with a unit: the larger unit first, no unit twice, more than zero in
/// total.
fn by_the_sentence(text: &str) -> Option<u64> {
    let mut rest: Vec<char> = text.chars().rev().collect();
    let mut seconds: u128 = 0;
    for (letter, unit) in [('d', 86_400), ('h', 3_600), ('m', 60), ('s', 1)] {
        let mut ahead = rest.clone();
        let mut number: u128 = 0;
        let mut digits = 0;
        while let Some(digit) = ahead.last().and_then(|c| c.to_digit(10)) {
            ahead.pop();
            digits += 1;
            number = number.saturating_mul(10).saturating_add(digit.into());
        }
        if digits > 0 && ahead.pop() == Some(letter) {
            rest = ahead;
            seconds = seconds.saturating_add(number.saturating_mul(unit));
        }
    }
    let seconds = u64::try_from(seconds).ok()?;
    (rest.is_empty() && seconds > 0).then_some(seconds)
}

pub(crate) fn law(input: &[u8]) {
    let text = String::from_utf8_lossy(input);
    let found = grammar::parse(&text);
    assert_eq!(found.as_ref().ok(), by_the_sentence(&text).as_ref());
    match found {
        Ok(seconds) => assert_eq!(grammar::parse(&grammar::display(seconds)), Ok(seconds)),
        Err(help) => {
            // A user who types what the error suggests gets no further error, except about the
            // number.
            let suggested = help
                .strip_prefix("write `")
                .and_then(|rest| rest.strip_suffix('`'));
            if let Some(Err(next)) = suggested.map(grammar::parse) {
                let number = ["it must be more than zero", "the number is too large"];
                assert!(number.contains(&&*next), "{help}, and then: {next}");
            }
        }
    }
}
