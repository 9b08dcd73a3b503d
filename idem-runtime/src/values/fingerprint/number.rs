//! The canonical spelling of numbers: their exact decimal value.

use serde::ser::{Error, Serialize};

use super::fault::Fault;
use crate::values::error::Reason;

/// How many trailing zeros are written out: `100` is no longer than `1e2`, `1000` is longer than
/// `1e3`.
const ZEROS: usize = 2;

/// The parts of a number in JSON's grammar.
pub(super) struct Decimal<'a> {
    text: &'a [u8],
    negative: bool,
    whole: &'a [u8],
    fraction: &'a [u8],
    /// Sign and digits after the `e`; empty if there is no `e`.
    exponent: &'a [u8],
}

impl<'a> Decimal<'a> {
    /// Parses the number at the start of `bytes`. Returns `None` if there is none.
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

    /// Returns the number of bytes that were read.
    pub(super) fn len(&self) -> usize {
        self.text.len()
    }

    /// Writes the canonical spelling of the number.
    pub(super) fn write(&self, out: &mut Vec<u8>) -> Result<(), Fault> {
        let fraction = without_trailing_zeros(self.fraction);
        let whole = if fraction.is_empty() {
            without_trailing_zeros(self.whole)
        } else {
            self.whole
        };
        let (dropped, behind_point) = (self.whole.len() - whole.len(), fraction.len());
        // Before a fraction, a whole part of 0 is a leading zero, like the zeros that follow the
        // point.
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

    /// Returns the power of ten by which the significant digits, taken as an integer, are
    /// multiplied: the written exponent, plus the zeros `dropped` from the end of the whole part,
    /// minus the digits `behind_point`. Returns `None` if the result exceeds 64 bits. The written
    /// exponent itself may exceed them: `0.1e9223372036854775808` is `1e9223372036854775807`.
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

/// Multiplies the integer at `out[start..]` by `10^power`: writes a decimal point or zeros, or an
/// exponent if that is shorter.
fn scale(out: &mut Vec<u8>, start: usize, power: i64) {
    let significant = out.len() - start;
    let decimals = usize::try_from(power.unsigned_abs()).unwrap_or(usize::MAX);
    if power >= 0 && decimals <= ZEROS {
        out.extend((0..decimals).map(|_| b'0'));
    } else if power < 0 && decimals < significant {
        out.insert(out.len() - decimals, b'.');
    } else if power < 0 && decimals - significant <= width(decimals) {
        let zeros = (0..decimals - significant).map(|_| b'0');
        out.splice(start..start, b"0.".iter().copied().chain(zeros));
    } else {
        out.push(b'e');
        if power < 0 {
            out.push(b'-');
        }
        plainly(out, power.unsigned_abs());
    }
}

/// Returns the number of decimal digits.
fn width(number: usize) -> usize {
    number.checked_ilog10().unwrap_or(0) as usize + 1
}

/// Writes the shortest decimal that reads back as `value`.
///
/// The digits are those of `serde_json`, not of `{:e}`: of two shortest decimals that are equally
/// near, the standard library may choose the other one. A float would then differ from the same
/// float converted to text by `arbitrary_precision`.
pub(super) fn float<F: Serialize>(
    out: &mut Vec<u8>,
    value: F,
    is_finite: bool,
) -> Result<(), Fault> {
    if !is_finite {
        return Err(Fault::new(Reason::NotFinite));
    }
    // The longest float has 24 bytes: 17 digits, two signs, a point, an `e` and an exponent of
    // three digits.
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

/// Returns the number of trailing zeros of a number that is not 0.
fn trailing_zeros(mut value: u128) -> u32 {
    let mut zeros = 0;
    while value.is_multiple_of(10) {
        value /= 10;
        zeros += 1;
    }
    zeros
}

/// Writes all digits of a number, without an exponent.
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

/// Splits an integer written with an exponent into its digits and the number of zeros. Returns
/// `None` if it has no exponent, or a negative one.
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
