//! Laws over the project's pages: every link leads somewhere, and no page is forgotten.

use std::collections::{BTreeSet, HashMap};
use std::fs;
use std::path::{Component, Path, PathBuf};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .ancestors()
        .nth(2)
        .expect("the repository")
        .to_owned()
}

/// Returns the Markdown files below a directory, relative to the repository.
fn pages_in(dir: &str) -> BTreeSet<PathBuf> {
    let mut found = BTreeSet::new();
    let mut open = vec![root().join(dir)];
    while let Some(dir) = open.pop() {
        for entry in fs::read_dir(dir).expect("a directory") {
            let path = entry.expect("an entry").path();
            if path.is_dir() {
                open.push(path);
            } else if path.extension().is_some_and(|ext| ext == "md") {
                found.insert(path.strip_prefix(root()).expect("inside").to_owned());
            }
        }
    }
    found
}

fn read(page: &Path) -> String {
    fs::read_to_string(root().join(page))
        .unwrap_or_else(|error| panic!("{}: {error}", page.display()))
}

/// Returns the lines of a page that are no code.
fn prose(text: &str) -> impl Iterator<Item = &str> {
    let mut in_code = false;
    text.lines().filter(move |line| {
        let fence = line.trim_start().starts_with("```");
        in_code ^= fence;
        !in_code && !fence
    })
}

/// Returns the targets of a page's links.
fn links(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    for line in prose(text) {
        // What stands in backticks is code.
        let plain: String = line.split('`').step_by(2).collect::<Vec<_>>().join("code");
        for part in plain.split("](").skip(1) {
            found.push(part.split(')').next().expect("a part").to_owned());
        }
        if let Some((label, target)) = plain.split_once("]: ")
            && label.starts_with('[')
        {
            found.push(target.to_owned());
        }
    }
    found
}

/// Returns the anchor that GitHub, rustdoc and mdBook give a heading.
fn anchor(heading: &str) -> String {
    heading
        .trim_start_matches('#')
        .trim()
        .to_lowercase()
        .chars()
        .filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'))
        .map(|c| if c == ' ' { '-' } else { c })
        .collect()
}

fn anchors(page: &Path) -> BTreeSet<String> {
    let text = read(page);
    prose(&text)
        .filter(|line| line.starts_with('#'))
        .map(anchor)
        .collect()
}

/// Resolves `..` without asking the file system.
fn normal(path: &Path) -> PathBuf {
    let mut normal = PathBuf::new();
    for component in path.components() {
        match component {
            Component::ParentDir => assert!(normal.pop(), "{}", path.display()),
            Component::Normal(name) => normal.push(name),
            other => panic!("{other:?}"),
        }
    }
    normal
}

#[test]
fn every_link_between_pages_leads_to_a_file_and_a_heading() {
    let mut pages = pages_in("docs");
    pages.extend(
        [
            "README.md",
            "ARCHITECTURE.md",
            "CONTRIBUTING.md",
            "CHANGELOG.md",
        ]
        .map(PathBuf::from),
    );
    pages.insert("examples/case_escalation/README.md".into());
    let mut known: HashMap<PathBuf, BTreeSet<String>> = HashMap::new();
    let mut broken = Vec::new();
    for page in &pages {
        for link in links(&read(page)) {
            if link.contains("://") {
                continue;
            }
            let (file, heading) = link.split_once('#').unwrap_or((&link, ""));
            let target = match file {
                "" => page.clone(),
                file => normal(&page.parent().expect("a directory").join(file)),
            };
            let exists = root().join(&target).exists();
            let found = exists
                && (heading.is_empty() || {
                    let headings = known
                        .entry(target.clone())
                        .or_insert_with(|| anchors(&target));
                    headings.contains(heading)
                });
            if !found {
                broken.push(format!("{}: {link}", page.display()));
            }
        }
    }
    assert!(broken.is_empty(), "{broken:#?}");
}

#[test]
fn the_summary_names_every_page_once() {
    let summary = links(&read(Path::new("docs/SUMMARY.md")));
    let mut named: Vec<PathBuf> = summary
        .iter()
        .map(|link| Path::new("docs").join(link))
        .collect();
    named.sort();
    let mut pages = pages_in("docs");
    pages.remove(Path::new("docs/SUMMARY.md"));
    assert_eq!(named, pages.into_iter().collect::<Vec<_>>());
}

#[test]
fn every_page_of_the_guide_with_rust_code_is_compiled() {
    let lib = include_str!("../src/lib.rs");
    for page in pages_in("docs/guide") {
        let name = page.to_str().expect("UTF-8");
        let has_code = read(&page)
            .lines()
            .any(|line| line.trim_start().starts_with("```rust"));
        assert_eq!(lib.contains(name), has_code, "{name}");
    }
}

/// On docs.rs there is no repository: there each link of the README that leads to a file leads to the section that names the
/// files, because the first definition of a label counts.
#[test]
fn the_crates_front_page_redefines_every_link_of_the_readme() {
    let labels = |text: &str| {
        let lines = text.lines().filter(|line| line.starts_with('['));
        let labels = lines.filter_map(|line| Some(line.split_once("]: ")?.0.to_owned()));
        labels.collect::<Vec<_>>()
    };
    let readme = read(Path::new("README.md"));
    let redefined = read(Path::new("idem-runtime/src/repository.md"));
    assert_eq!(labels(&redefined), labels(&readme));
    for link in links(&readme) {
        let is_definition = readme.contains(&format!("]: {link}\n"));
        let is_inside = link.starts_with('#');
        assert!(is_definition || is_inside, "{link}");
    }
}

#[test]
fn the_readme_is_a_front_page_and_not_a_book() {
    let lines = read(Path::new("README.md")).lines().count();
    assert!(lines <= 220, "{lines} lines");
}
