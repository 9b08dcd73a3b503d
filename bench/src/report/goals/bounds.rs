//! The goals as data. A bound is not moved to meet it.

use super::{DEAD, UPDATED};

pub(super) enum Unit {
    Count,
    Bytes,
    Ratio,
    Micros,
}

/// A bound on a figure, or on the ratio of two.
pub(super) struct Goal {
    pub(super) what: &'static str,
    pub(super) figure: &'static str,
    pub(super) over: Option<&'static str>,
    pub(super) unit: Unit,
    pub(super) at_most: f64,
    /// A goal for a figure that must be at least its bound.
    pub(super) at_least: f64,
}

const fn at_most(what: &'static str, figure: &'static str, unit: Unit, bound: f64) -> Goal {
    Goal {
        what,
        figure,
        over: None,
        unit,
        at_most: bound,
        at_least: f64::NEG_INFINITY,
    }
}

pub(super) const fn count(what: &'static str, figure: &'static str, bound: f64) -> Goal {
    at_most(what, figure, Unit::Count, bound)
}

const fn bytes(what: &'static str, figure: &'static str, bound: f64) -> Goal {
    at_most(what, figure, Unit::Bytes, bound)
}

pub(super) const fn ratio(what: &'static str, figure: &'static str, bound: f64) -> Goal {
    at_most(what, figure, Unit::Ratio, bound)
}

pub(super) const fn at_least(what: &'static str, figure: &'static str, bound: f64) -> Goal {
    Goal {
        at_least: bound,
        ..ratio(what, figure, f64::INFINITY)
    }
}

/// A goal for a number a second.
const fn rate(what: &'static str, figure: &'static str, bound: f64) -> Goal {
    Goal {
        unit: Unit::Count,
        ..at_least(what, figure, bound)
    }
}

const fn over(what: &'static str, figure: &'static str, over: &'static str, bound: f64) -> Goal {
    Goal {
        over: Some(over),
        ..ratio(what, figure, bound)
    }
}

pub(super) const GOALS: [Goal; 56] = [
    count(
        "a first run, fused: round trips more than plain",
        "counts/first run, 1 statement, fused/more",
        0.0,
    ),
    count(
        "a first run, unfused: round trips more than plain",
        "counts/first run, 1 statement, unfused/more",
        2.0,
    ),
    count(
        "a replay: round trips more than one SELECT",
        "counts/replay, fused/more",
        0.0,
    ),
    count(
        "a replay in another process: round trips more than one SELECT",
        "counts/replay, other process, fused/more",
        0.0,
    ),
    count(
        "in flight, fused: answered while the body is held; round trips more than one SELECT",
        "counts/in flight, fused/more",
        1.0,
    ),
    count(
        "in the caller's transaction: round trips more than plain",
        "counts/caller's transaction/more",
        2.0,
    ),
    bytes(
        "WAL of a first run, fused: more than plain",
        "written/first run, 1 statement, fused/WAL more",
        550.0,
    ),
    bytes(
        "WAL of a first run, unfused: more than plain",
        "written/first run, 1 statement, unfused/WAL more",
        550.0,
    ),
    bytes("WAL of a replay", "written/replay, fused/WAL", 0.0),
    bytes(
        "WAL of a replay, unfused",
        "written/replay, unfused/WAL",
        0.0,
    ),
    count("updated records, all cases of atomic mode", UPDATED, 0.0),
    count("dead records, all cases of atomic mode", DEAD, 0.0),
    ratio(
        "a first run, loopback with fsync",
        "latency/loopback/first run, 1 statement, fused/ratio",
        1.32,
    ),
    ratio(
        "the same with 3 statements",
        "latency/loopback/first run, 3 statements, fused/ratio",
        1.22,
    ),
    ratio(
        "a first run, round trip of 1 ms",
        "latency/1 ms/first run, 1 statement, fused/ratio",
        1.04,
    ),
    ratio(
        "a first run, round trip of 7 ms",
        "latency/7 ms/first run, 1 statement, fused/ratio",
        1.05,
    ),
    at_least(
        "calls a second of 8 tasks, fsync",
        "tasks/fsync/8/fused/ratio",
        0.66,
    ),
    at_least(
        "the same, what is aimed at",
        "tasks/fsync/8/fused/ratio",
        0.70,
    ),
    ratio(
        "the server's processor time of a first run, one connection",
        "tasks/processor/1/fused/server/ratio",
        1.40,
    ),
    ratio(
        "the same, 8 connections",
        "tasks/processor/8/fused/server/ratio",
        1.65,
    ),
    over(
        "a first run over \"insert, update\" by hand, loopback",
        "latency/loopback/first run, 1 statement, fused/median",
        "latency/loopback/by hand, insert and update/median",
        1.03,
    ),
    over(
        "a replay over that by hand, loopback",
        "latency/loopback/replay, fused/median",
        "latency/loopback/replay by hand, insert and update/median",
        1.00,
    ),
    ratio(
        "a replay over one SELECT, loopback",
        "latency/loopback/replay, fused/ratio",
        1.35,
    ),
    ratio(
        "a replay over one SELECT, 1 ms",
        "latency/1 ms/replay, fused/ratio",
        1.05,
    ),
    ratio(
        "a replay over one SELECT, 7 ms",
        "latency/7 ms/replay, fused/ratio",
        1.05,
    ),
    ratio(
        "a replay in another process over one SELECT, loopback",
        "latency/loopback/replay, other process, fused/ratio",
        1.35,
    ),
    ratio(
        "a replay in another process over one SELECT, 1 ms",
        "latency/1 ms/replay, other process, fused/ratio",
        1.05,
    ),
    over(
        "the library over its protocol by hand, fused",
        "latency/loopback/first run, 1 statement, fused/median",
        "latency/loopback/by hand, fused/median",
        1.05,
    ),
    over(
        "the library over its protocol by hand, unfused",
        "latency/loopback/first run, 1 statement, unfused/median",
        "latency/loopback/by hand, unfused/median",
        1.05,
    ),
    ratio(
        "lease mode over insert, body, update by hand, 1 ms",
        "latency/1 ms/lease mode/ratio",
        1.15,
    ),
    ratio(
        "SQLite, synchronous = NORMAL: a first run",
        "sqlite/NORMAL/first run, 1 statement/ratio",
        1.95,
    ),
    ratio(
        "SQLite, synchronous = FULL: a first run",
        "sqlite/FULL/first run, 1 statement/ratio",
        1.40,
    ),
    ratio(
        "the same with NORMAL, what is aimed at",
        "sqlite/NORMAL/first run, 1 statement/ratio",
        1.75,
    ),
    ratio(
        "the same with FULL, what is aimed at",
        "sqlite/FULL/first run, 1 statement/ratio",
        1.30,
    ),
    ratio(
        "SQLite, NORMAL: a replay over one SELECT",
        "sqlite/NORMAL/replay/ratio",
        1.50,
    ),
    ratio(
        "SQLite, FULL: a replay over one SELECT",
        "sqlite/FULL/replay/ratio",
        1.50,
    ),
    ratio(
        "MariaDB: a first run, loopback",
        "mariadb/loopback/first run/ratio",
        1.60,
    ),
    ratio(
        "MariaDB: a first run, 1 ms",
        "mariadb/1 ms/first run/ratio",
        1.45,
    ),
    over(
        "a first run at 10,000,000 records over 10,000, keys in time's order",
        "growth/records/keys in time's order/10000000/first run/median",
        "growth/records/keys in time's order/10000/first run/median",
        1.05,
    ),
    over(
        "the same, random keys",
        "growth/records/random keys/10000000/first run/median",
        "growth/records/random keys/10000/first run/median",
        1.10,
    ),
    over(
        "a first run at 1,000,000 records over 10,000, keys in time's order",
        "growth/records/keys in time's order/1000000/first run/median",
        "growth/records/keys in time's order/10000/first run/median",
        1.05,
    ),
    over(
        "the same, random keys",
        "growth/records/random keys/1000000/first run/median",
        "growth/records/random keys/10000/first run/median",
        1.10,
    ),
    at_most(
        "fingerprint of a typed request of 1 KB",
        "fingerprint/1 KB/typed/median",
        Unit::Micros,
        10.0,
    ),
    ratio("calls beside a purge, median", "purge/ratio", 1.25),
    ratio(
        "calls of other keys beside 512 that wait, median",
        "waiters/ratio",
        1.1,
    ),
    count(
        "an appended event: round trips more than one INSERT",
        "messages/append/an appended event more/more",
        0.0,
    ),
    ratio(
        "a payment with an appended event over one with an INSERT more",
        "messages/append/an appended event more/ratio",
        1.10,
    ),
    rate(
        "events a second of a relay whose publisher does nothing",
        "messages/relay/events a second",
        5_000.0,
    ),
    at_most(
        "COMMIT to publication, in the appending process",
        "messages/delay/in the appending process/median",
        Unit::Micros,
        50_000.0,
    ),
    at_most(
        "COMMIT to publication, elsewhere: the idle interval",
        "messages/delay/elsewhere/median",
        Unit::Micros,
        1_000_000.0,
    ),
    count(
        "statements a second of an idle relay",
        "messages/idle/statements a second",
        4.0,
    ),
    at_most(
        "the slowest page of the console at 1,000,000 records, 95 of 100",
        "console/slowest",
        Unit::Micros,
        200_000.0,
    ),
    ratio(
        "a claim among 1,000,000 pending events over 1,000",
        "messages/claim/many pending/ratio",
        1.20,
    ),
    ratio(
        "a claim beside 100,000 dead events",
        "messages/claim/many dead/ratio",
        1.20,
    ),
    ratio(
        "a claim beside 100,000 that wait behind one failing head",
        "messages/claim/many waiting behind a failing head/ratio",
        1.20,
    ),
    ratio(
        "a claim with 1,000,000 events' versions held by an open snapshot",
        "messages/claim/many versions held by an open snapshot/ratio",
        1.50,
    ),
];
