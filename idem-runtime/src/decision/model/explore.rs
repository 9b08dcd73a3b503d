//! Explores every step from every state and checks the laws of each step.

use std::collections::{BTreeSet, HashSet};

use super::super::{Change, Decision};
use super::world::{Caller, END, LEASE, Plan, Rules, World, attempt};
use crate::values::policy::OnLapse;
use crate::values::record::{AttemptId, Status};

pub(super) struct Explored {
    pub(super) states: usize,
    pub(super) violation: Option<String>,
    /// The kinds of steps that were reached.
    pub(super) reached: BTreeSet<&'static str>,
}

/// Explores all reachable states, until a step breaks a law.
pub(super) fn explore(rules: Rules) -> Explored {
    let mut visited = HashSet::new();
    let mut open = vec![World::new()];
    let mut explored = Explored {
        states: 0,
        violation: None,
        reached: BTreeSet::new(),
    };
    while let Some(world) = open.pop() {
        if !visited.insert(world.clone()) {
            continue;
        }
        for (event, next) in steps(&world, rules) {
            explored.reached.insert(event);
            if let Err(law) = check(&world, event, &next, rules) {
                explored.violation = Some(format!("{law}, by {event}:\n{world:?}\n{next:?}"));
                return explored;
            }
            open.push(next);
        }
    }
    explored.states = visited.len();
    explored
}

/// Returns the violation under broken rules.
pub(super) fn violation(rules: Rules) -> String {
    explore(rules).violation.expect("a planted break is found")
}

type Steps = Vec<(&'static str, World)>;

fn steps(world: &World, rules: Rules) -> Steps {
    let mut steps = Vec::new();
    if world.now < END {
        let mut next = world.clone();
        next.now += 1;
        steps.push(("a moment", next));
    }
    for who in 0..world.callers.len() {
        match world.callers[who] {
            Caller::Idle { asked } if world.may_ask(who) => {
                look(world, who, asked, rules, &mut steps);
            }
            Caller::Idle { .. } => {}
            Caller::Looked { plan, at } => write(world, who, plan, at, rules, &mut steps),
            Caller::Owner { until, renewed } => own(world, who, until, renewed, rules, &mut steps),
            Caller::Over => over(world, who, rules, &mut steps),
        }
    }
    reconcile(world, rules, &mut steps);
    steps
}

fn look(world: &World, who: usize, asked: Option<i64>, rules: Rules, steps: &mut Steps) {
    let mut next = world.clone();
    let at = asked.unwrap_or(world.now);
    let plan = match world.look(who, rules) {
        Decision::Run { replaces: None, .. } => Plan::Insert,
        Decision::Run {
            replaces: Some(expected),
            attempt,
            ..
        } => Plan::Replace {
            expected: id(expected),
            attempt,
        },
        Decision::TakeOver { lapsed, attempt } => Plan::TakeOver {
            expected: id(lapsed),
            attempt,
        },
        Decision::Lapse(record) => Plan::Lapse {
            expected: id(record.attempt_id),
        },
        Decision::AlreadyHeld { .. } => {
            begin(&mut next, who, at);
            steps.push(("held", next));
            return;
        }
        Decision::Replay(_) | Decision::ReplayFailure(_) | Decision::Refuse(_) => return,
    };
    next.callers[who] = Caller::Looked { plan, at };
    steps.push(("look", next));
}

fn write(world: &World, who: usize, plan: Plan, at: i64, rules: Rules, steps: &mut Steps) {
    let mut next = world.clone();
    let own = world.id(who);
    let asks = rules.operation(who);
    let (event, done) = match plan {
        Plan::Insert => {
            let stands = world.row.is_none();
            ("fresh", put_if(&mut next, stands, own, asks, 1))
        }
        Plan::Replace { expected, attempt } => {
            let row = world.row.as_ref();
            let stands =
                row.is_some_and(|row| row.id == expected && row.status == Status::Released);
            ("replace", put_if(&mut next, stands, own, asks, attempt))
        }
        Plan::TakeOver { expected, attempt } => {
            let done = next.change(Change::TakeOver, expected, own, rules);
            (
                "take over",
                done && put_if(&mut next, true, own, asks, attempt),
            )
        }
        Plan::Lapse { expected } => {
            let done = next.change(Change::Lapse, expected, expected, rules);
            next.callers[who] = Caller::Idle { asked: None };
            steps.push((if done { "lapse" } else { "rival" }, next));
            return;
        }
    };
    if !done {
        next.callers[who] = Caller::Idle { asked: None };
        steps.push(("rival", next));
        return;
    }
    // The answer may be lost: then the same attempt claims again.
    let mut lost = next.clone();
    lost.callers[who] = Caller::Idle { asked: Some(at) };
    steps.push(("lost", lost));
    begin(&mut next, who, at);
    steps.push((event, next));
}

fn put_if(world: &mut World, stands: bool, id: u8, operation: usize, attempt: i32) -> bool {
    if stands {
        world.store_record(id, operation, attempt);
    }
    stands
}

fn begin(world: &mut World, who: usize, at: i64) {
    world.bodies += 1;
    world.callers[who] = Caller::Owner {
        until: at + LEASE,
        renewed: None,
    };
}

fn own(
    world: &World,
    who: usize,
    until: i64,
    renewed: Option<i64>,
    rules: Rules,
    steps: &mut Steps,
) {
    let own = world.id(who);
    match renewed {
        None => {
            let mut next = world.clone();
            let renewed = Some(world.now);
            next.callers[who] = Caller::Owner { until, renewed };
            steps.push(("beat", next));
        }
        Some(sent) => {
            let mut next = world.clone();
            if next.change(Change::Extend, own, own, rules) {
                next.callers[who] = Caller::Owner {
                    until: sent + LEASE,
                    renewed: None,
                };
                steps.push(("extend", next));
            } else {
                next.callers[who] = Caller::Over;
                steps.push(("fenced", next));
            }
        }
    }
    for (event, change) in [
        ("complete", Change::Complete),
        ("fail", Change::Fail),
        ("release", Change::Release),
        ("doubt", Change::Doubt),
    ] {
        let mut next = world.clone();
        let done = next.change(change, own, own, rules);
        next.callers[who] = Caller::Over;
        steps.push((if done { event } else { "fenced" }, next));
    }
    let mut crashed = world.clone();
    crashed.callers[who] = Caller::Over;
    steps.push(("crash", crashed));
}

/// After the attempt is over, a message that it sent may arrive late, and its caller may call
/// again.
fn over(world: &World, who: usize, rules: Rules, steps: &mut Steps) {
    let own = world.id(who);
    for change in [Change::Extend, Change::Complete, Change::Release] {
        let mut next = world.clone();
        if next.change(change, own, own, rules) {
            steps.push(("late", next));
        }
    }
    let mut next = world.clone();
    next.calls[who] += 1;
    next.callers[who] = Caller::Idle { asked: None };
    steps.push(("again", next));
}

fn reconcile(world: &World, rules: Rules, steps: &mut Steps) {
    // An operator settles a lapsed lease that no caller has found.
    if let Some(row) = &world.row {
        let mut next = world.clone();
        // A released record belongs to no attempt.
        let becomes = match rules.on_lapse {
            OnLapse::Unknown => row.id,
            OnLapse::Retry => 200 + u8::try_from(row.attempt).unwrap_or(u8::MAX - 200),
        };
        if next.change(Change::lapse(rules.on_lapse), row.id, becomes, rules) {
            steps.push(("overdue", next));
        }
    }
    let Some(expected) = world.reconciler else {
        if let Some(row) = &world.row
            && row.status == Status::Unknown
            && world.settled < 2
        {
            let mut next = world.clone();
            next.reconciler = Some(row.id);
            steps.push(("find", next));
        }
        return;
    };
    for status in [Status::Completed, Status::Failed, Status::Released] {
        let mut next = world.clone();
        next.reconciler = None;
        next.settled += 1;
        let becomes = 100 + next.settled;
        let done = next.change(Change::Settle(status), expected, becomes, rules);
        steps.push((if done { "settle" } else { "fenced" }, next));
    }
}

/// Checks the laws for one step.
fn check(before: &World, event: &str, after: &World, rules: Rules) -> Result<(), &'static str> {
    if after.results > 1 {
        return Err("two results were accepted: completed twice");
    }
    if let Some(row) = &before.row
        && matches!(row.status, Status::Completed | Status::Failed)
        && after.row.as_ref() != Some(row)
    {
        return Err("a result was overwritten");
    }
    if matches!(event, "take over" | "lapse" | "overdue" | "lost")
        && let Some(row) = &before.row
        && row.status == Status::InProgress
        && row.until.is_some_and(|until| until > before.now)
    {
        return Err("a live lease was taken");
    }
    for who in 0..after.callers.len() {
        let Caller::Owner { until, .. } = after.callers[who] else {
            continue;
        };
        let own = after.id(who);
        let holds = after
            .row
            .as_ref()
            .is_some_and(|row| row.id == own && row.status == Status::InProgress);
        if until > after.now && !holds {
            return Err("an owner counts on a live lease that is not there");
        }
    }
    let number = after.row.as_ref().map_or(0, |row| row.attempt);
    let earlier = before.row.as_ref().map_or(0, |row| row.attempt);
    if after.row.is_none() && before.row.is_some() {
        return Err("the number of the attempt was forgotten");
    }
    if let (Some(before), Some(after)) = (&before.row, &after.row)
        && before.operation != after.operation
    {
        return Err("a key that was begun for one operation was given to another");
    }
    if number < earlier {
        return Err("the number of the attempt went back");
    }
    if rules.on_lapse == OnLapse::Unknown && after.bodies > 1 + after.freed {
        return Err("a body was begun again without anybody's word that it may");
    }
    Ok(())
}

fn id(expected: AttemptId) -> u8 {
    (0..=u8::MAX)
        .find(|id| attempt(*id) == expected)
        .expect("an attempt of the model")
}
