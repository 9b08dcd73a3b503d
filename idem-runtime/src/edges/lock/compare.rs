//! What differs between the file and the program, and what that means for retries begun before a deploy.

use std::collections::BTreeSet;

use super::file::{Locked, LockedName, Operations, duration};
use super::names::{parent, renamed, suffix};
use super::shape::{OPAQUE, OPTIONAL};

/// The differences of one operation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Deviation {
    pub(super) name: LockedName,
    pub(super) source: Option<String>,
    /// The lines of the file that are gone, and those that are new.
    pub(super) lines: Vec<Differing>,
    pub(super) consequences: Vec<Consequence>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Differing {
    Gone(String),
    New(String),
}

/// What a difference means.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Consequence {
    pub(super) effect: Effect,
    pub(super) reason: String,
    /// The compatible way.
    pub(super) instead: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Effect {
    /// Retries of calls begun before the deploy are refused.
    Refuses,
    /// Retries of calls begun before the deploy run the body again.
    RunsAgain,
    /// Nothing in the two shapes says whether they are.
    MayRefuse,
    /// They are not.
    Safe,
}

impl Deviation {
    pub(super) fn refuses(&self) -> bool {
        let mut consequences = self.consequences.iter();
        consequences
            .any(|consequence| matches!(consequence.effect, Effect::Refuses | Effect::RunsAgain))
    }

    fn new(name: &LockedName, source: Option<&String>) -> Self {
        Self {
            name: name.clone(),
            source: source.cloned(),
            lines: Vec::new(),
            consequences: Vec::new(),
        }
    }

    fn say(&mut self, effect: Effect, reason: impl Into<String>, instead: Option<String>) {
        self.consequences.push(Consequence {
            effect,
            reason: reason.into(),
            instead,
        });
    }

    fn line<T: PartialEq>(
        &mut self,
        name: &str,
        values: [T; 2],
        show: impl Fn(&T) -> String,
    ) -> bool {
        let [old, new] = values;
        if old == new {
            return false;
        }
        self.lines
            .push(Differing::Gone(format!("{name} = {}", show(&old))));
        self.lines
            .push(Differing::New(format!("{name} = {}", show(&new))));
        true
    }
}

/// Compares what the file says with what the program has.
pub(super) fn compare(file: &Operations, program: &Operations) -> Vec<Deviation> {
    let mut changes = Vec::new();
    for (name, old) in file {
        match program.get(name) {
            Some(new) if same(old, new) => {}
            Some(new) => changes.push(changed(name, old, new)),
            None => changes.push(gone(name, old, file, program)),
        }
    }
    for (name, new) in program {
        if !file.contains_key(name) {
            let mut change = Deviation::new(name, new.source.as_ref());
            change
                .lines
                .push(Differing::New("the operation".to_owned()));
            let reason = "it is not in the file yet, so nothing looks after it";
            change.say(Effect::Safe, reason, None);
            changes.push(change);
        }
    }
    changes
}

fn same(old: &Locked, new: &Locked) -> bool {
    let source = None;
    Locked {
        source: source.clone(),
        ..old.clone()
    } == Locked {
        source,
        ..new.clone()
    }
}

/// An operation of the file that the program does not have.
fn gone(name: &LockedName, old: &Locked, file: &Operations, program: &Operations) -> Deviation {
    let mut change = Deviation::new(name, None);
    change
        .lines
        .push(Differing::Gone("the operation".to_owned()));
    let renamed: Vec<_> = program
        .iter()
        .filter(|(other, new)| {
            !file.contains_key(*other)
                && new.compared == old.compared
                && new.fingerprint == old.fingerprint
        })
        .filter(|(other, _)| other.0 == name.0 || other.1 == name.1)
        .collect();
    if let [(other, new)] = renamed[..] {
        change.source.clone_from(&new.source);
        let (effect, reason, instead) = if other.0 == name.0 {
            (
                Effect::Refuses,
                format!(
                    "it seems to be called `{}` now, and a retry of `{}` is refused as another operation",
                    other.1, name.1
                ),
                format!("keep the name: `operation = \"{}\"`", name.1),
            )
        } else {
            (
                Effect::RunsAgain,
                format!(
                    "it seems to be in namespace `{}` now, where no key of before is found",
                    other.0
                ),
                format!("keep the namespace: `namespace = \"{}\"`", name.0),
            )
        };
        change.say(effect, reason, Some(instead));
    } else {
        change.say(
            Effect::Refuses,
            "this program has no such handler: it was removed or renamed, or its crate is not linked here, and then nothing looks after it",
            Some(
                "keep the name by `operation = ..`; name the crate in this test (`use my_handlers as _;`); or remove the handler a retention after its last call"
                    .to_owned(),
            ),
        );
    }
    change
}

fn changed(name: &LockedName, old: &Locked, new: &Locked) -> Deviation {
    let mut change = Deviation::new(name, new.source.as_ref());
    parts(&mut change, old, new);
    fingerprint(&mut change, old, new);
    versions(&mut change, old, new);
    if change.line("retention", [old.retention, new.retention], |seconds| {
        duration(*seconds)
    }) {
        let reason = "records of before keep their retention, and new ones get this";
        change.say(Effect::Safe, reason, None);
    }
    change
}

fn fingerprint(change: &mut Deviation, old: &Locked, new: &Locked) {
    let show = |text: &Option<String>| text.clone().unwrap_or_else(|| "all parameters".to_owned());
    let values = [old.fingerprint.clone(), new.fingerprint.clone()];
    if !change.line("fingerprint", values, show) {
        return;
    }
    let off = |locked: &Locked| locked.fingerprint.as_deref() == Some("off");
    if off(old) || off(new) {
        let reason =
            "a key of before is replayed without a comparison, since one side has no fingerprint";
        change.say(Effect::Safe, reason, None);
    } else {
        change.say(
            Effect::Refuses,
            "another value is compared than before",
            Some("keep the value: an expression that makes the same JSON".to_owned()),
        );
    }
}

fn versions(change: &mut Deviation, old: &Locked, new: &Locked) {
    let show = |version: &u16| version.to_string();
    let (before, now) = (old.result_version, new.result_version);
    change.line("result_version", [before, now], show);
    change.line(
        "oldest_version",
        [old.oldest_version, new.oldest_version],
        show,
    );
    change.line(
        "write_version",
        [old.write_version, new.write_version],
        show,
    );
    if now < old.write_version {
        change.say(
            Effect::Refuses,
            format!(
                "version {} has been written, and this build reads at most {now}",
                old.write_version
            ),
            Some(format!(
                "keep `result_version = {before}`; a change back is a version of its own"
            )),
        );
    }
    if new.oldest_version > old.oldest_version {
        let last = new.oldest_version - 1;
        change.say(
            Effect::MayRefuse,
            format!("version {last} is not read any more: its records are refused"),
            Some(format!("keep its function in `upcast` until a retention of {} has passed since the last node wrote it", duration(old.retention))),
        );
    }
    if new.write_version > before && now > before {
        change.say(
            Effect::MayRefuse,
            format!("nodes of the build before refuse what this one records (version {}), with an error that asks for a retry", new.write_version),
            Some(format!("`write_version = {before}` until every node has this build")),
        );
    } else if now >= old.write_version
        && (now != before || old.write_version != new.write_version)
        && new.oldest_version <= old.oldest_version
    {
        change.say(Effect::Safe, "every version of before is still read", None);
    }
}

/// Compares the parts of the parameters.
fn parts(change: &mut Deviation, old: &Locked, new: &Locked) {
    let paths: BTreeSet<_> = old.compared.keys().chain(new.compared.keys()).collect();
    let (mut removed, mut added) = (Vec::new(), Vec::new());
    for path in paths {
        match (old.compared.get(path), new.compared.get(path)) {
            (Some(shape), None) => {
                change
                    .lines
                    .push(Differing::Gone(format!("{path} = {shape}")));
                removed.push((&**path, &**shape));
            }
            (None, Some(shape)) => {
                change
                    .lines
                    .push(Differing::New(format!("{path} = {shape}")));
                added.push((&**path, &**shape));
            }
            (Some(before), Some(now)) if before != now => {
                change
                    .lines
                    .push(Differing::Gone(format!("{path} = {before}")));
                change.lines.push(Differing::New(format!("{path} = {now}")));
                reshaped(change, path, before, now);
            }
            _ => {}
        }
    }
    for (old, new) in renamed(&mut removed, &mut added) {
        let instead = if parent(&old).is_empty() {
            format!("keep the parameter's name, and rename it in the body: `let {new} = {old};`")
        } else {
            let name = old.rsplit('.').next().unwrap_or(&old);
            format!("keep the name in the JSON: `#[serde(rename = \"{name}\")]`")
        };
        let reason = format!("`{old}` is now called `{new}`, and names are compared");
        change.say(Effect::Refuses, reason, Some(instead));
    }
    let is_described = |path: &str| {
        let within = |other: &str| suffix(other, path).is_some_and(|rest| !rest.is_empty());
        added.iter().any(|(other, _)| within(other))
    };
    let described: Vec<_> = removed
        .iter()
        .filter(|(path, shape)| shape.starts_with(OPAQUE) && is_described(path))
        .map(|(path, _)| (*path).to_owned())
        .collect();
    for path in &described {
        let reason = format!(
            "`{path}` has a schema now; whether its JSON is the same as before, the file cannot tell"
        );
        change.say(Effect::MayRefuse, reason, None);
    }
    let is_within = |path: &str| described.iter().any(|outer| path.starts_with(&**outer));
    for (path, _) in removed.iter().filter(|(path, _)| !is_within(path)) {
        change.say(
            Effect::Refuses,
            format!(
                "`{path}` is not compared any more: a retry that was recorded with it is a mismatch"
            ),
            Some(format!(
                "keep sending `{path}`, as an `Option` that is dropped a retention later"
            )),
        );
    }
    for (path, shape) in added.iter().filter(|(path, _)| !is_within(path)) {
        if shape.ends_with(OPTIONAL) {
            let reason = format!("`{path}` may be absent, and is then not compared");
            change.say(Effect::Safe, reason, None);
        } else {
            change.say(
                Effect::Refuses,
                format!("`{path}` is new and never absent: a retry from before does not have it"),
                Some(format!("make `{path}` an `Option`: a `None` is not compared. A parameter can be left out: `skip(..)`")),
            );
        }
    }
}

/// A part that is still there with another shape.
fn reshaped(change: &mut Deviation, path: &str, before: &str, now: &str) {
    let bare = |shape: &str| shape.replace(OPTIONAL, "");
    if before.starts_with(OPAQUE) || now.starts_with(OPAQUE) {
        change.say(
            Effect::MayRefuse,
            format!("`{path}` has another type; whether its JSON is the same as before, the file cannot tell"),
            Some(format!("derive `schemars::JsonSchema` for the type of `{path}`, so that its parts are in the file")),
        );
    } else if bare(before) == bare(now) {
        let reason = format!("where `{path}` is there, it is compared as before");
        change.say(Effect::Safe, reason, None);
    } else if let (Some(old), Some(new)) = (words(before), words(now))
        && old.is_subset(&new)
    {
        let reason = format!("every value that `{path}` had before is one of these");
        change.say(Effect::Safe, reason, None);
    } else {
        change.say(
            Effect::Refuses,
            format!("`{path}` has another shape, so the same request has other JSON"),
            Some(format!("keep the JSON of `{path}`: `#[serde(with = ..)]`, or a new `Option` field beside it")),
        );
    }
}

fn words(shape: &str) -> Option<BTreeSet<&str>> {
    let words = shape
        .strip_suffix(OPTIONAL)
        .unwrap_or(shape)
        .strip_prefix("one of ")?;
    Some(words.split(' ').collect())
}
