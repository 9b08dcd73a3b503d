//! Numbers by their exact decimal value, computed digit by digit.

/// Returns the one spelling of a number in JSON's grammar, or `None` if its power of ten exceeds 64
/// bits.
pub(crate) fn canonical(number: &str) -> Option<String> {
    let (sign, number) = match number.strip_prefix('-') {
        Some(rest) => ("-", rest),
        None => ("", number),
    };
    let (mantissa, power) = number.split_once(['e', 'E']).unwrap_or((number, "0"));
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let mut digits: Vec<char> = whole.chars().chain(fraction.chars()).collect();
    let mut moved: i128 = 0;
    for _ in fraction.chars() {
        moved -= 1;
    }
    while digits.first() == Some(&'0') {
        digits.remove(0);
    }
    while digits.last() == Some(&'0') {
        digits.pop();
        moved += 1;
    }
    if digits.is_empty() {
        return Some("0".to_owned());
    }
    // A power beyond 128 bits is beyond 64 bits whatever is added.
    let power = power.parse::<i128>().ok()?.checked_add(moved)?;
    let power = i64::try_from(power).ok()?;
    let exponent = format!("{}e{power}", String::from_iter(&digits));
    // A number with more zeros than characters allowed is longer than the limit.
    let places = usize::try_from(power.unsigned_abs()).unwrap_or(usize::MAX);
    let plain = match power {
        0.. if places <= exponent.len() => String::from_iter(&digits) + &"0".repeat(places),
        ..0 if places <= exponent.len() => {
            while digits.len() <= places {
                digits.insert(0, '0');
            }
            digits.insert(digits.len() - places, '.');
            String::from_iter(&digits)
        }
        _ => return Some(format!("{sign}{exponent}")),
    };
    let is_shorter = exponent.len() < plain.len();
    Some(format!(
        "{sign}{}",
        if is_shorter { exponent } else { plain }
    ))
}

/// Returns the shortest decimal that reads back as a finite float. Of several it is the nearest; of
/// two equally near it is the one whose last digit is even.
///
/// `exact` is the float's own value, which every `f32` and `f64` has within 800 digits.
/// `reads_back` says whether a text is read as the float.
pub(crate) fn shortest(exact: f64, reads_back: impl Fn(&str) -> bool) -> String {
    let sign = if exact.is_sign_negative() { "-" } else { "" };
    let exact = format!("{:.800e}", exact.abs());
    let (mantissa, power) = exact.split_once('e').expect("an exponent was asked for");
    let digits: Vec<u8> = mantissa.bytes().filter(u8::is_ascii_digit).collect();
    let power: i32 = power.parse().expect("an exponent");
    let reads_back = |text: &str| reads_back(text).then(|| canonical(text)).flatten();
    for kept in 1..=17 {
        let rest = &digits[kept..];
        let below = spell(sign, &digits[..kept], power);
        let (raised, carry) = raise(&digits[..kept]);
        let above = spell(sign, &raised, power + i32::from(carry));
        let half = [&b"5"[..], &b"0".repeat(rest.len() - 1)].concat();
        let upper = rest > &half[..] || (rest == &half[..] && (digits[kept - 1] - b'0') % 2 == 1);
        match (reads_back(&below), reads_back(&above)) {
            (Some(below), Some(above)) => return if upper { above } else { below },
            (Some(one), None) | (None, Some(one)) => return one,
            (None, None) => {}
        }
    }
    unreachable!("17 digits distinguish all floats")
}

fn spell(sign: &str, digits: &[u8], power: i32) -> String {
    let digits = String::from_utf8_lossy(digits);
    let behind = i32::try_from(digits.len()).expect("few digits") - 1;
    format!("{sign}{digits}e{}", power - behind)
}

/// Adds one to the last digit. Returns the digits, and whether they became one more.
fn raise(digits: &[u8]) -> (Vec<u8>, bool) {
    let mut raised = digits.to_vec();
    for digit in raised.iter_mut().rev() {
        if *digit < b'9' {
            *digit += 1;
            return (raised, false);
        }
        *digit = b'0';
    }
    raised[0] = b'1';
    (raised, true)
}

#[cfg(test)]
mod tests {
    use super::{canonical, shortest};

    #[test]
    fn the_examples_of_the_documentation_come_out() {
        for (number, spelled) in [
            ("1", "1"),
            ("1.0", "1"),
            ("10e-1", "1"),
            ("5e-1", "0.5"),
            ("1000", "1e3"),
            ("0.0010", "1e-3"),
            ("-0.0e9", "0"),
            ("9007199254740993", "9007199254740993"),
        ] {
            assert_eq!(canonical(number).as_deref(), Some(spelled));
        }
        assert_eq!(canonical("1e9223372036854775808"), None);
    }

    #[test]
    fn a_float_is_its_shortest_decimal() {
        for (float, spelled) in [
            (0.1, "0.1"),
            (5e-324, "5e-324"),
            (-9.5, "-9.5"),
            (1e23, "1e23"),
        ] {
            let text = shortest(float, |text| text.parse() == Ok(float));
            assert_eq!(text, spelled);
        }
    }
}
