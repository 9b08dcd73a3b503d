//! The requests and the answers.

use idem_runtime::{Error, Failure, StoredFailure};
use serde::{Deserialize, Serialize};

use super::choice;

/// The number of accounts.
pub const ACCOUNTS: u64 = 16;
/// The opening balance of each account.
pub const OPENING: i64 = 1_000;
/// The number of keys that are used at the same time: few enough that callers meet.
const FASHION: u64 = 16;

/// The handler that is called.
#[derive(Clone, Copy, Debug, Deserialize, Eq, Ord, PartialEq, PartialOrd, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum What {
    /// Transfers money.
    Transfer,
    /// Transfers money, and takes the next number of a counter.
    Order,
}

/// A request.
#[derive(Clone, Copy, Debug, Deserialize, Eq, Ord, PartialEq, PartialOrd, Serialize)]
pub struct Asked {
    /// The handler.
    pub what: What,
    /// The payer's account.
    pub from: i64,
    /// The recipient's account.
    pub to: i64,
    /// The amount.
    pub amount: i64,
}

/// A result: the run of the body that made it, and the order's number if there is one.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub struct Done {
    /// Random, so that no two runs share it; negative if COMMIT is to refuse it.
    pub run: i64,
    /// The number taken from the counter.
    pub number: Option<i64>,
}

/// The reason why a call has no result.
#[derive(Debug, thiserror::Error)]
pub enum Refused {
    /// An error of the library.
    #[error(transparent)]
    Idempotency(#[from] Error),
    /// A database error, in the body or in the caller's own part.
    #[error(transparent)]
    Database(#[from] sqlx::Error),
    /// A permanent failure of the body.
    #[error("the bank declines")]
    Declined {
        /// The requested amount.
        amount: i64,
    },
    /// A transient failure of the body.
    #[error("the bank does not answer")]
    BankDown,
}

impl Failure for Refused {
    fn to_failure(&self) -> Option<StoredFailure> {
        let Self::Declined { amount } = self else {
            return None;
        };
        let data = serde_json::json!({ "amount": amount });
        Some(StoredFailure::new("Declined", self.to_string()).with_data(data))
    }

    fn from_failure(failure: StoredFailure) -> Self {
        match failure.data["amount"].as_i64() {
            Some(amount) => Self::Declined { amount },
            None => Self::Idempotency(Error::RecordedFailure(Box::new(failure))),
        }
    }
}

/// The outcome of a run of the body.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Fate {
    /// Nothing.
    Succeeds,
    /// Fails permanently, after its writes.
    Declines,
    /// Fails transiently, after its writes.
    BankDown,
    /// Panics, after its writes.
    Panics,
    /// Succeeds, after a write for which COMMIT is refused.
    RefusedAtCommit,
}

/// How the handler is called.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Way {
    /// With the pool; a duplicate of a call in flight is refused.
    Pool,
    /// With the pool; a duplicate waits for the call in flight.
    Patient,
    /// In the caller's own transaction.
    Joined,
}

/// One call of a caller, determined by the seed and its place.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Call {
    /// The key's number.
    pub key: u64,
    /// The request.
    pub asked: Asked,
    /// How the handler is called.
    pub way: Way,
}

impl Call {
    /// Returns the `index`th of a caller's `calls` calls over `keys` keys.
    ///
    /// Of twenty callers, one sends another amount under this key than the others, and one calls
    /// the other handler. The first call determines the key's request.
    pub fn chosen(seed: u64, index: u64, calls: u64, keys: u64) -> Self {
        let at = |n| choice(seed, index * 8 + n);
        let key = if at(0).is_multiple_of(4) {
            at(1) % keys
        } else {
            (index * keys / calls + at(1) % FASHION) % keys
        };
        let mut asked = Asked::of(key);
        match at(2) % 20 {
            0 => asked.amount += 1_000,
            1 => asked.what = asked.what.other(),
            _ => {}
        }
        let way = match at(3) % 4 {
            0 => Way::Joined,
            1 => Way::Patient,
            _ => Way::Pool,
        };
        Self { key, asked, way }
    }

    /// Returns the outcome of the body for this try. Whether it declines depends on the key alone.
    pub fn fate(&self, seed: u64, index: u64, tried: u64) -> Fate {
        if self.key.is_multiple_of(10) {
            return Fate::Declines;
        }
        match choice(seed ^ tried, index * 8 + 4) % 24 {
            0..=2 => Fate::BankDown,
            3 => Fate::Panics,
            4 | 5 => Fate::RefusedAtCommit,
            _ => Fate::Succeeds,
        }
    }

    /// Returns the number of polls after which the caller drops this try, if it does.
    pub fn patience(seed: u64, index: u64, tried: u64) -> Option<u64> {
        let chance = choice(seed ^ tried, index * 8 + 5);
        chance.is_multiple_of(16).then_some(1 + (chance >> 8) % 24)
    }
}

impl Asked {
    /// Returns the request of most callers under this key.
    fn of(key: u64) -> Self {
        let from = choice(key, 1) % ACCOUNTS;
        let to = (from + 1 + choice(key, 2) % (ACCOUNTS - 1)) % ACCOUNTS;
        Self {
            what: if key.is_multiple_of(3) {
                What::Order
            } else {
                What::Transfer
            },
            from: from.cast_signed(),
            to: to.cast_signed(),
            amount: (choice(key, 3) % 50).cast_signed() + 1,
        }
    }
}

impl What {
    /// Returns the name of the operation.
    pub fn operation(self) -> &'static str {
        match self {
            Self::Transfer => "transfer",
            Self::Order => "order",
        }
    }

    fn other(self) -> Self {
        match self {
            Self::Transfer => Self::Order,
            Self::Order => Self::Transfer,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Call;

    fn thousand(seed: u64) -> Vec<Call> {
        (0..1_000)
            .map(|index| Call::chosen(seed, index, 1_000, 250))
            .collect()
    }

    #[test]
    fn a_seed_chooses_the_same_calls_again_and_another_seed_others() {
        assert_eq!(thousand(1), thousand(1));
        assert_ne!(thousand(1), thousand(2));
    }

    #[test]
    fn some_callers_send_another_request_under_a_key_of_others() {
        let calls = thousand(1);
        let changed = calls.iter().any(|one| {
            let twin = |other: &&Call| other.key == one.key && other.asked != one.asked;
            calls.iter().any(|other| twin(&other))
        });
        assert!(changed);
    }
}
