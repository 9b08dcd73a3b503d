//! The String of RFC 8941, section 3.3.3, with its parameters, and lists of them as proxies join them.

/// One `escaped` character of a string, or any character except a space.
macro_rules! byte_class {
    () => {
        r#"(?:[!#-\[\]-~]|\\["\\])"#
    };
}

/// Any character of a string.
macro_rules! character {
    () => {
        r#"(?:[ !#-\[\]-~]|\\["\\])"#
    };
}

/// A bare item, behind a parameter's `=`.
macro_rules! item {
    () => {
        concat!(
            r"(?:-?[0-9]{1,15}|-?[0-9]{1,12}\.[0-9]{1,3}|\?[01]|:[A-Za-z0-9+/=]*:",
            r"|[A-Za-z*][!#$%&'*+.^_`|~0-9A-Za-z:/-]*|",
            "\"",
            character!(),
            "*\")"
        )
    };
}

/// A string of 1 to 255 characters, not counting blanks at its ends, and parameters.
macro_rules! string {
    () => {
        concat!(
            "\" *",
            byte_class!(),
            "(?:",
            character!(),
            "{0,253}",
            byte_class!(),
            ")? *\"(?:; *[a-z*][a-z0-9_.*-]*(?:=",
            item!(),
            ")?)*"
        )
    };
}

macro_rules! bare {
    () => {
        r"[-!#-+.-:<-\[\]-~]{1,255}"
    };
}

/// The back-reference matches equal lines that a proxy joined.
pub(super) const LENIENT: &str = concat!("^(", bare!(), "|", string!(), r")(?:[ \t]*,[ \t]*\1)*$");
pub(super) const STRICT: &str = concat!("^", string!(), "$");

/// The characters from which the property test makes values.
#[cfg(test)]
pub(super) const PARTS: [&str; 2] = [bare!(), string!()];

/// Splits a line that a proxy may have joined at the commas outside strings. Removes the white space
/// around the values, which is not part of a value (RFC 9110, section 5.5).
pub(super) fn members(line: &[u8]) -> impl Iterator<Item = &[u8]> {
    let (mut quoted, mut escaped) = (false, false);
    line.split(move |&byte| {
        let separates = byte == b',' && !quoted;
        match byte {
            _ if escaped => escaped = false,
            b'\\' if quoted => escaped = true,
            b'"' => quoted = !quoted,
            _ => {}
        }
        separates
    })
    .map(<[u8]>::trim_ascii)
}

/// Returns the text of a string without its quotes and parameters, or `None` if it is no string.
pub(super) fn unquoted(bytes: &[u8]) -> Option<String> {
    let (text, behind) = string(bytes)?;
    are_parameters(behind).then_some(text)
}

/// Returns a string and the text after it.
fn string(bytes: &[u8]) -> Option<(String, &[u8])> {
    let mut rest = bytes.strip_prefix(b"\"")?;
    let mut text = String::new();
    loop {
        rest = match rest {
            [b'"', behind @ ..] => return Some((text, behind)),
            [b'\\', byte @ (b'"' | b'\\'), behind @ ..]
            | [byte @ (b' '..=b'[' | b']'..=b'~'), behind @ ..] => {
                text.push(char::from(*byte));
                behind
            }
            _ => return None,
        };
    }
}

/// Returns whether the text is empty or consists of parameters (section 3.1.2).
fn are_parameters(mut rest: &[u8]) -> bool {
    while let [b';', behind @ ..] = rest {
        let spaces = prefix(behind, |byte| byte == b' ').len();
        let behind = &behind[spaces..];
        if !matches!(behind, [b'a'..=b'z' | b'*', ..]) {
            return false;
        }
        let name = prefix(
            behind,
            |byte| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'_' | b'-' | b'.' | b'*'),
        );
        rest = &behind[name.len()..];
        if let [b'=', value @ ..] = rest {
            match item(value) {
                Some(behind) => rest = behind,
                None => return false,
            }
        }
    }
    rest.is_empty()
}

/// Returns the text after a bare item (section 3.3), or `None` if there is none.
fn item(bytes: &[u8]) -> Option<&[u8]> {
    match bytes {
        [b'"', ..] => string(bytes).map(|(_, behind)| behind),
        [b'?', b'0' | b'1', behind @ ..] => Some(behind),
        [b':', base64 @ ..] => {
            let text = prefix(base64, |byte| {
                byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'=')
            });
            base64[text.len()..].strip_prefix(b":")
        }
        [b'A'..=b'Z' | b'a'..=b'z' | b'*', behind @ ..] => {
            let token = prefix(behind, |byte| {
                byte.is_ascii_alphanumeric() || b"!#$%&'*+.^_`|~:/-".contains(&byte)
            });
            Some(&behind[token.len()..])
        }
        [b'-', number @ ..] | number => number_end(number),
    }
}

/// Returns the text after a number without its sign.
fn number_end(bytes: &[u8]) -> Option<&[u8]> {
    let whole = prefix(bytes, |byte| byte.is_ascii_digit()).len();
    match &bytes[whole..] {
        [b'.', behind @ ..] if (1..=12).contains(&whole) => {
            let fraction = prefix(behind, |byte| byte.is_ascii_digit()).len();
            (1..=3).contains(&fraction).then(|| &behind[fraction..])
        }
        behind => (1..=15).contains(&whole).then_some(behind),
    }
}

fn prefix(bytes: &[u8], belongs: impl Fn(u8) -> bool) -> &[u8] {
    let end = bytes.iter().position(|&byte| !belongs(byte));
    &bytes[..end.unwrap_or(bytes.len())]
}
