//! The pages: each command on them is run, in its order, and its output compared.
//!
//! `IDEM_PAGES=overwrite cargo test -p idem-cli on_sqlite::the` writes the outputs anew.

use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::{env, fs};

use idem_runtime::policy::OnLapse;
use idem_runtime::store::Outcome;
use idem_tests::patience::in_time;
use serde_json::json;
use tokio::process::Command;

use crate::events::{append, sweep};
use crate::story::{begin, completed, lease, unknown};
use crate::subject::Subject;

/// Returns the path of a page.
fn path(page: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/operations");
    folder.join(page)
}

/// One scene of a page: its name, and its commands with what they print.
struct Scene<'p> {
    name: &'p str,
    commands: Vec<(&'p str, String)>,
}

/// Reads the scenes of a page: `<!-- scene: name -->`, and the blocks of `console` that follow.
fn scenes(page: &str) -> Vec<Scene<'_>> {
    let mut scenes: Vec<Scene<'_>> = Vec::new();
    let mut in_block = false;
    for line in page.lines() {
        if let Some(name) = line.strip_prefix("<!-- scene: ") {
            let name = name.trim_end_matches(" -->");
            scenes.push(Scene {
                name,
                commands: Vec::new(),
            });
        } else if line.starts_with("```") {
            in_block = line == "```console";
        } else if in_block {
            let scene = scenes.last_mut().expect("a scene comes first");
            if let Some(command) = line.strip_prefix("$ ") {
                scene.commands.push((command, String::new()));
            } else {
                let (_, printed) = scene.commands.last_mut().expect("a command comes first");
                printed.push_str(line);
                printed.push('\n');
            }
        }
    }
    scenes
}

/// Splits a command at spaces, outside of single quotes.
fn words(command: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut quoted = false;
    for letter in command.chars() {
        match letter {
            '\'' => quoted = !quoted,
            ' ' if !quoted => words.push(String::new()),
            letter => words.last_mut().expect("one").push(letter),
        }
    }
    words
}

/// Replaces every time of day by one that the pages show.
fn with_one_time(text: &str) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some(at) = rest.find('T') {
        let (from, to) = (at.wrapping_sub(10), at + 10);
        let is_time = rest.get(from..to).is_some_and(|time| {
            time.ends_with('Z') && time.bytes().filter(u8::is_ascii_digit).count() == 14
        });
        if is_time {
            out.push_str(&rest[..from]);
            out.push_str("2026-11-29T10:00:00Z");
            rest = &rest[to..];
        } else {
            out.push_str(&rest[..=at]);
            rest = &rest[at + 1..];
        }
    }
    out + rest
}

/// Returns a page with these outputs in place of its own.
fn with_outputs(page: &str, outputs: Vec<String>) -> String {
    let mut outputs = outputs.into_iter();
    let (mut written, mut in_block) = (String::new(), false);
    for line in page.lines() {
        if line.starts_with("```") {
            in_block = line == "```console";
        }
        let is_command = line.starts_with("$ ");
        if !in_block || is_command || line.starts_with("```") {
            written.push_str(line);
            written.push('\n');
        }
        if in_block && is_command {
            written.extend(outputs.next());
        }
    }
    written
}

/// Makes what is there when a scene begins: all that the pages show is two hours and five minutes old.
async fn set<S: Subject>(subject: &S, scene: &str) {
    match scene {
        "doctor" | "overview" | "unknown" => {
            completed(subject, "order-16").await;
            let _unknown = unknown(subject, "order-17").await;
        }
        "in flight" => {
            let _owner = lease(subject, "order-17", OnLapse::Retry).await;
            subject.lapse().await;
        }
        "live" => {
            let _owner = lease(subject, "order-17", OnLapse::Retry).await;
        }
        "mismatch" => completed(subject, "order-17").await,
        "outbox" => {
            append(subject, "cases", "case-17").await;
            assert_eq!(sweep(subject, &["cases"]).await, (0, 1));
        }
        "paused" => {
            let sql = "INSERT INTO idem_outbox_paused (topic, paused_at) VALUES ('cases', @)";
            subject.run(&sql.replace('@', S::NOW)).await;
            append(subject, "cases", "case-17").await;
            assert_eq!(sweep(subject, &[]).await, (0, 0));
        }
        "purge" => {
            completed(subject, "order-16").await;
            subject.age(25).await;
        }
        other => panic!("no scene `{other}`"),
    }
    let (now, hour) = (S::NOW, S::HOUR);
    let id = match S::DATABASE {
        "postgres" => "'00112233-4455-6677-8899-aabbccddeeff'",
        _ => "x'00112233445566778899aabbccddeeff'",
    };
    let past = format!("{now} - 2 * {hour} - {hour} / 11");
    let sql = format!(
        "UPDATE idem_record SET created_at = {past}, attempt_id = {id}; \
         UPDATE idem_record SET locked_until = {past} WHERE status = 4 OR (status = 3 AND locked_until <= {now}); \
         UPDATE idem_record SET expires_at = {now} + 22 * {hour} - {hour} / 11 WHERE status = 1 AND expires_at > {now}; \
         UPDATE idem_outbox SET appended_at = {past}, settled_at = CASE WHEN settled_at IS NOT NULL THEN {past} END"
    );
    for statement in sql.split("; ") {
        subject.run(statement).await;
    }
}

/// What holds after a scene.
async fn check<S: Subject>(subject: &S, scene: &str) {
    match scene {
        "unknown" => match begin(subject, "order-17", OnLapse::Unknown).await {
            Ok(Outcome::PriorResult { value }) => assert_eq!(value, json!({ "charge": "ch_17" })),
            other => panic!("{other:?}"),
        },
        "in flight" => assert_eq!(lease(subject, "order-17", OnLapse::Retry).await.number(), 2),
        "outbox" | "paused" => assert_eq!(sweep(subject, &[]).await, (1, 0)),
        _ => {}
    }
}

async fn play<S: Subject>(page: &str) {
    let file = path(page);
    let text = fs::read_to_string(&file).expect("a page");
    let overwrites = env::var("IDEM_PAGES").is_ok_and(|how| how == "overwrite");
    let mut outputs = Vec::new();
    let scenes = scenes(&text);
    assert!(scenes.len() > 2);
    for scene in scenes {
        if scene.name == "doctor" && S::DATABASE != "sqlite" {
            continue;
        }
        let subject = S::fresh().await;
        set(&subject, scene.name).await;
        let dir = tempfile::tempdir().expect("a directory");
        let request = json!({ "cmd": { "account": 7, "cents": 1_250, "currency": "EUR" } });
        fs::write(dir.path().join("request.json"), request.to_string()).expect("written");
        for (command, printed) in &scene.commands {
            let words = words(command);
            assert_eq!(words[0], "idem", "{command}");
            let mut program = Command::new(env!("CARGO_BIN_EXE_idem"));
            program
                .args(&words[1..])
                .current_dir(dir.path())
                .env("DATABASE_URL", subject.url())
                .env("USER", "ada")
                .stdin(Stdio::null())
                .kill_on_drop(true);
            let output = in_time("the program", program.output())
                .await
                .expect("it runs");
            let text = [output.stdout, output.stderr].concat();
            let text = String::from_utf8(text).expect("text");
            let text = with_one_time(&text);
            if overwrites {
                outputs.push(text);
            } else {
                assert_eq!(text, *printed, "{}: {command}", scene.name);
            }
        }
        check(&subject, scene.name).await;
    }
    if overwrites && S::DATABASE == "sqlite" {
        fs::write(file, with_outputs(&text, outputs)).expect("a page that can be written");
    }
}

pub(crate) async fn the_page_of_the_command_line_shows_what_it_prints<S: Subject>() {
    play::<S>("command-line.md").await;
}

pub(crate) async fn the_runbook_mends_what_it_says<S: Subject>() {
    play::<S>("runbook.md").await;
}
