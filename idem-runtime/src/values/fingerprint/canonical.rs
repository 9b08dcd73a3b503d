//! The writer of canonical JSON.

use std::any::type_name;
use std::cmp::Ordering;

use super::fault::Fault;
use super::plain;
use crate::values::error::Reason;

/// Writes canonical JSON into one buffer.
///
/// Members of an object are written in the order in which they arrive. If that is not the order of
/// their names, closing the object copies them in order behind the text and moves the copy back
/// over it. The members of the objects still open are kept on two stacks, so that nesting allocates
/// nothing.
///
/// The text is hashed after it is complete, because its length is hashed before it (see
/// [`Fingerprint::compute`](super::Fingerprint::compute)).
#[derive(Default)]
pub(super) struct Writer {
    pub(super) out: Vec<u8>,
    /// The unescaped names of members of open objects, except names that are `&'static str`. Names
    /// are sorted unescaped, because escaped text sorts differently.
    pub(super) names: String,
    members: Vec<Member>,
    /// Whether the current field's value was serialized by `serialize_none`.
    pub(super) none: bool,
}

/// One member of an open object.
#[derive(Clone, Copy)]
struct Member {
    /// The first eight bytes of its name: they distinguish most names.
    head: u64,
    name: MemberName,
    /// Its start and end in `out`.
    text: (usize, usize),
}

/// The name of a member.
#[derive(Clone, Copy)]
enum MemberName {
    /// A struct's field.
    Field(&'static str),
    /// Its start and end in `names`.
    Kept(usize, usize),
}

/// The start of an open object in `out`, `names` and `members`.
pub(super) struct Object {
    text: usize,
    name: usize,
    member: usize,
}

/// A member whose name has been written and whose value is being written.
pub(super) struct OpenMember {
    /// The lengths of `out`, `names` and `members` before this member.
    before: Object,
    head: u64,
    name: MemberName,
    text: usize,
    value: usize,
}

impl Writer {
    /// Creates a writer with capacity for a typical request.
    pub(super) fn new() -> Self {
        Self {
            // An object is sorted by a copy behind itself.
            out: Vec::with_capacity(2048),
            names: String::new(),
            members: Vec::with_capacity(16),
            none: false,
        }
    }

    pub(super) fn string(&mut self, text: &str) {
        escape(&mut self.out, text);
    }

    /// Writes `names[start..]` as a string and truncates `names` to `start`.
    pub(super) fn string_from_names(&mut self, start: usize) {
        escape(&mut self.out, &self.names[start..]);
        self.names.truncate(start);
    }

    pub(super) fn open(&mut self) -> Object {
        self.out.push(b'{');
        self.ends()
    }

    /// Begins the member `name`.
    pub(super) fn member(&mut self, object: &Object, name: &str) -> OpenMember {
        let start = self.names.len();
        self.names.push_str(name);
        self.entry_named_from(object, start)
    }

    /// Begins the member whose name is `names[start..]`.
    pub(super) fn entry_named_from(&mut self, object: &Object, start: usize) -> OpenMember {
        let before = Object {
            name: start,
            ..self.ends()
        };
        let text = self.separate(object);
        let head = write_name(&mut self.out, &self.names[start..]);
        OpenMember {
            before,
            head,
            name: MemberName::Kept(start, self.names.len()),
            text,
            value: self.out.len(),
        }
    }

    /// Begins the member of a struct field.
    pub(super) fn field(&mut self, object: &Object, name: &'static str) -> OpenMember {
        self.none = false;
        let before = self.ends();
        let text = self.separate(object);
        let head = write_name(&mut self.out, name);
        OpenMember {
            before,
            head,
            name: MemberName::Field(name),
            text,
            value: self.out.len(),
        }
    }

    /// Ends a member whose value has been written.
    pub(super) fn keep(&mut self, member: &OpenMember) {
        self.members.push(Member {
            head: member.head,
            name: member.name,
            text: (member.text, self.out.len()),
        });
    }

    /// Removes a member and the part of its value that was written.
    pub(super) fn discard(&mut self, member: &OpenMember) {
        self.out.truncate(member.before.text);
        self.names.truncate(member.before.name);
        self.members.truncate(member.before.member);
    }

    /// Ends the member of a struct field of type `T`. Removes it if it is the `None` of an
    /// `Option`; any other null was written explicitly and stays.
    pub(super) fn keep_unless_none<T: ?Sized>(&mut self, member: &OpenMember) {
        if self.none && self.out[member.value..] == *b"null" && is_option(type_name::<T>()) {
            self.discard(member);
        } else {
            self.keep(member);
        }
    }

    /// Returns whether the object already has a member of this name.
    pub(super) fn has(&self, object: &Object, name: &str) -> bool {
        self.members[object.member..]
            .iter()
            .any(|member| member.name.of(&self.names) == name)
    }

    /// Ends an object. Returns an error if two of its members have the same name.
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

    /// Sorts the members of an object by name. Returns whether two names may be equal: not if they
    /// were strictly ascending already, nor if all differ in their first bytes.
    pub(super) fn sort(&mut self, object: &Object) -> bool {
        let Self {
            out,
            names,
            members,
            ..
        } = self;
        let members = &mut members[object.member..];
        if members.is_sorted_by(|a, b| a.is_before(b, names)) {
            return false;
        }
        // Most names differ in their first bytes, which are quick to compare.
        members.sort_unstable_by_key(|member| member.head);
        let alike = members.windows(2).any(|pair| pair[0].head == pair[1].head);
        if alike {
            members.sort_unstable_by(|a, b| a.cmp(b, names));
        }
        line_up(out, object.text, members);
        alike
    }

    /// Writes a comma unless the member is the first. Returns the position where the member begins.
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

impl MemberName {
    fn of<'n>(&self, names: &'n str) -> &'n str {
        match *self {
            Self::Field(name) => name,
            Self::Kept(start, end) => &names[start..end],
        }
    }
}

impl Member {
    fn cmp(&self, other: &Self, names: &str) -> Ordering {
        if self.head == other.head {
            self.name.of(names).cmp(other.name.of(names))
        } else {
            self.head.cmp(&other.head)
        }
    }

    fn is_before(&self, other: &Self, names: &str) -> bool {
        self.head < other.head || self.cmp(other, names).is_lt()
    }
}

/// Returns whether the type name is that of an `Option`, or of a reference to one.
///
/// Other types may call `serialize_none` for more than one value: a wrapper type, or a
/// `serialize_with` of a double option, whose `Some(None)` is one of them.
fn is_option(mut name: &str) -> bool {
    let option = type_name::<Option<()>>();
    let option = option.strip_suffix("()>").unwrap_or(option);
    while let Some(referent) = name.strip_prefix("&mut ").or(name.strip_prefix('&')) {
        name = referent;
    }
    name.starts_with(option)
}

/// Writes a member's name and its colon. Returns the first eight bytes of the name as a number that
/// compares as the bytes do. A shorter name is padded with zeros: it sorts before the names that it
/// begins.
fn write_name(out: &mut Vec<u8>, name: &str) -> u64 {
    let word = plain::word(name.as_bytes());
    let length = name.len();
    if length <= plain::WORD && plain::is_plain(word, length) {
        // Most names are one word: it is written whole, and what is behind the name cut off.
        let mut text = [b'"'; plain::WORD + 3];
        text[1..=plain::WORD].copy_from_slice(&word.to_le_bytes());
        text[1 + length] = b'"';
        text[2 + length] = b':';
        out.extend_from_slice(&text);
        out.truncate(out.len() - (plain::WORD - length));
    } else {
        escape(out, name);
        out.push(b':');
    }
    word.swap_bytes()
}

/// Sorts the text of the object that begins at `start` into the order of its members.
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
