//! Numbers, by their exact decimal value.

use serde::ser::{Error, Serialize};

use super::fault::Fault;
use crate::error::Reason;

/// The most zeros that are not longer than the exponent in their place: `100`, and `1e3`.
const ZEROS: usize = 2;

/// A number in JSON's grammar, by its pieces.
pub(super) struct Decimal<'a> {
    text: &'a [u8],
    negative: bool,
    whole: &'a [u8],
    fraction: &'a [u8],
    /// Sign and digits after the `e`; empty if there is none.
    exponent: &'a [u8],
}

impl<'a> Decimal<'a> {
    /// Reads the number that `bytes` begin with.
    pub(super) fn scan(bytes: &'a [u8]) -> Option<Self> {
        let mut at = 0;
        let negative = bytes.first() == Some(&b'-');
        if negative {
            at += 1;
        }
        let whole = digits(&bytes[at..]);
        if whole.is_empty() || (whole.len() > 1 && whole[0] == b'0') {
            return None;
        }
        at += whole.len();
        let mut fraction = &bytes[..0];
        if bytes.get(at) == Some(&b'.') {
            fraction = digits(&bytes[at + 1..]);
            if fraction.is_empty() {
                return None;
            }
            at += 1 + fraction.len();
        }
        let mut exponent = &bytes[..0];
        if matches!(bytes.get(at), Some(b'e' | b'E')) {
            let sign = usize::from(matches!(bytes.get(at + 1), Some(b'+' | b'-')));
            let power = digits(&bytes[at + 1 + sign..]);
            if power.is_empty() {
                return None;
            }
            exponent = &bytes[at + 1..at + 1 + sign + power.len()];
            at += 1 + exponent.len();
        }
        Some(Self {
            text: &bytes[..at],
            negative,
            whole,
            fraction,
            exponent,
        })
    }

    /// How many bytes the number has as it was read.
    pub(super) fn len(&self) -> usize {
        self.text.len()
    }

    /// Writes the one spelling of the number's value.
    pub(super) fn write(&self, out: &mut Vec<u8>) -> Result<(), Fault> {
        let fraction = without_trailing_zeros(self.fraction);
        let whole = if fraction.is_empty() {
            without_trailing_zeros(self.whole)
        } else {
            self.whole
        };
        let (dropped, behind_point) = (self.whole.len() - whole.len(), fraction.len());
        // With a fraction to follow, a whole part of 0 is a leading zero, like those after it.
        let (whole, fraction) = match whole {
            b"0" => (&whole[..0], without_leading_zeros(fraction)),
            _ => (whole, fraction),
        };
        if whole.is_empty() && fraction.is_empty() {
            out.push(b'0');
            return Ok(());
        }
        let power = self
            .power(dropped, behind_point)
            .ok_or_else(|| self.out_of_range())?;
        if self.negative {
            out.push(b'-');
        }
        let start = out.len();
        out.extend_from_slice(whole);
        out.extend_from_slice(fraction);
        scale(out, start, power);
        Ok(())
    }

    /// The power of ten that belongs to the digits taken as an integer, without the zeros
    /// `dropped` from its end and with those `behind_point`; `None` beyond 64 bits. What is written
    /// may lie beyond: `0.1e9223372036854775808` is `1e9223372036854775807`.
    fn power(&self, dropped: usize, behind_point: usize) -> Option<i64> {
        let (negative, digits) = match self.exponent {
            [b'-', digits @ ..] => (true, digits),
            [b'+', digits @ ..] | digits => (false, digits),
        };
        let written = digits.iter().try_fold(0_i128, |power, digit| {
            let digit = i128::from(digit - b'0');
            let power = power.checked_mul(10)?;
            if negative {
                power.checked_sub(digit)
            } else {
                power.checked_add(digit)
            }
        })?;
        let power = written
            .checked_add(i128::try_from(dropped).ok()?)?
            .checked_sub(i128::try_from(behind_point).ok()?)?;
        i64::try_from(power).ok()
    }

    fn out_of_range(&self) -> Fault {
        const QUOTED: usize = 40;
        let mut text: String = self
            .text
            .iter()
            .take(QUOTED)
            .copied()
            .map(char::from)
            .collect();
        if self.text.len() > QUOTED {
            text.push('…');
        }
        Fault::new(Reason::Number(text))
    }
}

/// Gives the digits from `start` on, taken as an integer, their power of ten: by a point or zeros, or
/// as an exponent where that is shorter.
fn scale(out: &mut Vec<u8>, start: usize, power: i64) {
    let significant = out.len() - start;
    let places = usize::try_from(power.unsigned_abs()).unwrap_or(usize::MAX);
    if power >= 0 && places <= ZEROS {
        out.extend((0..places).map(|_| b'0'));
    } else if power < 0 && places < significant {
        out.insert(out.len() - places, b'.');
    } else if power < 0 && places - significant <= width(places) {
        let zeros = (0..places - significant).map(|_| b'0');
        out.splice(start..start, b"0.".iter().copied().chain(zeros));
    } else {
        out.push(b'e');
        if power < 0 {
            out.push(b'-');
        }
        plainly(out, power.unsigned_abs());
    }
}

/// How many digits a number has.
fn width(number: usize) -> usize {
    number.checked_ilog10().unwrap_or(0) as usize + 1
}

/// Writes the shortest decimal that reads back as `value`.
///
/// The digits are those of `serde_json`, not of `{:e}`: of two shortest decimals equally near
/// the standard library may take the other one, and a float would then differ from itself
/// once `arbitrary_precision` has made text of it.
pub(super) fn float<F: Serialize>(
    out: &mut Vec<u8>,
    value: F,
    is_finite: bool,
) -> Result<(), Fault> {
    if !is_finite {
        return Err(Fault::new(Reason::NotFinite));
    }
    // 17 digits, two signs, a point, and an exponent of three digits need 24 bytes.
    let mut buffer = [0; 32];
    let mut rest = &mut buffer[..];
    serde_json::to_writer(&mut rest, &value).map_err(Fault::custom)?;
    let unused = rest.len();
    let spelled = &buffer[..buffer.len() - unused];
    match Decimal::scan(spelled) {
        Some(decimal) => decimal.write(out),
        None => Err(Fault::custom("a float is spelled wrongly")),
    }
}

pub(super) fn signed(out: &mut Vec<u8>, value: i64) {
    if value < 0 {
        out.push(b'-');
    }
    unsigned(out, value.unsigned_abs());
}

pub(super) fn unsigned(out: &mut Vec<u8>, value: u64) {
    if value.is_multiple_of(1000) && value != 0 {
        let zeros = trailing_zeros(value.into());
        plainly(out, value / 10_u64.pow(zeros));
        out.push(b'e');
        plainly(out, zeros.into());
    } else {
        plainly(out, value);
    }
}

/// How many zeros the digits of a number that is not 0 end with.
fn trailing_zeros(mut value: u128) -> u32 {
    let mut zeros = 0;
    while value.is_multiple_of(10) {
        value /= 10;
        zeros += 1;
    }
    zeros
}

/// Writes all digits of a number.
fn plainly(out: &mut Vec<u8>, mut value: u64) {
    let mut buffer = [0; 20];
    let mut at = buffer.len();
    loop {
        at -= 1;
        buffer[at] = b'0' + (value % 10) as u8;
        value /= 10;
        if value == 0 {
            break;
        }
    }
    out.extend_from_slice(&buffer[at..]);
}

pub(super) fn wide(out: &mut Vec<u8>, negative: bool, magnitude: u128) {
    if negative {
        out.push(b'-');
    }
    if let Ok(value) = u64::try_from(magnitude) {
        unsigned(out, value);
        return;
    }
    let zeros = trailing_zeros(magnitude);
    let start = out.len();
    out.extend_from_slice((magnitude / 10_u128.pow(zeros)).to_string().as_bytes());
    scale(out, start, zeros.into());
}

/// The digits and the number of zeros of an integer that is written with an exponent.
pub(super) fn exponent(number: &[u8]) -> Option<(&[u8], usize)> {
    let at = number.iter().position(|&byte| byte == b'e')?;
    let zeros = str::from_utf8(&number[at + 1..]).ok()?.parse().ok()?;
    Some((&number[..at], zeros))
}

fn digits(bytes: &[u8]) -> &[u8] {
    let end = bytes.iter().position(|byte| !byte.is_ascii_digit());
    &bytes[..end.unwrap_or(bytes.len())]
}

fn without_trailing_zeros(digits: &[u8]) -> &[u8] {
    let end = digits.iter().rposition(|&digit| digit != b'0');
    &digits[..end.map_or(0, |at| at + 1)]
}

fn without_leading_zeros(digits: &[u8]) -> &[u8] {
    let start = digits.iter().position(|&digit| digit != b'0');
    &digits[start.unwrap_or(digits.len())..]
}
