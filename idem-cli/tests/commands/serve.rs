//! The pages, served.

use std::fmt::Write as _;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use idem_runtime::IdempotencyKey;
use idem_tests::patience::in_time;
use tempfile::TempDir;
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::TcpStream;
use tokio::process::{Child, Command};

use crate::program::idem;
use crate::story::{ORDER, unknown};
use crate::subject::{MariaDb, Postgres, Subject};

/// Draws a token, and adds its line to the file.
async fn operator<S: Subject>(subject: &S, file: &Path, args: &[&str]) -> String {
    let drawn = idem(subject, &[&["operator", "--json"], args].concat()).await;
    let drawn = drawn.done().json();
    let text = fs::read_to_string(file).unwrap_or_default();
    let line = drawn["line"].as_str().expect("a line");
    fs::write(file, format!("{text}# {}\n{line}\n", args[0])).expect("a file");
    drawn["token"].as_str().expect("a token").to_owned()
}

fn file(folder: &TempDir, text: &str) -> PathBuf {
    let file = folder.path().join("operators");
    fs::write(&file, text).expect("a file");
    fs::set_permissions(&file, fs::Permissions::from_mode(0o600)).expect("ours");
    file
}

/// Runs the program until it says where it listens.
async fn serve<S: Subject>(subject: &S, file: &Path) -> (Child, String) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_idem"));
    command
        .args(["serve", "--listen", "127.0.0.1:0"])
        .args(["--statement-timeout", "1s", "--operators"])
        .arg(file)
        .env("DATABASE_URL", subject.url())
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .kill_on_drop(true);
    let mut program = command.spawn().expect("the program runs");
    let mut line = String::new();
    let out = program.stdout.as_mut().expect("a pipe");
    let read = in_time("the address", BufReader::new(out).read_line(&mut line)).await;
    read.expect("a line");
    let address = line.trim().strip_prefix("listening on http://");
    let address = address.unwrap_or_else(|| panic!("{line}"));
    (program, address.trim_end_matches('/').to_owned())
}

/// Asks for a page, and returns the answer as it comes.
async fn request(address: &str, request: &str, who: Option<(&str, &str)>) -> String {
    let mut stream = TcpStream::connect(address).await.expect("it listens");
    let mut text = format!(
        "{request} HTTP/1.1\r\nhost: {address}\r\nconnection: close\r\ncontent-length: 0\r\n"
    );
    if let Some((name, token)) = who {
        let pair = STANDARD.encode(format!("{name}:{token}"));
        let _ = write!(text, "authorization: Basic {pair}\r\n");
    }
    stream
        .write_all(format!("{text}\r\n").as_bytes())
        .await
        .expect("sent");
    let mut answer = String::new();
    let read = in_time("an answer", stream.read_to_string(&mut answer)).await;
    read.expect("an answer");
    answer
}

pub(crate) async fn the_pages_are_served_to_operators_of_the_file_only<S: Subject>() {
    let subject = S::fresh().await;
    drop(unknown(&subject, ORDER[1]).await);
    let folder = tempfile::tempdir().expect("a folder");
    let path = file(&folder, "");
    let shown = path.to_str().expect("text");
    let serve_with = ["serve", "--operators", shown];
    idem(&subject, &serve_with)
        .await
        .refused(2, "names no operator");
    idem(&subject, &["serve"]).await.refused(2, "--operators");
    let missing = ["serve", "--operators", "/nowhere/at/all"];
    idem(&subject, &missing).await.refused(3, "cannot be read");
    fs::write(&path, "ada everything\n").expect("a file");
    idem(&subject, &serve_with).await.refused(2, "line 1 of");
    fs::write(&path, "").expect("a file");
    let ada = operator(&subject, &path, &["ada", "--change"]).await;
    let bob = operator(&subject, &path, &["bob"]).await;
    let remote = [&serve_with[..], &["--listen", "0.0.0.0:0"]].concat();
    idem(&subject, &remote)
        .await
        .refused(2, "can be reached from other machines");
    let wrong = [&serve_with[..], &["--origin", "ops.example"]].concat();
    idem(&subject, &wrong).await.refused(2, "is no origin");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o620)).expect("ours");
    idem(&subject, &serve_with)
        .await
        .refused(3, "others than its owner may write");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).expect("ours");

    let (mut program, address) = serve(&subject, &path).await;
    for who in [
        None,
        Some(("ada", &*bob)),
        Some(("eve", &*ada)),
        Some(("ada", "")),
    ] {
        let answer = request(&address, "GET /unknown", who).await;
        assert!(answer.starts_with("HTTP/1.1 401"), "{answer}");
        assert!(
            answer.contains("www-authenticate: Basic realm=\"idem\""),
            "{answer}"
        );
        assert!(!answer.contains("order-17"), "{answer}");
    }
    for (name, token, may) in [
        ("ada", &ada, "you may read, change."),
        ("bob", &bob, "you may read."),
    ] {
        let answer = request(&address, "GET /unknown", Some((name, token))).await;
        assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
        assert!(
            answer.contains("order-17") && answer.contains(may),
            "{answer}"
        );
    }
    let change = request(&address, "POST /record/release", Some(("bob", &bob))).await;
    assert!(
        change.starts_with("HTTP/1.1 403") && change.contains("change nothing"),
        "{change}"
    );
    let forged = request(&address, "POST /record/release", Some(("ada", &ada))).await;
    assert!(
        forged.starts_with("HTTP/1.1 403") && forged.contains("not one of this console"),
        "{forged}"
    );
    program.kill().await.expect("it ends");
}

pub(crate) async fn who_sees_payloads_is_written_to_the_log<S: Subject>() {
    let subject = S::fresh().await;
    drop(unknown(&subject, ORDER[1]).await);
    let folder = tempfile::tempdir().expect("a folder");
    let path = file(&folder, "");
    let eve = operator(&subject, &path, &["eve", "--reveal"]).await;
    let (mut program, address) = serve(&subject, &path).await;
    let page = format!(
        "GET /record?namespace=payments&scope=customer-42&key={}&reveal=yes",
        ORDER[1]
    );
    let answer = request(&address, &page, Some(("eve", &eve))).await;
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    program.kill().await.expect("it ends");
    let mut log = String::new();
    let mut lines = program.stderr.take().expect("a pipe");
    lines.read_to_string(&mut log).await.expect("text");
    let key = ORDER[1].parse::<IdempotencyKey>().expect("a key");
    let hash = key.short_hash();
    assert_eq!(log.lines().count(), 1, "{log}");
    for part in ["payloads shown", "eve", "idem_record", &hash] {
        assert!(log.contains(part), "{part}: {log}");
    }
    assert!(!log.contains(ORDER[1]), "{log}");
}

/// Asks for a page whose table another session has locked, and waits until the server has ended what waits for it.
async fn ends_at_the_server<S: Subject>(subject: &S, waiting: &str) {
    let folder = tempfile::tempdir().expect("a folder");
    let path = file(&folder, "");
    let ada = operator(subject, &path, &["ada"]).await;
    let (mut program, address) = serve(subject, &path).await;
    let waits = async |some: bool| {
        while (subject.number(waiting).await > 0) != some {
            tokio::task::yield_now().await;
        }
    };
    let watched = async {
        in_time("a statement that waits", waits(true)).await;
        in_time("its end at the server", waits(false)).await;
    };
    let page = request(&address, "GET /unknown", Some(("ada", &ada)));
    let (answer, ()) = tokio::join!(page, watched);
    assert!(answer.starts_with("HTTP/1.1 503"), "{answer}");
    program.kill().await.expect("it ends");
}

#[tokio::test]
async fn a_page_that_a_lock_holds_up_ends_at_the_server_on_postgres() {
    let subject = Postgres::fresh().await;
    let mut other = subject.pool().begin().await.expect("a transaction");
    let lock = sqlx::raw_sql("LOCK TABLE idem_record IN ACCESS EXCLUSIVE MODE");
    lock.execute(&mut *other).await.expect("locked");
    let waiting = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() \
                   AND application_name = 'idem' AND wait_event_type = 'Lock'";
    ends_at_the_server(&subject, waiting).await;
    other.rollback().await.expect("unlocked");
}

#[tokio::test]
async fn a_page_that_a_lock_holds_up_ends_at_the_server_on_mariadb() {
    let subject = MariaDb::fresh().await;
    let mut other = subject.pool().acquire().await.expect("a connection");
    let lock = sqlx::raw_sql("LOCK TABLES idem_record WRITE");
    lock.execute(&mut *other).await.expect("locked");
    let waiting = "SELECT count(*) FROM information_schema.processlist \
                   WHERE db = database() AND state LIKE 'Waiting for table%'";
    ends_at_the_server(&subject, waiting).await;
    let unlock = sqlx::raw_sql("UNLOCK TABLES");
    unlock.execute(&mut *other).await.expect("unlocked");
}
