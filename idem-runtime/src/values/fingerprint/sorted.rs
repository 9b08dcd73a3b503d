//! Serialization of sets, whose elements have no order.

use serde::ser::{Error, Serialize, SerializeSeq, Serializer};

use super::canonical_json;

/// Serializes a set as a list whose order depends only on its elements. Use it by
/// `#[serde(serialize_with = "idem_runtime::fingerprint::sorted")]`.
///
/// A `HashSet` serializes its elements in a different order each time, even if the sets are equal.
/// A retry with the same elements would be refused as a different request. A `BTreeSet` does not
/// need this function.
///
/// ```
/// use std::collections::HashSet;
///
/// use idem_runtime::fingerprint::canonical_json;
///
/// #[derive(serde::Serialize)]
/// struct Invite {
///     #[serde(serialize_with = "idem_runtime::fingerprint::sorted")]
///     guests: HashSet<String>,
/// }
///
/// let invite = |guests: [&str; 3]| Invite { guests: guests.map(str::to_owned).into() };
/// let (one, other) = (invite(["Ada", "Max", "Eve"]), invite(["Eve", "Ada", "Max"]));
/// assert_eq!(canonical_json(&one)?, br#"{"guests":["Ada","Eve","Max"]}"#);
/// assert_eq!(canonical_json(&one)?, canonical_json(&other)?);
/// # Ok::<(), idem_runtime::error::Invalid>(())
/// ```
///
/// # Errors
///
/// - A custom error of the serializer if an element has no canonical form.
/// - Any error that the serializer itself returns.
pub fn sorted<'a, C, S>(set: &'a C, serializer: S) -> Result<S::Ok, S::Error>
where
    C: ?Sized,
    &'a C: IntoIterator<Item: Serialize>,
    S: Serializer,
{
    let mut elements = Vec::new();
    for element in set {
        let form = canonical_json(&element).map_err(S::Error::custom)?;
        elements.push((form, element));
    }
    elements.sort_by(|(a, _), (b, _)| a.cmp(b));
    let mut list = serializer.serialize_seq(Some(elements.len()))?;
    for (_, element) in &elements {
        list.serialize_element(element)?;
    }
    list.end()
}
