//! The rules of ARCHITECTURE.md that the compiler does not check.

mod circles;
mod clients;
mod dialects;
mod imports;
mod layout;
mod namespaces;
mod transports;
mod words;

use std::fs;
use std::path::{Path, PathBuf};

/// idem-runtime's modules from left to right, layer by layer: each imports only from its left.
const ORDER: [&str; 37] = [
    "values::version",
    "values::failure",
    "values::error",
    "values::key",
    "values::fingerprint",
    "values::identity",
    "values::record",
    "values::envelope",
    "values::codec",
    "values::policy",
    "values::spec",
    "values::operation",
    "values::replay",
    "values::payload",
    "values",
    "decision",
    "stores::fast_check",
    "stores::recent_keys",
    "stores",
    "stores::schema",
    "calls::telemetry",
    "calls::kit",
    "calls::atomic",
    "calls::lease",
    "calls",
    "workers",
    "operate",
    "edges::registry",
    "edges::lock",
    "edges::http",
    "edges::meta",
    "edges::handler",
    "edges::store",
    "edges::testing",
    "edges::transport",
    "edges::private",
    "lib",
];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .parent()
        .expect("the workspace is the parent of tests/")
        .to_owned()
}

fn sources(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).expect("a folder of sources") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            sources(&path, found);
        } else if path.extension().is_some_and(|ending| ending == "rs") {
            found.push(path);
        }
    }
}

fn runtime() -> (PathBuf, Vec<PathBuf>) {
    let src = root().join("idem-runtime/src");
    let mut found = Vec::new();
    sources(&src, &mut found);
    (src, found)
}

/// Returns the module path of a file, from the root of its crate.
fn module(src: &Path, file: &Path) -> String {
    let below = file
        .strip_prefix(src)
        .expect("below src")
        .with_extension("");
    let parts: Vec<_> = below.iter().map(|part| part.to_string_lossy()).collect();
    let parts = parts.strip_suffix(&["mod".into()]).unwrap_or(&parts);
    parts.join("::")
}

/// Returns the position in the order of what this path names: of the longest of its modules that is in it.
fn position(path: &str) -> usize {
    // The names under which generated code and the transports have these modules.
    let path = match path {
        "__private" | "__register" => "edges::private",
        "edges" => "lib",
        path => path,
    };
    let parts: Vec<&str> = path.split("::").collect();
    (1..=parts.len())
        .rev()
        .find_map(|length| {
            ORDER
                .iter()
                .position(|module| *module == parts[..length].join("::"))
        })
        .unwrap_or(ORDER.len() - 1)
}

#[test]
fn a_module_imports_only_from_its_left() {
    let (src, files) = runtime();
    let mut faults = Vec::new();
    for file in &files {
        let own = module(&src, file);
        let below = file.strip_prefix(&src).expect("below src");
        for import in imports::of(below, &fs::read_to_string(file).expect("a source")) {
            let inside = import == own || import.starts_with(&format!("{own}::"));
            if !inside && position(&import) > position(&own) {
                faults.push(format!("{}: `{own}` imports `{import}`", file.display()));
            }
        }
    }
    assert!(faults.is_empty(), "{faults:#?}");
}

#[test]
fn every_module_of_the_order_is_there_and_is_used() {
    let (src, files) = runtime();
    for name in ORDER {
        assert!(
            files
                .iter()
                .any(|file| ORDER[position(&module(&src, file))] == name),
            "no module `{name}`"
        );
    }
}

#[test]
fn no_source_file_is_longer_than_400_lines() {
    let mut files = Vec::new();
    for folder in [
        "clients/rust",
        "idem-cli",
        "idem-console",
        "idem-macros",
        "idem-messaging",
        "idem-runtime",
        "tests",
        "ui-tests",
        "examples",
        "fuzz",
        "transports",
        "xtask",
    ] {
        sources(&root().join(folder), &mut files);
    }
    let long: Vec<_> = files
        .iter()
        .filter(|file| fs::read_to_string(file).expect("a source").lines().count() > 400)
        .collect();
    assert!(long.is_empty(), "the design wants a new room: {long:#?}");
}

/// Returns the words in code type that look like a test name: lower case, with at least four parts.
fn test_names(page: &str) -> Vec<&str> {
    page.split('`')
        .skip(1)
        .step_by(2)
        .filter(|word| {
            word.matches('_').count() >= 4
                && word
                    .bytes()
                    .all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_')
        })
        .collect()
}

#[test]
fn every_test_that_the_page_of_faults_names_is_there() {
    let page = fs::read_to_string(root().join("tests/FAULTS.md")).expect("tests/FAULTS.md");
    let mut files = Vec::new();
    for folder in [
        "examples",
        "fuzz",
        "idem-cli",
        "idem-console",
        "idem-macros",
        "idem-messaging",
        "idem-runtime",
        "tests",
        "transports",
    ] {
        sources(&root().join(folder), &mut files);
    }
    let all: String = files
        .iter()
        .map(|file| fs::read_to_string(file).expect("a source"))
        .collect();
    let names = test_names(&page);
    assert!(
        names.len() > 50,
        "only {} names read from the page",
        names.len()
    );
    let missing: Vec<_> = names
        .into_iter()
        .filter(|name| {
            !["(", "<"]
                .iter()
                .any(|end| all.contains(&format!("fn {name}{end}")))
        })
        .collect();
    assert!(missing.is_empty(), "{missing:#?}");
}

#[test]
fn every_source_file_says_what_it_is() {
    let mut files = Vec::new();
    for folder in [
        "idem-cli",
        "idem-console",
        "idem-macros/src",
        "idem-runtime",
        "tests",
        "ui-tests/src",
        "ui-tests/tests",
        "examples",
        "transports",
        "xtask",
    ] {
        sources(&root().join(folder), &mut files);
    }
    let silent: Vec<_> = files
        .iter()
        .filter(|file| {
            let text = fs::read_to_string(file).expect("a source");
            !text.starts_with("//!") && !text.starts_with("#![doc")
        })
        .collect();
    assert!(silent.is_empty(), "no module documentation: {silent:#?}");
}

/// The macro crate cannot use the runtime's rule, because it is compiled before it.
#[test]
fn the_attribute_and_the_runtime_agree_on_what_is_not_said() {
    let text = fs::read_to_string(root().join("idem-macros/src/expand/mod.rs")).expect("a source");
    for (name, runtime) in [
        ("DEFAULT_WAIT", idem_runtime::policy::DEFAULT_WAIT),
        ("DEFAULT_RETENTION", idem_runtime::policy::DEFAULT_RETENTION),
    ] {
        let (_, rest) = text
            .split_once(&format!("const {name}: u64 = "))
            .unwrap_or_else(|| panic!("no `{name}`"));
        let (seconds, _) = rest.split_once(';').expect("a constant ends");
        let seconds: u64 = seconds.replace('_', "").parse().expect("seconds");
        assert_eq!(seconds, runtime.as_secs(), "{name}");
        assert_eq!(runtime.subsec_nanos(), 0, "{name}");
    }
}

#[test]
fn the_attribute_and_the_runtime_agree_on_every_limit() {
    use idem_runtime::policy::{MAX_LEASE, MAX_RETENTION, MAX_WAIT};

    let text = fs::read_to_string(root().join("idem-macros/src/args/mod.rs")).expect("a source");
    for (name, runtime) in [
        ("RETENTION_LIMIT", MAX_RETENTION),
        ("WAIT_LIMIT", MAX_WAIT),
        ("LEASE_LIMIT", MAX_LEASE),
    ] {
        let (_, rest) = text
            .split_once(&format!("const {name}: u64 = "))
            .unwrap_or_else(|| panic!("no `{name}`"));
        let (product, _) = rest.split_once(';').expect("a constant ends");
        let factors = product.split('*');
        let factors = factors.map(|factor| factor.trim().replace('_', ""));
        let seconds: u64 = factors
            .map(|factor| factor.parse::<u64>().expect("a number"))
            .product();
        assert_eq!(std::time::Duration::from_secs(seconds), runtime, "{name}");
    }
    let literal = fs::read_to_string(root().join("idem-macros/src/literal.rs")).expect("a source");
    let spec =
        fs::read_to_string(root().join("idem-runtime/src/values/spec.rs")).expect("a source");
    for text in [literal, spec] {
        assert!(text.contains("const TABLE_MAX: usize = 61;"));
    }
}
