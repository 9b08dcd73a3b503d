//! Frameworks stay out of the runtime, and what is no user's business out of the transports.

use std::collections::BTreeSet;
use std::fs;

use super::{imports, module, root, runtime, sources};

/// What a release of which must not force one of the runtime.
const FRAMEWORKS: [&str; 12] = [
    "actix_web",
    "axum",
    "http_body",
    "http_body_util",
    "jsonrpsee_core",
    "jsonrpsee_types",
    "poem",
    "tonic",
    "tower",
    "tower_layer",
    "tower_service",
    "utoipa",
];

/// The two that the orphan rule asks for.
const BY_THE_ORPHAN_RULE: [&str; 2] = ["axum_core", "http"];

/// The files of the runtime that may name those two: behind the feature `axum-core`, and a test.
const EDGE: [&str; 3] = [
    "edges/http/extract.rs",
    "edges/http/header/tests.rs",
    "edges/http/respond.rs",
];

/// The modules of each folder of `transports` from left to right: each imports only from its left.
const ORDERS: [(&str, &[&str]); 6] = [
    (
        "actix",
        &[
            "convert",
            "cors",
            "response",
            "key",
            "policy",
            "replay",
            "status",
            "sent_body",
            "handoff",
            "idempotency",
            "lib",
        ],
    ),
    ("axum", &["nested", "layer", "testing", "lib"]),
    (
        "tower",
        &[
            "body", "header", "cors", "detached", "options", "edit", "policy", "response", "layer",
            "openapi", "status", "lib",
        ],
    ),
    ("mcp", &["refusal", "call", "tools", "lib"]),
    (
        "jsonrpc",
        &[
            "members", "header", "refusal", "key", "layer", "answer", "method", "module",
            "openrpc", "lib",
        ],
    ),
    (
        "tonic",
        &["metadata", "refusal", "request", "answer", "layer", "lib"],
    ),
];

/// Modules of the runtime that are no part of its public interface.
const NOT_PUBLIC: [&str; 3] = ["__private", "fast_check", "recent_keys"];

#[test]
fn the_runtime_names_a_framework_only_where_the_orphan_rule_asks_for_it() {
    let (src, files) = runtime();
    let mut naming = BTreeSet::new();
    let mut faults = Vec::new();
    for file in files {
        let below = file.strip_prefix(&src).expect("below src").to_owned();
        let text = fs::read_to_string(&file).expect("a source");
        for path in imports::foreign(&below, &text) {
            let name = path.split("::").next().unwrap_or_default();
            let below = below.to_str().expect("text");
            if BY_THE_ORPHAN_RULE.contains(&name) {
                naming.insert(below.to_owned());
            }
            if FRAMEWORKS.contains(&name) {
                faults.push(format!("{below}: {path}"));
            }
        }
    }
    assert!(faults.is_empty(), "{faults:#?}");
    assert_eq!(naming.iter().map(String::as_str).collect::<Vec<_>>(), EDGE);
    let manifest = fs::read_to_string(root().join("idem-runtime/Cargo.toml")).expect("a manifest");
    let (_, dependencies) = manifest
        .split_once("\n[dependencies]\n")
        .expect("dependencies");
    let dependencies = dependencies.split("\n[").next().unwrap_or_default();
    let names = dependencies.lines().map(|line| {
        let name = line.split([' ', '.', '=']).next().unwrap_or_default();
        name.replace('-', "_")
    });
    let frameworks: Vec<_> = names
        .filter(|name| FRAMEWORKS.contains(&name.as_str()))
        .collect();
    assert!(frameworks.is_empty(), "{frameworks:?}");
}

#[test]
fn a_transport_names_public_items_of_the_runtime_and_its_own_list() {
    let mut files = Vec::new();
    sources(&root().join("transports"), &mut files);
    let mut named = BTreeSet::new();
    let mut faults = Vec::new();
    for file in files {
        let text = fs::read_to_string(&file).expect("a source");
        for path in imports::foreign(&file, &text) {
            let Some(item) = path.strip_prefix("idem_runtime::") else {
                continue;
            };
            let first = first(item);
            named.insert(first.to_owned());
            if NOT_PUBLIC.contains(&first) {
                faults.push(format!("{}: {path}", file.display()));
            }
        }
    }
    assert!(faults.is_empty(), "{faults:#?}");
    for name in ["Error", "__transport", "http"] {
        assert!(named.contains(name), "{name} is not among {named:?}");
    }
}

fn first(path: &str) -> &str {
    path.split("::").next().unwrap_or_default()
}

#[test]
fn a_module_of_a_transport_imports_only_from_its_left() {
    let mut faults = Vec::new();
    for (folder, order) in ORDERS {
        let src = root().join("transports").join(folder).join("src");
        let mut files = Vec::new();
        sources(&src, &mut files);
        let position = |name: &str| {
            let found = order.iter().position(|module| *module == name);
            found.unwrap_or_else(|| panic!("module `{name}` of {folder} has no place in the order"))
        };
        let mut observed = BTreeSet::new();
        for file in files {
            let own = first(&module(&src, &file)).to_owned();
            let below = file.strip_prefix(&src).expect("below src");
            for import in imports::of(below, &fs::read_to_string(&file).expect("a source")) {
                let import = first(&import);
                if import != own && position(import) > position(&own) {
                    faults.push(format!("{}: `{own}` imports `{import}`", file.display()));
                }
            }
            observed.insert(own);
        }
        let all: BTreeSet<_> = order.iter().map(|module| (*module).to_owned()).collect();
        assert_eq!(observed, all, "of {folder}");
    }
    assert!(faults.is_empty(), "{faults:#?}");
}
