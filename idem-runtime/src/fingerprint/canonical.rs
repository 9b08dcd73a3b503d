//! Canonical JSON, written in one buffer.

use std::any::type_name;
use std::cmp::Ordering;

use super::fault::Fault;
use super::plain;
use crate::error::Reason;

/// Builds canonical JSON in one buffer.
///
/// The members of an object are written in the order they arrive. Where that is not the order of
/// their names, they are lined up anew behind the text, and moved back over it, when the object is
/// closed. What that needs to know of the objects still open is kept on two stacks, so that nesting
/// costs no allocation of its own.
///
/// The text is hashed when it is whole and not while it is written, because its length is hashed
/// before it (see [`Fingerprint::compute`](super::Fingerprint::compute)).
#[derive(Default)]
pub(super) struct Writer {
    pub(super) out: Vec<u8>,
    /// The names of the members of open objects that the program's text does not hold, as they are
    /// before escaping: escaped text sorts differently.
    pub(super) names: String,
    members: Vec<Member>,
    /// Whether the value of the field at hand was told as `None`.
    pub(super) none: bool,
}

/// One member of an open object.
#[derive(Clone, Copy)]
struct Member {
    /// The first eight bytes of its name, which tell most names apart.
    head: u64,
    name: Name,
    /// Where it is in `out`.
    text: (usize, usize),
}

/// The name of a member.
#[derive(Clone, Copy)]
enum Name {
    /// A struct's field.
    Field(&'static str),
    /// Where it is in `names`.
    Kept(usize, usize),
}

/// Where an open object begins, on each stack.
pub(super) struct Object {
    text: usize,
    name: usize,
    member: usize,
}

/// A member whose name has been written and whose value is being written.
pub(super) struct Entry {
    /// The ends of the stacks without this member.
    before: Object,
    name: Name,
    text: usize,
    value: usize,
}

impl Writer {
    /// With room for the request of an ordinary call.
    pub(super) fn new() -> Self {
        Self {
            out: Vec::with_capacity(1024),
            names: String::new(),
            members: Vec::with_capacity(16),
            none: false,
        }
    }

    pub(super) fn string(&mut self, text: &str) {
        escape(&mut self.out, text);
    }

    /// Writes the end of `names`, from `start`, as a string, and takes it off.
    pub(super) fn string_from_names(&mut self, start: usize) {
        escape(&mut self.out, &self.names[start..]);
        self.names.truncate(start);
    }

    pub(super) fn open(&mut self) -> Object {
        self.out.push(b'{');
        self.ends()
    }

    /// Begins the member `name`.
    pub(super) fn entry(&mut self, object: &Object, name: &str) -> Entry {
        let start = self.names.len();
        self.names.push_str(name);
        self.entry_named_from(object, start)
    }

    /// Begins the member whose name is the end of `names`, from `start`.
    pub(super) fn entry_named_from(&mut self, object: &Object, start: usize) -> Entry {
        let before = Object {
            name: start,
            ..self.ends()
        };
        let text = self.separate(object);
        escape(&mut self.out, &self.names[start..]);
        self.out.push(b':');
        Entry {
            before,
            name: Name::Kept(start, self.names.len()),
            text,
            value: self.out.len(),
        }
    }

    /// Begins the member of a struct's field.
    pub(super) fn field(&mut self, object: &Object, name: &'static str) -> Entry {
        self.none = false;
        let before = self.ends();
        let text = self.separate(object);
        escape(&mut self.out, name);
        self.out.push(b':');
        Entry {
            before,
            name: Name::Field(name),
            text,
            value: self.out.len(),
        }
    }

    /// Ends a member: its value has been written.
    pub(super) fn keep(&mut self, entry: &Entry) {
        self.members.push(Member {
            head: head(entry.name.of(&self.names)),
            name: entry.name,
            text: (entry.text, self.out.len()),
        });
    }

    /// Takes a member back, with whatever has been written of its value.
    pub(super) fn discard(&mut self, entry: &Entry) {
        self.out.truncate(entry.before.text);
        self.names.truncate(entry.before.name);
        self.members.truncate(entry.before.member);
    }

    /// Ends the field of a struct, a `T`: the `None` of an `Option` is taken back. Any other null is
    /// something that was said.
    pub(super) fn keep_unless_none<T: ?Sized>(&mut self, entry: &Entry) {
        if self.none && self.out[entry.value..] == *b"null" && is_option(type_name::<T>()) {
            self.discard(entry);
        } else {
            self.keep(entry);
        }
    }

    /// Whether the object has a member of this name already.
    pub(super) fn has(&self, object: &Object, name: &str) -> bool {
        self.members[object.member..]
            .iter()
            .any(|member| member.name.of(&self.names) == name)
    }

    /// Ends an object.
    pub(super) fn close(&mut self, object: &Object) -> Result<(), Fault> {
        if self.sort(object) {
            let members = &self.members[object.member..];
            let same = |pair: &&[Member]| pair[0].cmp(&pair[1], &self.names).is_eq();
            if let Some([member, ..]) = members.windows(2).find(same) {
                let name = member.name.of(&self.names).to_owned();
                return Err(Fault::new(Reason::Duplicate(name)));
            }
        }
        self.members.truncate(object.member);
        self.names.truncate(object.name);
        self.out.push(b'}');
        Ok(())
    }

    /// Puts the members of an object into the order of their names. Says whether there was anything
    /// to do: where each name comes after the one before it, none is there twice.
    pub(super) fn sort(&mut self, object: &Object) -> bool {
        let Self {
            out,
            names,
            members,
            ..
        } = self;
        let members = &mut members[object.member..];
        if members.is_sorted_by(|a, b| a.cmp(b, names).is_lt()) {
            return false;
        }
        members.sort_unstable_by(|a, b| a.cmp(b, names));
        line_up(out, object.text, members);
        true
    }

    /// The comma before another member; where the member begins.
    fn separate(&mut self, object: &Object) -> usize {
        if self.out.len() > object.text {
            self.out.push(b',');
        }
        self.out.len()
    }

    fn ends(&self) -> Object {
        Object {
            text: self.out.len(),
            name: self.names.len(),
            member: self.members.len(),
        }
    }
}

impl Name {
    fn of<'n>(&self, names: &'n str) -> &'n str {
        match *self {
            Self::Field(name) => name,
            Self::Kept(start, end) => &names[start..end],
        }
    }
}

impl Member {
    fn cmp(&self, other: &Self, names: &str) -> Ordering {
        let heads = self.head.cmp(&other.head);
        heads.then_with(|| self.name.of(names).cmp(other.name.of(names)))
    }
}

/// Whether a type is `Option`, or a reference to one, by its name.
///
/// A type of its own, or what a `serialize_with` makes of an `Option`, may tell `None` for more than
/// one of its values: `Some(None)`, as it stands in a double option.
fn is_option(mut name: &str) -> bool {
    let option = type_name::<Option<()>>();
    let option = option.strip_suffix("()>").unwrap_or(option);
    while let Some(referent) = name.strip_prefix("&mut ").or(name.strip_prefix('&')) {
        name = referent;
    }
    name.starts_with(option)
}

/// The first eight bytes of a name as a number, which compares as they do. A shorter name is filled
/// up with zeros: it comes before those that go on.
fn head(name: &str) -> u64 {
    plain::word(name.as_bytes()).swap_bytes()
}

/// Puts the text of an object that begins at `start` into the order of its members.
fn line_up(out: &mut Vec<u8>, start: usize, members: &[Member]) {
    let end = out.len();
    out.reserve(end - start);
    for member in members {
        if out.len() > end {
            out.push(b',');
        }
        out.extend_from_within(member.text.0..member.text.1);
    }
    out.copy_within(end.., start);
    out.truncate(end);
}

/// Writes a JSON string.
fn escape(out: &mut Vec<u8>, text: &str) {
    let mut rest = text.as_bytes();
    out.reserve(rest.len() + 2);
    out.push(b'"');
    loop {
        let (clean, others) = rest.split_at(plain::len(rest));
        out.extend_from_slice(clean);
        let [byte, behind @ ..] = others else {
            break;
        };
        match byte {
            b'"' => out.extend_from_slice(b"\\\""),
            b'\\' => out.extend_from_slice(b"\\\\"),
            0x08 => out.extend_from_slice(b"\\b"),
            b'\t' => out.extend_from_slice(b"\\t"),
            b'\n' => out.extend_from_slice(b"\\n"),
            0x0c => out.extend_from_slice(b"\\f"),
            b'\r' => out.extend_from_slice(b"\\r"),
            _ => {
                let low = b"0123456789abcdef"[usize::from(byte & 0x0f)];
                out.extend_from_slice(&[b'\\', b'u', b'0', b'0', b'0' + (byte >> 4), low]);
            }
        }
        rest = behind;
    }
    out.push(b'"');
}
