//! Two requests are equal exactly if their fingerprints are, except for the documented
//! equivalences.

use idem_runtime::fingerprint::{FINGERPRINT_VERSION, Fingerprint, canonical_json, canonical_text};
use serde::Serialize;

use crate::node::Source;
use crate::order::Order;

/// The maximum depth of a value.
const LEVELS: u8 = 3;

fn order(bytes: &[u8]) -> Order {
    Order::of(&mut Source(bytes), LEVELS)
}

fn form<T: Serialize>(value: &T) -> (Vec<u8>, Option<Fingerprint>) {
    let form = canonical_json(value).expect("all of it has a form");
    let hash = Fingerprint::compute(FINGERPRINT_VERSION, "shop", "pay", &form);
    (form, hash)
}

/// Compares two values. The first bytes say where the second value's bytes differ from the first's.
/// Most pairs differ in one position, some in none.
pub(crate) fn law(input: &[u8]) {
    let [at, other, both, rest @ ..] = input else {
        return;
    };
    let mut changed = rest.to_vec();
    for at in [*at, *both] {
        if let Some(byte) = changed.get_mut(usize::from(at)) {
            *byte = *other;
        }
    }
    check(&order(rest), &order(&changed));
}

fn check(one: &Order, other: &Order) {
    let ((one_form, one_hash), (other_form, other_hash)) = (form(one), form(other));
    let same = one.as_listed() == other.as_listed();
    assert_eq!(one_hash == other_hash, same, "{one:?}\n{other:?}");
    assert_eq!(one_form == other_form, same, "{one:?}\n{other:?}");
    if one == other {
        assert!(
            same,
            "the fingerprints are equal, but the rules tell the values apart: {one:?}\n{other:?}"
        );
    }
    // A set or a map that was filled in another order is equal, but may iterate in another order.
    let again = one.refilled();
    assert_eq!(&again, one);
    assert_eq!(form(&again).0, one_form, "{one:?}");
    for form in [&one_form, &other_form] {
        assert_eq!(
            canonical_text(form).as_ref(),
            Ok(form),
            "the canonical form of the form differs from it"
        );
    }
    let written = serde_json::to_vec(one).expect("JSON");
    assert!(one_form.len() <= written.len(), "longer: {one:?}");
}
