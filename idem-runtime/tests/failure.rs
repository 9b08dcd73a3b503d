//! `#[derive(Failure)]`: what is recorded, and what comes back.
#![cfg(feature = "macros")]

use std::collections::BTreeMap;
use std::fmt::{Debug, Display};
use std::io;

use idem_runtime::{Failure, StoredFailure};
use serde::{Deserialize, Serialize};
use serde_json::json;

#[derive(Debug, thiserror::Error, Failure)]
enum PayError {
    #[error("declined: {code}")]
    #[failure(permanent)]
    Declined { code: u32, hint: Option<String> },

    #[error("the account is closed")]
    #[failure(permanent, class = "closed")]
    AccountClosed,

    #[error("{1} over the limit {0}")]
    #[failure(permanent)]
    Over(u8, String),

    #[error("the contract says no")]
    #[failure(permanent)]
    Refused(#[source] Clause),

    #[error("rates by day")]
    #[failure(permanent)]
    Rates(BTreeMap<(u8, u8), f64>),

    #[error("the name is taken")]
    #[failure(permanent, database)]
    Taken(#[source] sqlx::Error),

    #[error(transparent)]
    Database(#[from] sqlx::Error),

    #[error("{}", .0.message)]
    #[failure(replayed)]
    Recorded(StoredFailure),
}

#[derive(Debug, PartialEq, thiserror::Error, Serialize, Deserialize)]
#[error("clause {number}")]
struct Clause {
    number: u16,
}

fn stored(error: &PayError) -> StoredFailure {
    error.to_failure().expect("permanent")
}

/// Through the record's bytes and back.
fn replay(failure: &StoredFailure) -> PayError {
    let bytes = serde_json::to_vec(failure).expect("JSON");
    PayError::from_failure(serde_json::from_slice(&bytes).expect("a failure"))
}

#[test]
fn a_permanent_variant_comes_back_with_its_fields() {
    let declined = stored(&PayError::Declined {
        code: 51,
        hint: None,
    });
    assert_eq!(declined.class, "Declined");
    assert_eq!(declined.message, "declined: 51");
    assert_eq!(declined.cause, None);
    assert_eq!(*declined.data, json!({ "code": 51, "hint": null }));
    assert!(matches!(
        replay(&declined),
        PayError::Declined {
            code: 51,
            hint: None
        }
    ));

    let over = stored(&PayError::Over(7, "9".to_owned()));
    assert_eq!(*over.data, json!([7, "9"]));
    assert!(matches!(replay(&over), PayError::Over(7, text) if text == "9"));
}

#[test]
fn a_class_of_its_own_outlives_the_name_of_the_variant() {
    let closed = stored(&PayError::AccountClosed);
    assert_eq!(
        closed,
        StoredFailure::new("closed", "the account is closed")
    );
    assert!(matches!(replay(&closed), PayError::AccountClosed));
    let by_name = StoredFailure::new("AccountClosed", "m");
    assert!(matches!(replay(&by_name), PayError::Recorded(_)));
}

#[test]
fn the_cause_is_kept() {
    let refused = stored(&PayError::Refused(Clause { number: 3 }));
    assert_eq!(refused.cause.as_deref(), Some("clause 3"));
    assert!(matches!(
        replay(&refused),
        PayError::Refused(Clause { number: 3 })
    ));
}

#[test]
fn what_is_not_permanent_is_not_recorded() {
    assert_eq!(
        PayError::Database(sqlx::Error::RowNotFound).to_failure(),
        None
    );
}

#[test]
fn a_class_that_is_not_known_comes_back_as_it_is_stored_and_is_stored_so_again() {
    let unknown = StoredFailure::new("Frozen", "the account is frozen")
        .with_cause("a court order")
        .with_data(json!({ "until": "2030" }));
    let replayed = replay(&unknown);
    assert_eq!(replayed.to_string(), "the account is frozen");
    assert_eq!(stored(&replayed), unknown);
}

#[test]
fn fields_that_do_not_fit_come_back_as_they_are_stored() {
    for (class, data) in [
        ("Declined", json!(null)),
        ("Declined", json!([51])),
        ("Declined", json!({ "code": "51" })),
        ("Declined", json!({ "hint": "none" })),
        ("Over", json!([7])),
        ("Over", json!({ "0": 7, "1": "9" })),
    ] {
        let failure = StoredFailure::new(class, "m").with_data(data);
        let replayed = replay(&failure);
        assert!(
            matches!(&replayed, PayError::Recorded(held) if *held == failure),
            "{replayed:?}"
        );
    }
}

#[test]
fn a_field_may_be_added_if_it_is_optional_and_removed() {
    let before = StoredFailure::new("Declined", "m").with_data(json!({ "code": 5, "gone": 1 }));
    assert!(matches!(
        replay(&before),
        PayError::Declined {
            code: 5,
            hint: None
        }
    ));
    let before = StoredFailure::new("closed", "m").with_data(json!({ "gone": 1 }));
    assert!(matches!(replay(&before), PayError::AccountClosed));
}

#[test]
fn fields_that_json_cannot_hold_leave_the_message() {
    let rates = stored(&PayError::Rates(BTreeMap::from([((1, 2), 0.5)])));
    assert_eq!(rates, StoredFailure::new("Rates", "rates by day"));
    assert!(matches!(replay(&rates), PayError::Recorded(failure) if failure == rates));
}

#[test]
fn a_database_error_that_is_said_to_be_permanent_leaves_message_and_cause() {
    let error = sqlx::Error::Io(io::Error::other("wire"));
    let cause = error.to_string();
    let taken = stored(&PayError::Taken(error));
    assert_eq!(
        taken,
        StoredFailure::new("Taken", "the name is taken").with_cause(cause)
    );
    assert!(matches!(replay(&taken), PayError::Recorded(failure) if failure == taken));
}

#[derive(Debug, thiserror::Error, Failure)]
enum Generic<T, const N: usize>
where
    T: Debug + Display,
{
    #[error("{0}")]
    #[failure(permanent)]
    Is(T),
    #[error("many")]
    #[failure(permanent)]
    Many {
        all: Vec<T>,
        by_name: BTreeMap<String, T>,
    },
    #[error("again")]
    #[failure(replayed)]
    Again { held: Box<StoredFailure> },
}

#[test]
fn type_parameters_are_asked_for_what_the_fields_need() {
    let is = Generic::<u8, 2>::Is(7).to_failure().expect("permanent");
    assert_eq!(*is.data, json!([7]));
    assert!(matches!(
        Generic::<u8, 2>::from_failure(is.clone()),
        Generic::Is(7)
    ));
    let many = Generic::<u8, 2>::Many {
        all: vec![1, 2],
        by_name: BTreeMap::from([("a".to_owned(), 3)]),
    };
    let many = many.to_failure().expect("permanent");
    assert_eq!(*many.data, json!({ "all": [1, 2], "by_name": { "a": 3 } }));
    assert!(matches!(
        Generic::<u8, 2>::from_failure(many),
        Generic::Many { all, by_name } if all == [1, 2] && by_name["a"] == 3
    ));
    // The same record is not one of another type.
    let other = Generic::<bool, 2>::from_failure(is.clone());
    assert!(matches!(&other, Generic::Again { held } if **held == is));
}
