//! Tests that each number has one spelling.

use proptest::prelude::*;
use serde::ser::{Serialize, SerializeStruct, Serializer};

use super::{json, refused, refused_text, text};
use crate::values::error::Reason;

/// A number as `serde_json` serializes it with `arbitrary_precision`.
struct Passed(&'static str);

impl Serialize for Passed {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        const NAME: &str = "$serde_json::private::Number";
        let mut fields = serializer.serialize_struct(NAME, 1)?;
        fields.serialize_field(NAME, self.0)?;
        fields.end()
    }
}

#[test]
fn spellings_of_one_value_are_one_number() {
    let groups: [(&str, &[&str]); 10] = [
        (
            "0",
            &["0", "-0", "0.0", "-0.000", "0e5", "0E-99999999999999999999"],
        ),
        (
            "1",
            &["1", "1.0", "1e0", "1E+0", "10e-1", "0.1e1", "1.000e-0"],
        ),
        ("-1", &["-1", "-1.0", "-100e-2"]),
        ("1500", &["1500", "1.5e3", "1500.0", "15E2", "0.0015e6"]),
        ("15e3", &["15000", "1.5e4", "15000.0", "0.0015e7"]),
        ("0.5", &["0.5", "5e-1", "0.50", "500e-3", "0.05e1"]),
        ("-0.1025", &["-0.1025", "-10.25e-2"]),
        ("1e400", &["1e400", "10e399", "0.1e401", "1.0e+400"]),
        ("1e-400", &["1e-400", "0.1e-399", "1e-0400"]),
        (
            "0.123456789012345678901234567890123",
            &[
                "0.123456789012345678901234567890123",
                "1.234567890123456789012345678901230e-1",
            ],
        ),
    ];
    for (spelling, same) in groups {
        for given in same {
            assert_eq!(text(given), spelling, "{given}");
        }
    }
}

#[test]
fn numbers_that_a_double_cannot_tell_apart_differ() {
    assert_eq!(text("9007199254740993"), "9007199254740993");
    assert_ne!(text("9007199254740992"), text("9007199254740993"));
    assert_ne!(text("1e400"), text("1e401"));
    assert_ne!(text("0.1"), text("0.1000000000000000055511151231257827"));
}

#[test]
fn the_shorter_of_the_two_ways_is_taken_and_the_plain_one_if_they_are_equal() {
    for (given, spelled) in [
        ("10", "10"),
        ("1e2", "100"),
        ("1000", "1e3"),
        ("-1200e1", "-12e3"),
        ("1e39", "1e39"),
        ("123.456e1", "1234.56"),
        ("1e-1", "0.1"),
        ("1e-2", "0.01"),
        ("0.001", "1e-3"),
        ("0.012", "0.012"),
        ("0.0012", "12e-4"),
        ("12345678901e-12", "0.012345678901"),
        ("12345678901e-13", "0.0012345678901"),
        ("12345678901e-14", "12345678901e-14"),
    ] {
        assert_eq!(text(given), spelled, "{given}");
        assert_eq!(text(spelled), spelled);
    }
    for digits in [40, 41, 400] {
        assert_eq!(text(&"9".repeat(digits)), "9".repeat(digits));
        assert_eq!(
            text(&format!("1{}", "0".repeat(digits))),
            format!("1e{digits}")
        );
    }
}

#[test]
fn zeros_at_the_end_of_an_integer_of_any_width_are_counted() {
    assert_eq!(
        json(&[0_u64, 100, 1_000, 1_001, 10_500, 7_000_000]),
        "[0,100,1e3,1001,10500,7e6]"
    );
    assert_eq!(json(&-1_000_i16), "-1e3");
    assert_eq!(json(&10_000_000_000_000_000_000_u64), "1e19");
    assert_eq!(json(&-123_000_000_000_000_000_000_i128), "-123e18");
    assert_eq!(json(&20_000_000_000_000_000_000_u128), "2e19");
    assert_eq!(
        json(&123_456_789_012_345_678_900_u128),
        "123456789012345678900"
    );
}

#[test]
fn integers_of_every_width_are_exact() {
    assert_eq!(json(&[i8::MIN, i8::MAX]), "[-128,127]");
    assert_eq!(json(&i64::MIN), "-9223372036854775808");
    assert_eq!(json(&u64::MAX), "18446744073709551615");
    assert_eq!(json(&[0_i128, -7]), "[0,-7]");
    assert_eq!(json(&i128::MIN), "-170141183460469231731687303715884105728");
    assert_eq!(json(&u128::MAX), "340282366920938463463374607431768211455");
}

#[test]
fn a_float_has_the_value_of_its_shortest_decimal() {
    assert_eq!(json(&0.1_f64), "0.1");
    assert_eq!(json(&0.1_f32), "0.1");
    assert_eq!(json(&-0.0_f64), "0");
    assert_eq!(json(&1.0_f64), json(&1_u8));
    assert_eq!(json(&1e23_f64), "1e23");
    assert_eq!(json(&f64::MAX), "17976931348623157e292");
    assert_eq!(json(&-f64::MIN_POSITIVE), "-22250738585072014e-324");
    assert_eq!(json(&5e-324_f64), "5e-324");
    assert_eq!(json(&f32::MAX), "34028235e31");
}

#[test]
fn a_float_that_is_no_number_is_refused_at_any_depth() {
    for bad in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
        assert_eq!(refused(&[Some(bad)]), Reason::NotFinite);
    }
    assert_eq!(refused(&f32::NAN), Reason::NotFinite);
}

#[test]
fn a_power_of_ten_fits_64_bits_or_is_refused() {
    assert_eq!(text("1e9223372036854775807"), "1e9223372036854775807");
    assert_eq!(text("1e-9223372036854775808"), "1e-9223372036854775808");
    // The limit applies to the power of ten of the value, not to the written exponent.
    assert_eq!(text("0.1e9223372036854775808"), "1e9223372036854775807");
    assert_eq!(text("10e-9223372036854775809"), "1e-9223372036854775808");
    for bad in [
        "1e9223372036854775808",
        "10e9223372036854775807",
        "0.1e-9223372036854775808",
        "1e99999999999999999999999999",
    ] {
        assert_eq!(refused_text(bad.as_bytes()), Reason::Number(bad.to_owned()));
    }
}

#[test]
fn a_refused_number_is_quoted_in_part() {
    let long = format!("{}e9223372036854775807", "10".repeat(50));
    let Reason::Number(quoted) = refused_text(long.as_bytes()) else {
        panic!("refused for another reason");
    };
    assert_eq!(quoted.chars().count(), 41);
}

#[test]
fn a_number_passed_as_text_is_the_same_number() {
    assert_eq!(
        json(&[Passed("1.0"), Passed("-0"), Passed("1e+400")]),
        "[1,0,1e400]"
    );
    for bad in ["", "1 ", "01", "+1", "1.", ".5", "1e", "NaN"] {
        assert!(
            matches!(refused(&Passed(bad)), Reason::Serialize(_)),
            "{bad:?}"
        );
    }
}

#[expect(clippy::cast_precision_loss, reason = "below 2^53 none is lost")]
fn quarters(count: u64) -> f64 {
    count as f64 / 4.0
}

#[expect(clippy::cast_precision_loss, reason = "below 2^24 none is lost")]
fn quarters_single(count: u32) -> f32 {
    count as f32 / 4.0
}

proptest! {
    #[test]
    fn numbers_are_one_exactly_when_their_values_are(
        (a, b) in (0_u32..2000, 0_u32..2000),
        (p, q) in (0_u32..9, 0_u32..9),
    ) {
        let equal = u64::from(a) * 10_u64.pow(p) == u64::from(b) * 10_u64.pow(q);
        let (left, right) = (format!("{a}e{p}"), format!("{b}e{q}"));
        prop_assert_eq!(text(&left) == text(&right), equal);
        let (left, right) = (format!("{a}e-{}", 9 - p), format!("{b}e-{}", 9 - q));
        prop_assert_eq!(text(&left) == text(&right), equal);
    }

    #[test]
    fn moving_the_point_does_not_change_a_number(
        digits in "[1-9][0-9]{0,60}", point in 0_usize..60, power in -500_i64..500,
    ) {
        let point = point % digits.len();
        let (whole, fraction) = digits.split_at(digits.len() - point);
        let moved = power + i64::try_from(point).expect("a small number");
        let dot = if fraction.is_empty() { "" } else { "." };
        prop_assert_eq!(
            text(&format!("{digits}e{power}")),
            text(&format!("{whole}{dot}{fraction}e{moved}"))
        );
    }

    #[test]
    fn an_integer_typed_or_spelled_is_one_number(value: i64) {
        let spelled = text(&value.to_string());
        prop_assert_eq!(&json(&value), &spelled);
        prop_assert_eq!(&text(&format!("{value}.0")), &spelled);
        prop_assert_eq!(&json(&i128::from(value)), &spelled);
    }

    #[test]
    fn an_integer_with_zeros_typed_or_spelled_is_one_number(
        value in -9_000_i64..9_000, zeros in 0_u32..15, more in 0_u32..20,
    ) {
        let value = value * 10_i64.pow(zeros);
        prop_assert_eq!(json(&value), text(&value.to_string()));
        let wide = i128::from(value) * 10_i128.pow(more);
        prop_assert_eq!(json(&wide), text(&wide.to_string()));
    }

    #[test]
    fn no_number_is_longer_than_any_of_its_spellings(
        digits in "[0-9]{1,30}", point in 0_usize..30, power in -40_i64..40, zeros in 0_usize..4,
    ) {
        let whole = digits.trim_start_matches('0');
        let (before, behind) = whole.split_at(whole.len() - point.min(whole.len()));
        let before = if before.is_empty() { "0" } else { before };
        let behind = format!("{behind}{}", "0".repeat(zeros));
        let dot = if behind.is_empty() { "" } else { "." };
        let exponent = if power == 0 { String::new() } else { format!("e{power}") };
        let spelled = format!("{before}{dot}{behind}{exponent}");
        prop_assert!(text(&spelled).len() <= spelled.len(), "{} {spelled}", text(&spelled));
    }

    #[test]
    fn a_float_is_spelled_as_short_as_it_can_be_read_back(
        value in prop::num::f64::NORMAL | prop::num::f64::SUBNORMAL,
    ) {
        let spelled = json(&value);
        let read_back: f64 = spelled.parse().expect("a number");
        prop_assert_eq!(read_back.to_bits(), value.to_bits());
        let shortest = text(&format!("{value:e}"));
        prop_assert_eq!(spelled.len(), shortest.len());
        prop_assert_eq!(text(&spelled), spelled);
    }

    /// Quarters of this size need one digit after the point and lie halfway between two such
    /// decimals.
    #[test]
    fn a_float_halfway_between_two_decimals_takes_the_even_one(
        double in (1_u64 << 52)..(1 << 53), single in (1_u32 << 23)..(1 << 24),
    ) {
        let (double, single) = (double | 1, single | 1);
        let even = |below: u64| below + below % 2;
        let tenths = |value: u64| text(&format!("{}e-1", even(value * 5 / 2)));
        prop_assert_eq!(json(&quarters(double)), tenths(double));
        prop_assert_eq!(json(&quarters_single(single)), tenths(single.into()));
    }
}
