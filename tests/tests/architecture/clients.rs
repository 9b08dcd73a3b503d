//! The order of the client's modules, and what it knows of the runtime.

use std::collections::BTreeSet;
use std::fs;

use super::{imports, module, root, sources};

/// idem-client's modules from left to right: each imports only from its left.
const ORDER: [&str; 13] = [
    "key",
    "error",
    "answer",
    "retry_after",
    "clock",
    "policy",
    "selection",
    "attempts",
    "whole",
    "middleware",
    "layer",
    "ledger",
    "lib",
];

fn first(path: &str) -> &str {
    path.split("::").next().unwrap_or_default()
}

/// Whoever only sends requests builds neither the engine nor a database: that is the ledger's.
#[test]
fn a_module_of_the_client_imports_only_from_its_left_and_only_the_ledger_knows_the_runtime() {
    let src = root().join("clients/rust/src");
    let mut files = Vec::new();
    sources(&src, &mut files);
    let position = |name: &str| {
        let found = ORDER.iter().position(|module| *module == name);
        found.unwrap_or_else(|| panic!("module `{name}` has no place in the order"))
    };
    let mut observed = BTreeSet::new();
    let mut faults = Vec::new();
    for file in files {
        let own = first(&module(&src, &file)).to_owned();
        let below = file.strip_prefix(&src).expect("below src");
        let text = fs::read_to_string(&file).expect("a source");
        for import in imports::of(below, &text) {
            let import = first(&import);
            if import != own && position(import) > position(&own) {
                faults.push(format!("{}: `{own}` imports `{import}`", file.display()));
            }
        }
        for path in imports::foreign(below, &text) {
            let is_engine = ["idem_messaging", "idem_runtime", "sqlx"].contains(&first(&path));
            // A test compares with the codes of the server.
            let is_allowed = own == "ledger" || (own == "answer" && first(&path) == "idem_runtime");
            if is_engine && !is_allowed {
                faults.push(format!("{}: `{own}` names `{path}`", file.display()));
            }
        }
        observed.insert(own);
    }
    assert!(faults.is_empty(), "{faults:#?}");
    assert_eq!(observed, ORDER.map(str::to_owned).into());
}
