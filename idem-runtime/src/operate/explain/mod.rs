//! Says why a request is refused as another one than the recorded.

mod differences;
mod trials;

use std::fmt;

use serde_json::Value;

use self::differences::differences;
use self::trials::trials;
use super::error::OperateError;
use super::show::RecordDetail;
use crate::values::fingerprint::{FINGERPRINT_KEYED, Fingerprint, canonical_text};

/// A request as it would come now.
///
/// `Debug` leaves the request out.
#[derive(Clone, Copy)]
pub struct Submitted<'a> {
    /// The operation that would be called.
    pub operation: &'a str,
    /// The compared parameters, as a JSON object: `{"cmd": {"account": 7}}` for a handler with the parameter `cmd`.
    pub request: &'a [u8],
}

impl fmt::Debug for Submitted<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Submitted")
            .field("operation", &self.operation)
            .finish_non_exhaustive()
    }
}

/// How a request compares with a record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Comparison {
    /// It is the recorded one: a retry is answered from the record.
    Same,
    /// The key was used on another operation.
    OtherOperation,
    /// It differs from the recorded one.
    Different,
    /// The operation compares no request: only the key counts.
    NotCompared,
    /// The fingerprint is keyed: only a program with the key of [`Explanation::key_id`] can compare.
    Keyed,
    /// The fingerprint is of a version that this build does not know.
    UnknownVersion,
}

/// Why a request is, or is not, the recorded one.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Explanation {
    /// How they compare.
    pub verdict: Comparison,
    /// The recorded fingerprint.
    pub recorded: Option<Fingerprint>,
    /// The id of the key that the recorded fingerprint is under, if it is keyed.
    pub key_id: Option<u32>,
    /// The fingerprint of the request, on the recorded operation.
    pub submitted: Option<Fingerprint>,
    /// The paths at which they differ, if the record kept its request.
    pub differences: Vec<Difference>,
    /// What was found by computing the fingerprint of requests that differ in one thing, or else what can differ. No value
    /// is shown.
    pub hints: Vec<String>,
}

/// One path at which a request differs from the recorded one. `Debug` shows the path alone.
#[derive(Clone, PartialEq)]
#[non_exhaustive]
pub struct Difference {
    /// The path, from the object of the compared parameters: `cmd.lines[2].cents`.
    pub path: String,
    /// The recorded value; `None` if there is none.
    pub recorded: Option<Value>,
    /// The value of the request; `None` if there is none.
    pub submitted: Option<Value>,
}

impl fmt::Debug for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Difference")
            .field("path", &self.path)
            .finish_non_exhaustive()
    }
}

impl RecordDetail {
    /// Says how a request compares with this record, and where it differs.
    ///
    /// # Errors
    /// [`Error::Invalid`](crate::Error::Invalid) of the request if it is not JSON by the rules of
    /// [`canonical_text`].
    pub fn explain(&self, submitted: Submitted<'_>) -> Result<Explanation, OperateError> {
        let canonical = canonical_text(submitted.request)?;
        let hash = |request: &[u8]| self.hash(request);
        let mut explanation = Explanation {
            verdict: Comparison::Same,
            recorded: self.fingerprint,
            key_id: None,
            submitted: hash(&canonical),
            differences: Vec::new(),
            hints: Vec::new(),
        };
        let Some(recorded) = self.fingerprint else {
            explanation.verdict = self.unless_other_operation(submitted, Comparison::NotCompared);
            return Ok(explanation);
        };
        if self.fingerprint_version == i64::from(FINGERPRINT_KEYED) {
            explanation.key_id = Some(recorded.key_id());
            explanation.verdict = self.unless_other_operation(submitted, Comparison::Keyed);
            return Ok(explanation);
        }
        let Some(of_request) = explanation.submitted else {
            explanation.verdict = Comparison::UnknownVersion;
            return Ok(explanation);
        };
        let same = of_request == recorded;
        let verdict = if same {
            Comparison::Same
        } else {
            Comparison::Different
        };
        explanation.verdict = self.unless_other_operation(submitted, verdict);
        if same {
            return Ok(explanation);
        }
        match &self.request {
            Some(kept) => explanation.differences = differences(kept, &canonical),
            None => {
                explanation.hints = trials(&canonical, |request| {
                    canonical_text(request).ok().and_then(|text| hash(&text)) == Some(recorded)
                });
            }
        }
        Ok(explanation)
    }

    /// The fingerprint of a canonical request on the recorded operation, by the recorded version.
    fn hash(&self, canonical: &[u8]) -> Option<Fingerprint> {
        let version = i16::try_from(self.fingerprint_version).ok()?;
        let namespace = self.summary.record_key.namespace();
        Fingerprint::compute(version, namespace, &self.summary.operation, canonical)
    }

    fn unless_other_operation(&self, submitted: Submitted<'_>, verdict: Comparison) -> Comparison {
        if submitted.operation == self.summary.operation {
            verdict
        } else {
            Comparison::OtherOperation
        }
    }
}
