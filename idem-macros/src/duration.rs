//! Durations as people write them: `90s`, `30m`, `24h`, `7d`, `1d12h`.

const UNITS: [(char, u64, &str); 4] = [
    ('d', 86_400, "days"),
    ('h', 3_600, "hours"),
    ('m', 60, "minutes"),
    ('s', 1, "seconds"),
];

/// Reads a duration, in seconds. The error says what to type instead.
///
/// A duration is a sequence of whole numbers, each with a unit: the larger unit first, no unit
/// twice, and more than zero in total.
pub(crate) fn parse(text: &str) -> Result<u64, String> {
    let plain = text.trim();
    if plain.is_empty() {
        return Err("it is empty: write a number and a unit, such as `24h`".to_owned());
    }
    if plain != text || text.contains(char::is_whitespace) {
        return Err(match spelled_out(text) {
            Some(short) => format!("write `{short}`"),
            None => "write it without spaces, such as `24h` or `1d12h`".to_owned(),
        });
    }
    if text.starts_with('-') {
        return Err("a duration cannot be negative".to_owned());
    }
    if text.contains(['.', ',']) {
        return Err("only whole numbers are accepted: write `1h30m`, not `1.5h`".to_owned());
    }
    if text.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(format!(
            "add the unit: write `{text}s`, `{text}m`, `{text}h` or `{text}d`"
        ));
    }
    let seconds = sum(text)?;
    if seconds == 0 {
        return Err("it must be more than zero".to_owned());
    }
    Ok(seconds)
}

/// Adds up the parts of a text that has no spaces, signs or decimal points.
fn sum(text: &str) -> Result<u64, String> {
    let mut rest = text;
    let mut largest_left = 0;
    let mut total: u64 = 0;
    while !rest.is_empty() {
        let digits = rest
            .find(|c: char| !c.is_ascii_digit())
            .unwrap_or(rest.len());
        let (number, tail) = rest.split_at(digits);
        let word = tail
            .find(|c: char| c.is_ascii_digit())
            .unwrap_or(tail.len());
        let (unit, tail) = tail.split_at(word);
        if number.is_empty() {
            return Err(format!("write a number before `{unit}`"));
        }
        if unit.is_empty() {
            return Err(format!("add the unit of the last part: write `{text}s`"));
        }
        let Some(position) = UNITS
            .iter()
            .position(|(letter, ..)| unit.len() == 1 && unit.starts_with(*letter))
        else {
            return Err(match spelled_out(rest) {
                Some(short) if rest == text => format!("write `{short}`"),
                _ => format!("`{unit}` is not a unit here: use `s`, `m`, `h` or `d`"),
            });
        };
        if position < largest_left {
            return Err("write each unit once, the larger first: `1d12h`".to_owned());
        }
        largest_left = position + 1;
        total = number
            .parse::<u64>()
            .ok()
            .and_then(|number| number.checked_mul(UNITS[position].1))
            .and_then(|part| total.checked_add(part))
            .ok_or_else(|| "the number is too large".to_owned())?;
        rest = tail;
    }
    Ok(total)
}

/// Returns the short form of `24 hours`, `24 h` or `24hrs`, if `text` is one number and one known
/// word.
fn spelled_out(text: &str) -> Option<String> {
    let text = text.trim();
    let digits = text.find(|c: char| !c.is_ascii_digit())?;
    let (number, word) = text.split_at(digits);
    let word = word.trim().to_ascii_lowercase();
    if matches!(word.as_str(), "w" | "wk" | "wks" | "week" | "weeks") {
        let days = number.parse::<u64>().ok()?.checked_mul(7)?;
        return Some(format!("{days}d"));
    }
    let letter = UNITS.iter().find_map(|(letter, _, plural)| {
        let singular = plural.trim_end_matches('s');
        let known = word == *plural
            || word == singular
            || word.len() == 1 && word.starts_with(*letter)
            || matches!(
                (word.as_str(), letter),
                ("hr" | "hrs", 'h') | ("min" | "mins", 'm') | ("sec" | "secs", 's')
            );
        known.then_some(letter)
    })?;
    (!number.is_empty()).then(|| format!("{number}{letter}"))
}

/// Formats the duration in the largest unit that divides it, for messages.
pub(crate) fn display(seconds: u64) -> String {
    let (letter, unit, _) = UNITS
        .into_iter()
        .find(|(_, unit, _)| seconds.is_multiple_of(*unit))
        .unwrap_or(('s', 1, "seconds"));
    format!("{}{letter}", seconds / unit)
}

#[cfg(test)]
mod tests {
    use super::parse;

    #[test]
    fn units_add_up_to_seconds() {
        assert_eq!(parse("90s"), Ok(90));
        assert_eq!(parse("30m"), Ok(1_800));
        assert_eq!(parse("24h"), Ok(86_400));
        assert_eq!(parse("7d"), Ok(604_800));
        assert_eq!(parse("1d12h"), Ok(129_600));
        assert_eq!(parse("1d2h3m4s"), Ok(93_784));
    }

    #[test]
    fn every_fault_has_its_own_help() {
        for (text, help) in [
            ("", "it is empty: write a number and a unit, such as `24h`"),
            ("24 hours", "write `24h`"),
            ("24hours", "write `24h`"),
            ("2 min", "write `2m`"),
            (" 24h", "write `24h`"),
            (
                "1 d 12 h",
                "write it without spaces, such as `24h` or `1d12h`",
            ),
            ("-1h", "a duration cannot be negative"),
            (
                "1.5h",
                "only whole numbers are accepted: write `1h30m`, not `1.5h`",
            ),
            ("24", "add the unit: write `24s`, `24m`, `24h` or `24d`"),
            ("1h30", "add the unit of the last part: write `1h30s`"),
            ("h", "write a number before `h`"),
            ("500ms", "`ms` is not a unit here: use `s`, `m`, `h` or `d`"),
            ("24H", "write `24h`"),
            ("1 week", "write `7d`"),
            ("2weeks", "write `14d`"),
            ("1w", "write `7d`"),
            ("1w2d", "`w` is not a unit here: use `s`, `m`, `h` or `d`"),
            ("12h1d", "write each unit once, the larger first: `1d12h`"),
            ("1h1h", "write each unit once, the larger first: `1d12h`"),
            ("0s", "it must be more than zero"),
            ("0d0h", "it must be more than zero"),
            ("99999999999999999999s", "the number is too large"),
            ("9999999999999999999d", "the number is too large"),
        ] {
            assert_eq!(parse(text), Err(help.to_owned()), "for {text:?}");
        }
    }
}
