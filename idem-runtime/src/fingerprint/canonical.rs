//! Canonical JSON, written in one buffer.

use super::fault::Fault;
use crate::error::Reason;

/// Builds canonical JSON in one buffer.
///
/// The members of an object are written in the order they arrive and put into order in place
/// when the object is closed. What that needs to know of the objects still open is kept on two
/// stacks, so that nesting costs no allocation of its own.
#[derive(Default)]
pub(super) struct Writer {
    pub(super) out: Vec<u8>,
    /// The names of the members of open objects, as they are before escaping: escaped text
    /// sorts differently.
    pub(super) names: String,
    members: Vec<Member>,
    /// Where an object's members are lined up anew.
    sorted: Vec<u8>,
}

/// One member of an open object: where its name is in `names`, and where it is in `out`.
#[derive(Clone, Copy)]
struct Member {
    name: (usize, usize),
    text: (usize, usize),
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
    text: usize,
    value: usize,
}

impl Writer {
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
        if self.out.len() > object.text {
            self.out.push(b',');
        }
        let text = self.out.len();
        escape(&mut self.out, &self.names[start..]);
        self.out.push(b':');
        Entry {
            before,
            text,
            value: self.out.len(),
        }
    }

    /// Ends a member: its value has been written.
    pub(super) fn keep(&mut self, entry: &Entry) {
        self.members.push(Member {
            name: (entry.before.name, self.names.len()),
            text: (entry.text, self.out.len()),
        });
    }

    /// Takes a member back, with whatever has been written of its value.
    pub(super) fn discard(&mut self, entry: &Entry) {
        self.out.truncate(entry.before.text);
        self.names.truncate(entry.before.name);
        self.members.truncate(entry.before.member);
    }

    /// Ends the field of a struct: a null is taken back.
    pub(super) fn keep_unless_null(&mut self, entry: &Entry) {
        if self.out[entry.value..] == *b"null" {
            self.discard(entry);
        } else {
            self.keep(entry);
        }
    }

    /// Whether the object has a member of this name already.
    pub(super) fn has(&self, object: &Object, name: &str) -> bool {
        self.members[object.member..]
            .iter()
            .any(|member| self.name(member) == name)
    }

    /// Ends an object.
    pub(super) fn close(&mut self, object: &Object) -> Result<(), Fault> {
        self.sort(object);
        let twice = self.members[object.member..]
            .windows(2)
            .find(|pair| self.name(&pair[0]) == self.name(&pair[1]));
        if let Some([member, ..]) = twice {
            let name = self.name(member).to_owned();
            return Err(Fault::new(Reason::Duplicate(name)));
        }
        self.members.truncate(object.member);
        self.names.truncate(object.name);
        self.out.push(b'}');
        Ok(())
    }

    /// Puts the members of an object into the order of their names.
    pub(super) fn sort(&mut self, object: &Object) {
        let Self {
            out,
            names,
            members,
            sorted,
        } = self;
        let members = &mut members[object.member..];
        let name = |member: &Member| &names[member.name.0..member.name.1];
        if members.is_sorted_by_key(name) {
            return;
        }
        members.sort_unstable_by(|a, b| name(a).cmp(name(b)));
        sorted.clear();
        for member in members {
            if !sorted.is_empty() {
                sorted.push(b',');
            }
            sorted.extend_from_slice(&out[member.text.0..member.text.1]);
        }
        out.truncate(object.text);
        out.extend_from_slice(sorted);
    }

    fn name(&self, member: &Member) -> &str {
        &self.names[member.name.0..member.name.1]
    }

    fn ends(&self) -> Object {
        Object {
            text: self.out.len(),
            name: self.names.len(),
            member: self.members.len(),
        }
    }
}

/// Writes a JSON string.
fn escape(out: &mut Vec<u8>, text: &str) {
    out.push(b'"');
    let bytes = text.as_bytes();
    let mut done = 0;
    for (at, &byte) in bytes.iter().enumerate() {
        if byte >= b' ' && byte != b'"' && byte != b'\\' {
            continue;
        }
        out.extend_from_slice(&bytes[done..at]);
        done = at + 1;
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
    }
    out.extend_from_slice(&bytes[done..]);
    out.push(b'"');
}
