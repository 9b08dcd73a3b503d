//! Sizes as people write them: `512B`, `64KiB`, `4MiB`.

/// The units, each with its factor and its other spellings.
const UNITS: [(&str, u64, &[&str]); 3] = [
    (
        "MiB",
        1024 * 1024,
        &["mib", "m", "mb", "megabytes", "mebibytes"],
    ),
    ("KiB", 1024, &["kib", "k", "kb", "kilobytes", "kibibytes"]),
    ("B", 1, &["b", "byte", "bytes"]),
];

/// Reads a size, in bytes: a whole number above zero with its unit. The error says what to type instead.
pub(crate) fn parse(text: &str) -> Result<u64, String> {
    if text.trim().is_empty() {
        return Err("it is empty: write a number and a unit, such as `64KiB`".to_owned());
    }
    if text.starts_with('-') {
        return Err("a size cannot be negative".to_owned());
    }
    if text.contains(['.', ',']) {
        return Err("only whole numbers are accepted: write `1536KiB`, not `1.5MiB`".to_owned());
    }
    let plain = text.trim();
    let digits = plain.bytes().take_while(u8::is_ascii_digit).count();
    let (number, unit) = plain.split_at(digits);
    if number.is_empty() {
        return Err("write a number and a unit, such as `64KiB`".to_owned());
    }
    if unit.is_empty() {
        return Err(format!(
            "add the unit: write `{number}B`, `{number}KiB` or `{number}MiB`"
        ));
    }
    let Some((_, factor, _)) = UNITS.into_iter().find(|(name, ..)| *name == unit) else {
        let word = unit.trim().to_ascii_lowercase();
        let meant = UNITS
            .into_iter()
            .find(|(_, _, others)| others.contains(&&*word));
        return Err(match meant {
            Some((name, ..)) => format!("write `{number}{name}`"),
            None => format!(
                "`{}` is not a unit here: use `B`, `KiB` or `MiB`",
                unit.trim()
            ),
        });
    };
    if plain != text {
        return Err(format!("write `{plain}`"));
    }
    let bytes = number.parse::<u64>().ok();
    match bytes.and_then(|number| number.checked_mul(factor)) {
        Some(0) => Err("it must be more than zero".to_owned()),
        Some(bytes) => Ok(bytes),
        None => Err("the number is too large".to_owned()),
    }
}

/// Formats the size in the largest unit that divides it, for messages.
pub(crate) fn display(bytes: u64) -> String {
    let (name, factor, _) = UNITS
        .into_iter()
        .find(|(_, factor, _)| bytes.is_multiple_of(*factor))
        .unwrap_or(("B", 1, &[]));
    format!("{}{name}", bytes / factor)
}

#[cfg(test)]
mod tests {
    use super::{display, parse};

    #[test]
    fn a_size_is_a_number_of_bytes() {
        assert_eq!(parse("512B"), Ok(512));
        assert_eq!(parse("64KiB"), Ok(65_536));
        assert_eq!(parse("4MiB"), Ok(4_194_304));
        assert_eq!(display(65_536), "64KiB");
        assert_eq!(display(1_000), "1000B");
        assert_eq!(display(256 * 1024 * 1024), "256MiB");
    }

    #[test]
    fn every_fault_has_its_own_help() {
        for (text, help) in [
            (
                "",
                "it is empty: write a number and a unit, such as `64KiB`",
            ),
            ("-1KiB", "a size cannot be negative"),
            (
                "1.5MiB",
                "only whole numbers are accepted: write `1536KiB`, not `1.5MiB`",
            ),
            ("KiB", "write a number and a unit, such as `64KiB`"),
            ("64", "add the unit: write `64B`, `64KiB` or `64MiB`"),
            ("64kb", "write `64KiB`"),
            ("64 KB", "write `64KiB`"),
            ("64 KiB", "write `64KiB`"),
            (" 64KiB", "write `64KiB`"),
            ("2 megabytes", "write `2MiB`"),
            ("100 bytes", "write `100B`"),
            ("1GiB", "`GiB` is not a unit here: use `B`, `KiB` or `MiB`"),
            (
                "1KiB2B",
                "`KiB2B` is not a unit here: use `B`, `KiB` or `MiB`",
            ),
            ("0B", "it must be more than zero"),
            ("99999999999999999999B", "the number is too large"),
            ("99999999999999999MiB", "the number is too large"),
        ] {
            assert_eq!(parse(text), Err(help.to_owned()), "for {text:?}");
        }
    }
}
