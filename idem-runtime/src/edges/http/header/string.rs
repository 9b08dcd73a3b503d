//! The String of RFC 8941, section 3.3.3, with its parameters; and lists, as proxies make them.

/// One `escaped` character of a string, or any but a space.
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

/// A string of 1 to 255 characters, blanks at its ends not counted, and parameters.
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

/// A proxy's join of equal lines is told by a reference to what the first one is.
pub(super) const LENIENT: &str = concat!("^(", bare!(), "|", string!(), r")(?:[ \t]*,[ \t]*\1)*$");
pub(super) const STRICT: &str = concat!("^", string!(), "$");

/// What the property test makes values of.
#[cfg(test)]
pub(super) const PARTS: [&str; 2] = [bare!(), string!()];

/// The values of a line that a proxy may have made of several: between commas that stand in no
/// string, without the white space around them, which is not part of a value (RFC 9110, section 5.5).
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

/// The text of a string, without its quotes and parameters; `None` of what is no string.
pub(super) fn unquoted(bytes: &[u8]) -> Option<String> {
    let (text, behind) = string(bytes)?;
    are_parameters(behind).then_some(text)
}

/// A string, and what follows it.
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

/// Whether this is nothing but parameters (section 3.1.2), or nothing.
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

/// What follows a bare item (section 3.3), if there is one.
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

/// What follows a number without its sign.
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
