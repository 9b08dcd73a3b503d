//! What the program prints of an answer: one line.

use std::fmt::Debug;

use idem_runtime::{Error, Replayable};
use serde::Serialize;

use crate::types::{PayErrorExpanding, PayErrorV1, PayErrorV2};

/// An error with its refusal of the library, if it is one.
pub(crate) trait Refuses: Debug {
    fn refusal(&self) -> Option<&Error>;
}

macro_rules! refuses {
    ($($error:ty),*) => {
        $(impl Refuses for $error {
            fn refusal(&self) -> Option<&Error> {
                match self {
                    Self::Idempotency(error) => Some(error),
                    _ => None,
                }
            }
        })*
    };
}

refuses!(PayErrorV1, PayErrorExpanding, PayErrorV2);

pub(crate) fn line_of<T: Serialize, E: Refuses>(
    answer: Result<Replayable<T>, Replayable<E>>,
) -> String {
    let replayed = match &answer {
        Ok(value) => value.replayed(),
        Err(error) => error.replayed(),
    };
    let replayed = if replayed { "replayed" } else { "first" };
    match answer {
        Ok(value) => {
            let json = serde_json::to_string(&*value).expect("it was recorded");
            format!("{replayed} {json}")
        }
        Err(error) => match error.refusal() {
            None => format!("{replayed} {:?}", &*error),
            Some(refusal) => {
                let retry = if refusal.is_retryable() {
                    "retry"
                } else {
                    "final"
                };
                format!("refused {retry} {} {refusal:?}", refusal.status())
            }
        },
    }
}
