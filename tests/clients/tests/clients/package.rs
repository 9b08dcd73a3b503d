//! The package that npm would publish.

use idem_tests_clients::install;
use serde_json::Value;

#[test]
fn the_package_has_the_modules_their_types_and_the_licences_and_nothing_else() {
    let packed = install::packed();
    let packed: Value = serde_json::from_str(&packed).expect("JSON");
    // npm 9 prints a list, and npm 11 an object by name.
    let package = packed
        .get(0)
        .or_else(|| packed.get("@idem/client"))
        .expect("a package");
    let files = package["files"].as_array().expect("files");
    let mut names: Vec<_> = files
        .iter()
        .filter_map(|file| file["path"].as_str())
        .collect();
    names.retain(|name| !name.starts_with("dist/"));
    names.sort_unstable();
    assert_eq!(
        names,
        ["LICENSE-APACHE", "LICENSE-MIT", "README.md", "package.json"]
    );
    for module in ["index", "openapi-fetch", "retry", "json-rpc/index"] {
        for kind in ["js", "d.ts"] {
            let name = format!("dist/{module}.{kind}");
            assert!(files.iter().any(|file| file["path"] == *name), "{name}");
        }
    }
}

#[test]
fn the_client_needs_nothing_at_run_time_and_no_lock_file_names_a_host() {
    let client = install::root().join("clients/typescript");
    let manifest = std::fs::read_to_string(client.join("package.json")).expect("text");
    let manifest: Value = serde_json::from_str(&manifest).expect("JSON");
    assert!(manifest["dependencies"].is_null() && manifest["peerDependencies"].is_null());
    for lock in [
        "clients/typescript/package-lock.json",
        "tests/clients/package-lock.json",
    ] {
        let text = std::fs::read_to_string(install::root().join(lock)).expect("text");
        assert!(
            !text.contains("\"resolved\""),
            "{lock}: set omit-lockfile-registry-resolved=true"
        );
    }
}
