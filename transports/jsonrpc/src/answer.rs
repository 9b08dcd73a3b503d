//! The result of a call, with what is said about it.

use std::borrow::Cow;

use idem_runtime::Replayable;
use idem_runtime::meta::{META, MetaNames};
use serde::Serialize;
use serde_json::value::{RawValue, to_raw_value};

use crate::members::Members;

/// Returns a result as it is answered: that of a replay has a member more, `"_meta": {"dev.idem/idempotentReplayed": true}`.
///
/// A result that runs for the first time has no such member, even if the handler put one there.
///
/// A [`Module`](crate::Module) does it for its methods. A result that is not an object (a number, a list, `null`) has no
/// place for it, and is the same in a replay.
///
/// # Errors
/// The error of the result's `Serialize` implementation.
pub fn answer<T: Serialize>(
    result: &Replayable<T>,
    names: &MetaNames,
) -> Result<Box<RawValue>, serde_json::Error> {
    let text = to_raw_value(&**result)?;
    let edited = if result.replayed() {
        marked(&text, names)?
    } else {
        unmarked(&text, names)?
    };
    Ok(edited.unwrap_or(text))
}

/// Returns the object without this member; `None` if it has none.
fn unmarked(
    text: &RawValue,
    names: &MetaNames,
) -> Result<Option<Box<RawValue>>, serde_json::Error> {
    let Some(mut members) = Members::of(text.get()) else {
        return Ok(None);
    };
    let Some(meta) = members.remove(META) else {
        return Ok(None);
    };
    let Some(mut inner) = Members::of(meta.get()) else {
        return Ok(None);
    };
    if inner.remove(names.replayed()).is_none() {
        return Ok(None);
    }
    let inner = inner.to_raw()?;
    members.0.push((Cow::Borrowed(META), Cow::Owned(inner)));
    members.to_raw().map(Some)
}

/// Returns the object with this member; `None` if there is no place for it.
fn marked(text: &RawValue, names: &MetaNames) -> Result<Option<Box<RawValue>>, serde_json::Error> {
    let Some(mut members) = Members::of(text.get()) else {
        return Ok(None);
    };
    let meta = members.remove(META);
    let mut inner = match &meta {
        None => Members::default(),
        Some(meta) if meta.get() == "null" => Members::default(),
        Some(meta) => match Members::of(meta.get()) {
            Some(inner) => inner,
            // It is the service's own, and no `_meta` as it is meant.
            None => return Ok(None),
        },
    };
    inner.remove(names.replayed());
    let name = Cow::Borrowed(names.replayed());
    inner.0.push((name, Cow::Borrowed(RawValue::TRUE)));
    let meta = inner.to_raw()?;
    members.0.push((Cow::Borrowed(META), Cow::Owned(meta)));
    members.to_raw().map(Some)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_not_replayed_does_not_say_that_it_was() {
        let names = MetaNames::of("a");
        let edited = |text: &str| {
            let text = RawValue::from_string(text.to_owned()).expect("JSON");
            let edited = unmarked(&text, &names).expect("JSON");
            edited.map(|edited| edited.get().to_owned())
        };
        assert_eq!(
            edited(r#"{"n":1.0,"_meta":{"a/idempotentReplayed":true,"t":1}}"#).as_deref(),
            Some(r#"{"n":1.0,"_meta":{"t":1}}"#)
        );
        for other in ["1", "null", r#"{"_meta":7}"#, r#"{"_meta":{"t":1}}"#] {
            assert_eq!(edited(other), None, "{other}");
        }
    }

    fn shown(text: &str) -> Option<String> {
        let text = RawValue::from_string(text.to_owned()).expect("JSON");
        let marked = marked(&text, &MetaNames::of("a")).expect("JSON");
        marked.map(|marked| marked.get().to_owned())
    }

    #[test]
    fn an_object_has_a_place_for_the_mark_and_other_values_have_none() {
        let with = |rest: &str| Some(format!("{{{rest}\"a/idempotentReplayed\":true}}}}"));
        assert_eq!(shown(r#"{"n":1.0}"#), with(r#""n":1.0,"_meta":{"#));
        assert_eq!(shown("{}"), with(r#""_meta":{"#));
        assert_eq!(
            shown(r#"{"_meta":{"t":1},"n":2}"#),
            with(r#""n":2,"_meta":{"t":1,"#)
        );
        assert_eq!(shown(r#"{"_meta":null}"#), with(r#""_meta":{"#));
        for other in ["1", "null", "[{}]", "\"{}\"", r#"{"_meta":7}"#] {
            assert_eq!(shown(other), None, "{other}");
        }
    }
}
