//! The file: its operations, read and written.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::time::Duration;

use schemars::generate::SchemaSettings;
use serde::Deserialize;
use serde_json::Map;
use toml::Value;

use super::shape::{Collector, OPAQUE, Parts};
use crate::edges::registry::Handler;
use crate::edges::registry::types::{ComparedValues, HandlerTypes};

/// The name of an operation in its namespace. The name of one that each call determines is that of its function, in
/// angle brackets.
pub(super) type LockedName = (String, String);

/// All operations of a file or of a program.
pub(super) type Operations = BTreeMap<LockedName, Locked>;

/// What the file says of one operation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Locked {
    pub(super) compared: Parts,
    /// The text of `fingerprint = ..`.
    pub(super) fingerprint: Option<String>,
    pub(super) result_version: u16,
    pub(super) oldest_version: u16,
    pub(super) write_version: u16,
    /// In seconds.
    pub(super) retention: u64,
    /// The source file and the line of the handler; not in the file, where it would change with every edit.
    pub(super) source: Option<String>,
}

/// Describes the handlers of this program.
pub(super) fn of_program(handlers: impl Iterator<Item = &'static Handler>) -> Operations {
    handlers
        .filter_map(|handler| Some((handler, handler.types()?)))
        .map(|(handler, types)| {
            let name = match handler.operation() {
                Some(name) => name.to_owned(),
                None => format!("<{}::{}>", handler.module(), handler.function()),
            };
            let (compared, fingerprint) = match types.compared {
                ComparedValues::Parameters => (compared(types), None),
                ComparedValues::Expression(text) => (Parts::new(), Some(text.to_owned())),
                ComparedValues::Nothing => (Parts::new(), Some("off".to_owned())),
            };
            let [result_version, oldest_version, write_version] = types.versions;
            let locked = Locked {
                compared,
                fingerprint,
                result_version,
                oldest_version,
                write_version,
                retention: handler.policy().retention.as_secs(),
                source: Some(format!("{}:{}", handler.file(), handler.line())),
            };
            ((handler.namespace().to_owned(), name), locked)
        })
        .collect()
}

/// Returns the parts of the compared parameters of one handler.
fn compared(types: &HandlerTypes) -> Parts {
    // As it is serialized: that is what is compared.
    let mut schemas = SchemaSettings::draft2020_12()
        .for_serialize()
        .into_generator();
    let roots: Vec<_> = types
        .parameters
        .iter()
        .filter(|parameter| parameter.is_compared())
        .map(|parameter| (parameter, parameter.schema(&mut schemas)))
        .collect();
    let definitions: Map<_, _> = schemas.take_definitions(true);
    let mut collector = Collector::new(&definitions);
    for (parameter, schema) in roots {
        if let Some(schema) = schema {
            collector.add(parameter.name(), &schema, false);
        } else {
            let opaque = format!("{OPAQUE}{}", parameter.written_type());
            collector.parts.insert(parameter.name().to_owned(), opaque);
        }
    }
    collector.parts
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Document {
    #[serde(default)]
    operation: Vec<Table>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Table {
    namespace: String,
    name: String,
    retention: String,
    result_version: u16,
    oldest_version: Option<u16>,
    write_version: Option<u16>,
    fingerprint: Option<String>,
    #[serde(default)]
    compared: Parts,
}

/// Reads a file. The error is a sentence.
pub(super) fn read(text: &str) -> Result<Operations, String> {
    let document: Document = toml::from_str(text).map_err(|error| error.to_string())?;
    let mut names = BTreeSet::new();
    let mut operations = Operations::new();
    for table in document.operation {
        let name = (table.namespace, table.name);
        if !names.insert(name.clone()) {
            return Err(format!(
                "`{}` in namespace `{}` is there twice",
                name.1, name.0
            ));
        }
        let locked = Locked {
            compared: table.compared,
            fingerprint: table.fingerprint,
            result_version: table.result_version,
            oldest_version: table.oldest_version.unwrap_or(1),
            write_version: table.write_version.unwrap_or(table.result_version),
            retention: seconds(&table.retention).ok_or_else(|| {
                format!(
                    "`retention = \"{}\"` is no duration such as `1d12h`",
                    table.retention
                )
            })?,
            source: None,
        };
        operations.insert(name, locked);
    }
    Ok(operations)
}

const HEAD: &str = "\
# What the idempotent handlers of this crate compare on a retry, and record. A test reads it (`lock::check!()`), and
# IDEM_LOCK=overwrite in its environment writes it anew. Keep it in version control.
";

/// Writes a file.
pub(super) fn write(operations: &Operations) -> String {
    let mut text = HEAD.to_owned();
    for ((namespace, name), locked) in operations {
        text.push_str("\n[[operation]]\n");
        line(&mut text, "namespace", &Value::from(&**namespace));
        line(&mut text, "name", &Value::from(&**name));
        let retention = Value::from(duration(locked.retention));
        line(&mut text, "retention", &retention);
        let version = locked.result_version;
        let present = Value::from(i64::from(version));
        line(&mut text, "result_version", &present);
        if locked.oldest_version != 1 {
            let oldest = i64::from(locked.oldest_version);
            line(&mut text, "oldest_version", &Value::from(oldest));
        }
        if locked.write_version != version {
            let written = i64::from(locked.write_version);
            line(&mut text, "write_version", &Value::from(written));
        }
        if let Some(fingerprint) = &locked.fingerprint {
            line(&mut text, "fingerprint", &Value::from(&**fingerprint));
        }
        if !locked.compared.is_empty() {
            text.push_str("\n[operation.compared]\n");
            for (path, shape) in &locked.compared {
                line(&mut text, &quoted(path), &Value::from(&**shape));
            }
        }
    }
    text
}

/// Quotes a path in one line. The escapes of JSON are escapes of TOML too, which also wants one for DEL.
fn quoted(path: &str) -> String {
    serde_json::Value::from(path)
        .to_string()
        .replace('\u{7f}', "\\u007F")
}

fn line(text: &mut String, name: &str, value: &Value) {
    // Writing to a `String` cannot fail.
    let _ = writeln!(text, "{name} = {value}");
}

/// The units of a duration, in seconds.
const UNITS: [(char, u64); 4] = [('d', 86_400), ('h', 3_600), ('m', 60), ('s', 1)];

/// Writes a duration as the attribute's option is written: `1d12h`.
pub(super) fn duration(seconds: u64) -> String {
    let mut left = Duration::from_secs(seconds).as_secs();
    let mut text = String::new();
    for (unit, length) in UNITS {
        let count = left / length;
        left %= length;
        if count > 0 {
            let _ = write!(text, "{count}{unit}");
        }
    }
    text
}

fn seconds(text: &str) -> Option<u64> {
    let mut total = 0_u64;
    let mut digits = String::new();
    for character in text.chars() {
        if character.is_ascii_digit() {
            digits.push(character);
            continue;
        }
        let (_, length) = UNITS.into_iter().find(|(unit, _)| *unit == character)?;
        let count: u64 = std::mem::take(&mut digits).parse().ok()?;
        total = total.checked_add(count.checked_mul(length)?)?;
    }
    (digits.is_empty() && total > 0).then_some(total)
}
