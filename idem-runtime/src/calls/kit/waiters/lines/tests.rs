//! Who of a line is told what, without a database.

use super::*;
use crate::decision::Lock;
use crate::values::fingerprint::FINGERPRINT_VERSION;
use crate::values::identity::Identity;
use crate::values::key::{IdempotencyKey, Scope};
use crate::values::record::{AttemptId, CODEC_JSON, Record, Status, Timestamp};

/// A key of this test alone: the lines are the process's.
fn line_of(name: &str) -> LineKey {
    let key = IdempotencyKey::parse(Some(name)).unwrap().unwrap();
    let identity = Identity::of_operation("lines", Scope::GLOBAL, key);
    (1, identity.lock_key("t"))
}

fn waits(key: LineKey) -> Ticket {
    stands(key, false, None)
}

fn stands(key: LineKey, takes_over: bool, decided_on: Option<Version>) -> Ticket {
    match join(key, takes_over, decided_on) {
        Joined::First(ticket) | Joined::Waits(ticket) => ticket,
        Joined::Found(found) => panic!("there is a record: {found:?}"),
    }
}

fn lookup(status: Status) -> Arc<Lookup> {
    let record = Record {
        created_at: Timestamp::from_micros(0),
        expires_at: None,
        locked_until: None,
        attempt_id: AttemptId::random(),
        attempt: 1,
        status,
        fingerprint_version: FINGERPRINT_VERSION,
        codec: CODEC_JSON,
        operation: "pay".to_owned(),
        fingerprint: None,
        request: None,
        request_too_large: false,
        result: None,
        failure: None,
    };
    Arc::new(Lookup {
        record: Some(record),
        lock: Lock::NotAsked,
        now: Timestamp::from_micros(0),
    })
}

/// The news that a waiter has by now.
fn news(ticket: &mut Ticket) -> Option<News> {
    ticket.news.try_recv().ok()
}

fn turn(ticket: &mut Ticket) -> Option<Turn> {
    match news(ticket)? {
        News::Claim(turn) => turn,
        News::Found(found) => panic!("there is a record: {found:?}"),
    }
}

fn is_shown(ticket: &mut Ticket) -> bool {
    matches!(news(ticket), Some(News::Found(_)))
}

#[test]
fn of_those_who_wait_for_a_free_key_one_claims_and_the_others_in_turn() {
    let key = line_of("turns");
    let mut tickets = [waits(key), waits(key), waits(key)];
    let line = tickets[0].line();
    for of in 0..3 {
        assert!(announce(line, &KeyState::Free(None)));
        let held = turn(&mut tickets[of]).expect("it is its turn");
        // Until it has ended, each look is no other's.
        announce(line, &KeyState::Free(None));
        assert!(tickets.iter_mut().all(|ticket| news(ticket).is_none()));
        drop(held);
    }
}

#[test]
fn the_turn_of_a_waiter_that_is_gone_is_the_next_ones() {
    let key = line_of("gone");
    let (mut first, mut second) = (waits(key), waits(key));
    let line = first.line();
    // Nobody takes the news any more.
    first.news.close();
    announce(line, &KeyState::Free(None));
    let held = turn(&mut second);
    assert!(held.is_some());
    // The news of the third are sent and never taken.
    let (third, mut fourth) = (waits(key), waits(key));
    drop((first, held));
    announce(line, &KeyState::Free(None));
    announce(line, &KeyState::Free(None));
    assert!(news(&mut fourth).is_none());
    drop(third);
    announce(line, &KeyState::Free(None));
    assert!(turn(&mut fourth).is_some());
}

#[test]
fn a_turn_that_is_not_used_holds_the_others_up_for_a_time_only() {
    let key = line_of("unused");
    let (mut first, mut second) = (waits(key), waits(key));
    let line = first.line();
    announce(line, &KeyState::Free(None));
    let unused = turn(&mut first).expect("its turn");
    let long_ago = Instant::now()
        .checked_sub(TURN)
        .expect("an uptime of seconds");
    lock().line(line).unwrap().turn = Some((unused.number, long_ago));
    announce(line, &KeyState::Free(None));
    let held = turn(&mut second).expect("its turn, after the first one's time");
    // The first one's end is not the second one's.
    drop(unused);
    let mut third = waits(key);
    announce(line, &KeyState::Free(None));
    assert!(news(&mut third).is_none());
    drop(held);
    announce(line, &KeyState::Free(None));
    assert!(turn(&mut third).is_some());
}

#[test]
fn a_record_is_shown_once_to_each_waiter_and_to_those_who_come_later() {
    let key = line_of("shown");
    let (mut first, mut second) = (waits(key), waits(key));
    let line = first.line();
    let leased = lookup(Status::InProgress);
    let held = KeyState::InFlight(Some(Arc::clone(&leased)));
    // Keeps the line.
    let _stays = stands(key, false, version(&leased));
    announce(line, &held);
    assert!(is_shown(&mut first) && is_shown(&mut second));
    assert!(matches!(join(key, false, None), Joined::Found(_)));
    // Whoever has decided to wait on it waits for another.
    let mut again = stands(key, false, version(&leased));
    announce(line, &held);
    assert!(news(&mut again).is_none());
    announce(line, &KeyState::Free(Some(lookup(Status::Completed))));
    assert!(is_shown(&mut again));
}

#[test]
fn who_has_seen_a_record_that_may_be_replaced_claims_in_turn() {
    let key = line_of("released");
    let released = lookup(Status::Released);
    let mut tickets: [Ticket; 3] = std::array::from_fn(|_| stands(key, false, version(&released)));
    announce(tickets[0].line(), &KeyState::Free(Some(released)));
    let turns = tickets.iter_mut().filter_map(turn).count();
    assert_eq!(turns, 1);
}

#[test]
fn a_lapsed_lease_is_the_turn_of_a_leased_call() {
    let key = line_of("lapsed");
    let lapsed = lookup(Status::InProgress);
    let decided_on = version(&lapsed);
    let (mut atomic, mut leased) = (
        stands(key, false, decided_on),
        stands(key, true, decided_on),
    );
    announce(atomic.line(), &KeyState::Lapsed(lapsed));
    assert!(news(&mut atomic).is_none());
    assert!(turn(&mut leased).is_some());
}

#[test]
fn a_look_that_says_nothing_wakes_nobody_and_a_refused_one_wakes_one() {
    let key = line_of("refused");
    let mut tickets = [waits(key), waits(key)];
    let line = tickets[0].line();
    announce(line, &KeyState::Silent);
    announce(line, &KeyState::InFlight(None));
    assert!(tickets.iter_mut().all(|ticket| news(ticket).is_none()));
    announce(line, &KeyState::Refused);
    assert!(turn(&mut tickets[0]).is_some());
    assert!(news(&mut tickets[1]).is_none());
}

#[test]
fn all_are_woken_if_the_pool_is_closed() {
    let key = line_of("closed");
    let mut tickets = [waits(key), waits(key)];
    announce(tickets[0].line(), &KeyState::Closed);
    for ticket in &mut tickets {
        assert!(matches!(news(ticket), Some(News::Claim(None))));
    }
}

#[test]
fn a_line_ends_with_its_last_waiter_and_a_late_turn_of_it_leaves_the_next_line_alone() {
    let key = line_of("ends");
    let mut first = waits(key);
    let line = first.line();
    announce(line, &KeyState::Free(None));
    let late = turn(&mut first).expect("its turn");
    assert!(is_waited_for(key));
    drop(first);
    assert!(!is_waited_for(key));
    assert!(!announce(line, &KeyState::Free(None)));
    let (mut second, mut third) = (waits(key), waits(key));
    assert_ne!(second.line(), line);
    announce(second.line(), &KeyState::Free(None));
    let held = turn(&mut second);
    drop(late);
    announce(second.line(), &KeyState::Free(None));
    assert!(held.is_some() && news(&mut third).is_none());
}

#[test]
fn those_who_still_wait_when_the_poller_ends_are_told() {
    let key = line_of("poller");
    let mut ticket = waits(key);
    drop(LineGuard(ticket.line()));
    let ended = ticket.news.try_recv().unwrap_err();
    assert_eq!(ended, oneshot::error::TryRecvError::Closed);
    assert!(!is_waited_for(key));
}

#[tokio::test]
async fn the_poller_is_aborted_with_the_last_waiter() {
    let key = line_of("aborted");
    let (first, second) = (waits(key), waits(key));
    let poller = tokio::spawn(std::future::pending::<()>());
    first.is_polled_by(poller.abort_handle());
    drop(first);
    assert!(!poller.is_finished());
    drop(second);
    assert!(poller.await.unwrap_err().is_cancelled());
}
