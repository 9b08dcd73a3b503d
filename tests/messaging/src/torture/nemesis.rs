//! The faults of this torture. Their order is [`idem_tests::torture::nemesis`]'s.

use std::fmt;

use idem_tests::torture::link::{Harm, Point};
use serde::{Deserialize, Serialize};

/// What a process does.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// Callers call the handlers.
    Caller,
    /// A relay publishes the events.
    Relay,
    /// Consumers have their effects.
    Consumer,
}

/// A link from processes of a role to a server.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Wire {
    /// To the database.
    Database(Role),
    /// To the broker.
    Broker(Role),
}

/// One fault.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Blow {
    /// Kills a process of this role by SIGKILL.
    Kill(Role),
    /// Kills every process by SIGKILL.
    KillAll,
    /// Stops a process of this role by SIGSTOP for longer than its lease or its silence may last, and continues it.
    Freeze(Role),
    /// Ends every session of the database.
    Terminate,
    /// Crashes the database's server (immediate shutdown) and lets it recover.
    Crash,
    /// Restarts the database's server cleanly.
    Restart,
    /// Kills the broker, and starts it again after a while.
    KillBroker,
    /// Cuts every connection over this link at once.
    Cut(Wire),
    /// Disturbs the next message over this link.
    Link(Wire, Point, Harm),
}

/// Every fault where the database is a server. One that is listed twice comes twice as often.
pub const BLOWS: [Blow; 40] = [
    Blow::Kill(Role::Caller),
    Blow::Kill(Role::Relay),
    Blow::Kill(Role::Relay),
    Blow::Kill(Role::Relay),
    Blow::Kill(Role::Consumer),
    Blow::Kill(Role::Consumer),
    Blow::KillAll,
    Blow::Freeze(Role::Caller),
    Blow::Freeze(Role::Relay),
    Blow::Freeze(Role::Relay),
    Blow::Freeze(Role::Consumer),
    Blow::Terminate,
    Blow::Crash,
    Blow::Crash,
    Blow::Restart,
    Blow::KillBroker,
    Blow::KillBroker,
    Blow::KillBroker,
    Blow::Cut(Wire::Database(Role::Caller)),
    Blow::Cut(Wire::Database(Role::Relay)),
    Blow::Cut(Wire::Database(Role::Consumer)),
    Blow::Cut(Wire::Broker(Role::Relay)),
    Blow::Cut(Wire::Broker(Role::Consumer)),
    Blow::Link(Wire::Database(Role::Caller), Point::Commit, Harm::CutAnswer),
    Blow::Link(Wire::Database(Role::Caller), Point::Commit, Harm::CutClient),
    Blow::Link(Wire::Database(Role::Caller), Point::Anywhere, Harm::Swallow),
    Blow::Link(Wire::Database(Role::Relay), Point::Commit, Harm::CutBefore),
    Blow::Link(Wire::Database(Role::Relay), Point::Commit, Harm::CutAnswer),
    Blow::Link(Wire::Database(Role::Relay), Point::Commit, Harm::CutClient),
    Blow::Link(Wire::Database(Role::Relay), Point::Commit, Harm::Delay),
    Blow::Link(
        Wire::Database(Role::Relay),
        Point::Commit,
        Harm::SwallowAnswer,
    ),
    Blow::Link(
        Wire::Database(Role::Consumer),
        Point::Commit,
        Harm::CutAnswer,
    ),
    Blow::Link(
        Wire::Database(Role::Consumer),
        Point::Commit,
        Harm::CutBefore,
    ),
    Blow::Link(
        Wire::Database(Role::Consumer),
        Point::Commit,
        Harm::SwallowAnswer,
    ),
    Blow::Link(Wire::Broker(Role::Relay), Point::Commit, Harm::CutBefore),
    Blow::Link(Wire::Broker(Role::Relay), Point::Commit, Harm::CutAnswer),
    Blow::Link(
        Wire::Broker(Role::Relay),
        Point::Commit,
        Harm::SwallowAnswer,
    ),
    Blow::Link(Wire::Broker(Role::Consumer), Point::Commit, Harm::CutBefore),
    Blow::Link(Wire::Broker(Role::Consumer), Point::Commit, Harm::CutAnswer),
    Blow::Link(Wire::Broker(Role::Consumer), Point::Anywhere, Harm::Swallow),
];

/// Every fault where the database is a file.
pub const BLOWS_WITHOUT_SERVER: [Blow; 23] = [
    Blow::Kill(Role::Caller),
    Blow::Kill(Role::Caller),
    Blow::Kill(Role::Relay),
    Blow::Kill(Role::Relay),
    Blow::Kill(Role::Relay),
    Blow::Kill(Role::Consumer),
    Blow::Kill(Role::Consumer),
    Blow::KillAll,
    Blow::KillAll,
    Blow::Freeze(Role::Caller),
    Blow::Freeze(Role::Relay),
    Blow::Freeze(Role::Relay),
    Blow::Freeze(Role::Consumer),
    Blow::KillBroker,
    Blow::KillBroker,
    Blow::Cut(Wire::Broker(Role::Relay)),
    Blow::Cut(Wire::Broker(Role::Consumer)),
    Blow::Link(Wire::Broker(Role::Relay), Point::Commit, Harm::CutBefore),
    Blow::Link(Wire::Broker(Role::Relay), Point::Commit, Harm::CutAnswer),
    Blow::Link(
        Wire::Broker(Role::Relay),
        Point::Commit,
        Harm::SwallowAnswer,
    ),
    Blow::Link(Wire::Broker(Role::Consumer), Point::Commit, Harm::CutBefore),
    Blow::Link(Wire::Broker(Role::Consumer), Point::Commit, Harm::CutAnswer),
    Blow::Link(Wire::Broker(Role::Consumer), Point::Anywhere, Harm::Swallow),
];

/// The faults under which a relay that marks too early is found.
pub const BLOWS_TO_PUBLICATIONS: [Blow; 2] = [Blow::KillBroker, Blow::Kill(Role::Relay)];

impl Blow {
    /// Returns whether the fault takes effect at once. A harm to a link waits for its message.
    pub fn hits_at_once(self) -> bool {
        !matches!(self, Self::Link(..))
    }
}

impl fmt::Display for Role {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Caller => "callers",
            Self::Relay => "relay",
            Self::Consumer => "consumers",
        })
    }
}

impl fmt::Display for Wire {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Database(role) => write!(f, "{role} to database"),
            Self::Broker(role) => write!(f, "{role} to broker"),
        }
    }
}

impl fmt::Display for Blow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Kill(role) => write!(f, "{role}: a process killed"),
            Self::KillAll => f.write_str("all processes killed at once"),
            Self::Freeze(role) => write!(f, "{role}: a process stopped for a while"),
            Self::Terminate => f.write_str("all sessions of the database ended"),
            Self::Crash => f.write_str("the database crashed"),
            Self::Restart => f.write_str("the database restarted"),
            Self::KillBroker => f.write_str("the broker killed"),
            Self::Cut(wire) => write!(f, "{wire}: all links cut"),
            Self::Link(wire, point, harm) => write!(f, "{wire}: {point}: {harm}"),
        }
    }
}
