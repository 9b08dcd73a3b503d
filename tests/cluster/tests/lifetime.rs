//! A server ends with the process that started it, however that process ends.

use std::fs::{self, Permissions};
use std::io::{BufRead, BufReader};
use std::net::TcpStream;
use std::os::unix::fs::PermissionsExt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use idem_tests_cluster::{Cluster, Options, Template};
use tokio::time::{interval, timeout};

#[test]
fn a_cluster_is_gone_when_dropped() {
    let cluster = Cluster::start(Options::new()).expect("a server");
    let (dir, port) = (cluster.socket_dir().to_owned(), cluster.port());
    let server = server_in(&dir);
    drop(cluster);
    assert!(!runs(&server));
    assert!(!dir.exists());
    assert!(TcpStream::connect(("127.0.0.1", port)).is_err());
}

#[test]
fn a_cluster_is_gone_after_a_panic() {
    let mut observed = None;
    let result = catch_unwind(AssertUnwindSafe(|| {
        let cluster = Cluster::start(Options::new()).expect("a server");
        observed = Some(cluster.socket_dir().to_owned());
        panic!("wilful");
    }));
    assert!(result.is_err());
    assert!(!observed.expect("the server had started").exists());
}

#[tokio::test]
async fn a_cluster_is_gone_after_its_process_is_killed() {
    let (mut process, dir) = other_process();
    let server = server_in(&dir);
    assert!(runs(&server));
    process.kill().expect("SIGKILL");
    process.wait().expect("the process was killed");
    until("the server and its directory go with the process", || {
        !runs(&server) && !dir.exists()
    })
    .await;
}

#[tokio::test]
async fn nothing_is_left_of_a_cluster_whose_process_is_killed_as_it_starts() {
    let parent = tempfile::tempdir().expect("a directory");
    // The server's account creates its directory in this one.
    let open_to_all = Permissions::from_mode(0o777);
    fs::set_permissions(parent.path(), open_to_all).expect("the directory is ours");
    let left = || {
        fs::read_dir(parent.path())
            .expect("the directory is ours")
            .count()
    };
    let mut process = Command::new(env!("CARGO_BIN_EXE_idem-tests-cluster"))
        .env("TMPDIR", parent.path())
        .env_remove(Template::VARIABLE)
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .spawn()
        .expect("a process of its own");
    until("a directory is made first", || left() > 0).await;
    process.kill().expect("SIGKILL");
    process.wait().expect("the process was killed");
    until("the directory goes with the process", || left() == 0).await;
}

#[test]
fn a_cluster_survives_its_own_crash_and_keeps_its_port() {
    let mut cluster = Cluster::start(Options::new().durable()).expect("a server");
    let (before, url) = (server_in(cluster.socket_dir()), cluster.url("postgres"));
    cluster.stop_immediate().expect("a crash");
    assert!(!runs(&before));
    cluster.resume().expect("recovery");
    assert_ne!(server_in(cluster.socket_dir()), before);
    assert_eq!(cluster.url("postgres"), url);
    assert!(TcpStream::connect(("127.0.0.1", cluster.port())).is_ok());
}

#[test]
fn an_order_that_cannot_be_carried_out_is_an_error_with_the_servers_words() {
    let mut cluster = Cluster::start(Options::new()).expect("a server");
    let error = cluster.promote().expect_err("this is no standby");
    assert!(error.to_string().contains("not in standby mode"), "{error}");
}

/// Starts a process that holds a cluster. Returns it with the cluster's directory.
fn other_process() -> (Child, PathBuf) {
    let mut process = Command::new(env!("CARGO_BIN_EXE_idem-tests-cluster"))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("a process of its own");
    let mut output = BufReader::new(process.stdout.take().expect("a pipe"));
    let mut dir = String::new();
    output.read_line(&mut dir).expect("the directory");
    (process, PathBuf::from(dir.trim_end()))
}

/// Returns the directory under `/proc` of the server that runs in `dir`.
fn server_in(dir: &Path) -> PathBuf {
    let pid_file = dir.join("data/postmaster.pid");
    let text = fs::read_to_string(pid_file).expect("a running server has a pid file");
    Path::new("/proc").join(text.lines().next().expect("the first line is the pid"))
}

/// Returns whether the process lives. One that has ended but was not waited for has no command
/// line.
fn runs(process: &Path) -> bool {
    fs::read(process.join("cmdline")).is_ok_and(|line| !line.is_empty())
}

async fn until(what: &str, holds: impl Fn() -> bool) {
    let came_true = async {
        let mut tick = interval(Duration::from_millis(10));
        while !holds() {
            tick.tick().await;
        }
    };
    timeout(Duration::from_mins(1), came_true)
        .await
        .expect(what);
}
