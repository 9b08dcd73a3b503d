//! The peers that are compared, and the guarantees of each.

use crate::redis::Fsync;
use crate::server::Path;

/// One way to run the payment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Peer {
    /// Without a key.
    Plain,
    /// The same by durare's sqlx, in durare's process and on its pool.
    PlainBesideDurare,
    Idem(Path),
    Hand(Path),
    Course(Style),
    Durare,
    Dbos,
    Idempotent(Fsync),
}

/// How "insert started, work, update to completed" is divided into transactions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Style {
    OneTransaction,
    ClaimFirst,
}

/// A peer's row in the table of guarantees.
pub(crate) struct Promise {
    pub(crate) name: &'static str,
    pub(crate) version: &'static str,
    pub(crate) measured: &'static str,
    /// Whether its record and the business write commit together.
    pub(crate) atomic: bool,
    pub(crate) crash: &'static str,
}

/// All peers, in the order of the tables.
pub(crate) const PEERS: [Peer; 12] = [
    Peer::Plain,
    Peer::PlainBesideDurare,
    Peer::Idem(Path::Fused),
    Peer::Idem(Path::Unfused),
    Peer::Hand(Path::Fused),
    Peer::Hand(Path::Unfused),
    Peer::Course(Style::OneTransaction),
    Peer::Durare,
    Peer::Course(Style::ClaimFirst),
    Peer::Dbos,
    Peer::Idempotent(Fsync::EverySecond),
    Peer::Idempotent(Fsync::Always),
];

const NOTHING: &str = "nothing, or everything";

impl Peer {
    /// Returns whether the peer has a key and can replay.
    pub(crate) fn has_key(self) -> bool {
        !matches!(self, Self::Plain | Self::PlainBesideDurare)
    }

    /// Returns the account of the peer's payments, by which they are counted.
    pub(crate) fn account(self) -> i64 {
        let position = PEERS.iter().position(|peer| *peer == self);
        i64::try_from(100 + position.unwrap_or_default()).unwrap_or_default()
    }

    pub(crate) fn name(self) -> &'static str {
        self.promise().name
    }

    pub(crate) fn promise(self) -> Promise {
        let promise = |name, version, measured, atomic, crash| Promise {
            name,
            version,
            measured,
            atomic,
            crash,
        };
        match self {
            Self::Plain => promise(
                "plain",
                "sqlx 0.9",
                "BEGIN, the payment, COMMIT, on sqlx's pool",
                false,
                "no key: a retry pays again",
            ),
            Self::PlainBesideDurare => promise(
                "plain, sqlx 0.8",
                "sqlx 0.8",
                "the same in durare's process, on durare's pool",
                false,
                "no key: a retry pays again",
            ),
            Self::Idem(Path::Fused) => promise(
                "idem, fused",
                "0.1.0",
                "`#[idempotent]` on the payment",
                true,
                NOTHING,
            ),
            Self::Idem(Path::Unfused) => promise(
                "idem, unfused",
                "0.1.0",
                "the same with `idem.fused=off`",
                true,
                NOTHING,
            ),
            Self::Hand(Path::Fused) => promise(
                "by hand, idem's protocol, fused",
                "sqlx 0.9",
                "`bench/src/hand.rs`",
                true,
                NOTHING,
            ),
            Self::Hand(Path::Unfused) => promise(
                "by hand, idem's protocol, unfused",
                "sqlx 0.9",
                "the same, one message a step",
                true,
                NOTHING,
            ),
            Self::Course(Style::OneTransaction) => promise(
                "by hand, insert and update",
                "sqlx 0.9",
                "BEGIN, the key as started, the payment, completed, COMMIT",
                true,
                NOTHING,
            ),
            Self::Course(Style::ClaimFirst) => promise(
                "by hand, claim committed first",
                "sqlx 0.9",
                "the key as started, alone; BEGIN, the payment, completed, COMMIT",
                false,
                "a key started for ever, and no payment: retries are stuck",
            ),
            Self::Durare => promise(
                "durare, transaction step",
                "0.5.0",
                "`#[durare::transaction]` in a workflow whose id is the key; the workflow's row before and \
                 after it is included",
                true,
                "a workflow pending until `recover()`; the payment and its step, both or neither",
            ),
            Self::Dbos => promise(
                "dbos, step",
                "0.5.0",
                "`dbos::step` in a workflow whose id is the key; the payment in a transaction of its own",
                false,
                "the payment without its step: recovery pays again",
            ),
            Self::Idempotent(Fsync::EverySecond) => promise(
                "idempotent, Redis, fsync each second",
                "2.0.0",
                "`execute_or_replay` over Redis; the payment in a transaction of PostgreSQL",
                false,
                "the payment without its record: a retry after the lease pays again",
            ),
            Self::Idempotent(Fsync::Always) => promise(
                "idempotent, Redis, fsync always",
                "2.0.0",
                "the same with `appendfsync always`, as durable as PostgreSQL is here",
                false,
                "the payment without its record: a retry after the lease pays again",
            ),
        }
    }
}
