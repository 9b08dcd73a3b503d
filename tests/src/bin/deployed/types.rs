//! The types of each build, and what converts one to the next.

use idem_runtime::{Failure, StoredFailure};
use serde::{Deserialize, Serialize};

/// Version 1.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct PaymentV1 {
    cents: i64,
}

/// Version 2: the amount has a currency, and a payment a note.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct PaymentV2 {
    amount: Amount,
    note: Option<String>,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
struct Amount {
    cents: i64,
    currency: String,
}

/// Version 3: the amount is text.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct PaymentV3 {
    amount: String,
}

/// A payment that a body can make.
pub(crate) trait Made {
    fn of(cents: i64) -> Self;
}

impl Made for PaymentV1 {
    fn of(cents: i64) -> Self {
        Self { cents }
    }
}

impl Made for PaymentV2 {
    fn of(cents: i64) -> Self {
        let note = Some("thanks".to_owned());
        Self {
            note,
            ..upcast_payment(PaymentV1 { cents })
        }
    }
}

impl Made for PaymentV3 {
    fn of(cents: i64) -> Self {
        Self {
            amount: format!("{cents} EUR"),
        }
    }
}

#[expect(
    clippy::needless_pass_by_value,
    reason = "the older value is handed over"
)]
pub(crate) fn upcast_payment(old: PaymentV1) -> PaymentV2 {
    PaymentV2 {
        amount: Amount {
            cents: old.cents,
            currency: "EUR".to_owned(),
        },
        note: None,
    }
}

/// The note is not in version 1. A currency other than the one of version 1 must not be lost.
pub(crate) fn downcast_payment(payment: &PaymentV2) -> Result<PaymentV1, String> {
    match &*payment.amount.currency {
        "EUR" if payment.amount.cents != 999 => Ok(PaymentV1 {
            cents: payment.amount.cents,
        }),
        other => Err(format!("version 1 has no {other}")),
    }
}

#[expect(
    clippy::needless_pass_by_value,
    reason = "the older value is handed over"
)]
pub(crate) fn print_amount(old: PaymentV2) -> Result<PaymentV3, String> {
    match old.amount.cents {
        13 => Err("no such amount".to_owned()),
        cents => Ok(PaymentV3 {
            amount: format!("{cents} {}", old.amount.currency),
        }),
    }
}

/// Version 1 of the failures.
#[derive(Debug, thiserror::Error, Failure)]
pub(crate) enum PayErrorV1 {
    #[error("declined: {code}")]
    #[failure(permanent)]
    Declined { code: i64 },
    #[error(transparent)]
    Idempotency(#[from] idem_runtime::Error),
    #[error("{}", .0.message)]
    #[failure(replayed)]
    Recorded(StoredFailure),
}

/// Version 2, which writes version 1.
#[derive(Debug, thiserror::Error, Failure)]
#[failure(version = 2, upcast = name_reason, write_version = 1, downcast = number_reason)]
pub(crate) enum PayErrorExpanding {
    #[error("refused: {reason}")]
    #[failure(permanent)]
    Refused { reason: String },
    #[error(transparent)]
    Idempotency(#[from] idem_runtime::Error),
    #[error("{}", .0.message)]
    #[failure(replayed)]
    Recorded(StoredFailure),
}

/// Version 2.
#[derive(Debug, thiserror::Error, Failure)]
#[failure(version = 2, upcast = name_reason)]
pub(crate) enum PayErrorV2 {
    #[error("refused: {reason}")]
    #[failure(permanent)]
    Refused { reason: String },
    #[error(transparent)]
    Idempotency(#[from] idem_runtime::Error),
    #[error("{}", .0.message)]
    #[failure(replayed)]
    Recorded(StoredFailure),
}

#[expect(
    clippy::needless_pass_by_value,
    reason = "the older value is handed over"
)]
fn name_reason(old: StoredFailure) -> StoredFailure {
    let code = &old.data["code"];
    let reason = serde_json::json!({ "reason": format!("code {code}") });
    StoredFailure::new("Refused", old.message.clone()).with_data(reason)
}

fn number_reason(failure: &StoredFailure) -> Result<StoredFailure, String> {
    let reason = failure.data["reason"].as_str().unwrap_or_default();
    let code = reason
        .strip_prefix("code ")
        .and_then(|code| code.parse::<i64>().ok());
    let code = code.ok_or("version 1 has a code")?;
    let data = serde_json::json!({ "code": code });
    Ok(StoredFailure::new("Declined", failure.message.clone()).with_data(data))
}

/// An error that a body can return.
pub(crate) trait Declines {
    fn declined(code: i64) -> Self;
}

impl Declines for PayErrorV1 {
    fn declined(code: i64) -> Self {
        Self::Declined { code }
    }
}

impl Declines for PayErrorExpanding {
    fn declined(code: i64) -> Self {
        let reason = format!("code {code}");
        Self::Refused { reason }
    }
}

impl Declines for PayErrorV2 {
    fn declined(code: i64) -> Self {
        let reason = format!("code {code}");
        Self::Refused { reason }
    }
}
