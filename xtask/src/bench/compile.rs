//! Measures the attribute's cost in a build against the same handlers written by hand over the
//! store.
//!
//! Both crates are generated. Their types and serde's derives are in a third crate, so that only
//! the handlers are measured. Runs alternate, and the medians are compared, so that a busy machine
//! slows both equally.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::{Duration, Instant};

use crate::Outcome;
use crate::cargo::{cargo, root, target};

const HANDLERS: usize = 200;
const ROUNDS: usize = 5;
const CRATES: [&str; 2] = ["by-attribute", "by-hand"];

pub(crate) fn run() -> Outcome {
    let dir = target()?.join("bench-compile");
    generate(&dir)?;
    println!("{HANDLERS} handlers, the median of {ROUNDS} runs each");
    for subcommand in ["check", "build"] {
        let mut times = CRATES.map(|_| Vec::new());
        // The first run also builds the dependencies.
        for round in 0..=ROUNDS {
            for (name, times) in CRATES.iter().zip(&mut times) {
                let time = time(&dir, subcommand, name)?;
                if round > 0 {
                    times.push(time);
                }
            }
        }
        let [attribute, hand] = times.map(median);
        println!(
            "cargo {subcommand}: {:.2} s under the attribute, {:.2} s by hand, ratio {:.2}",
            attribute.as_secs_f64(),
            hand.as_secs_f64(),
            attribute.as_secs_f64() / hand.as_secs_f64()
        );
    }
    Ok(())
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort_unstable();
    times[times.len() / 2]
}

/// Measures how long cargo takes over one crate whose dependencies are built.
fn time(dir: &Path, subcommand: &str, name: &str) -> Outcome<Duration> {
    let source = dir.join(name).join("src/lib.rs");
    // Rewritten, so that cargo sees it as changed.
    fs::write(&source, fs::read(&source)?)?;
    let mut command = cargo();
    command
        .current_dir(dir)
        .args([subcommand, "--quiet", "--offline", "--package", name])
        .env("CARGO_TARGET_DIR", dir.join("target"))
        .env("CARGO_INCREMENTAL", "0")
        .stdin(Stdio::null());
    let start = Instant::now();
    let status = command.status()?;
    if status.success() {
        Ok(start.elapsed())
    } else {
        Err(format!("cargo {subcommand} of {name} failed: {status}").into())
    }
}

/// Writes a separate workspace with the dependency versions of this one.
fn generate(dir: &Path) -> Outcome {
    write(
        dir.join("Cargo.toml"),
        "[workspace]\nresolver = \"3\"\nmembers = [\"types\", \"by-attribute\", \"by-hand\"]\n",
    )?;
    fs::copy(root().join("Cargo.lock"), dir.join("Cargo.lock"))?;
    let runtime = root().join("idem-runtime");
    for name in ["types", CRATES[0], CRATES[1]] {
        write(dir.join(name).join("Cargo.toml"), &manifest(name, &runtime))?;
    }
    let sources = [
        ("types", TYPES, TYPE),
        (CRATES[0], USES, ATTRIBUTE),
        (CRATES[1], HAND_USES, HAND),
    ];
    for (name, head, each) in sources {
        let mut source = head.to_owned();
        for number in 0..HANDLERS {
            source.push_str(&each.replace("{n}", &number.to_string()));
            if name != "types" {
                source.push_str(&CALLER.replace("{n}", &number.to_string()));
            }
        }
        write(dir.join(name).join("src/lib.rs"), &source)?;
    }
    Ok(())
}

fn manifest(name: &str, runtime: &Path) -> String {
    let mut text = format!(
        "[package]\nname = \"{name}\"\nversion = \"0.0.0\"\nedition = \"2024\"\n\n[dependencies]\n"
    );
    let runtime = runtime.display();
    // Cannot fail: writing to a `String` always succeeds.
    let _ = writeln!(
        text,
        "idem-runtime = {{ path = \"{runtime}\", features = [\"postgres\"] }}"
    );
    text.push_str(
        "serde = { version = \"1\", default-features = false, features = [\"std\", \"derive\"] }\n",
    );
    text.push_str("sqlx = { version = \"0.9\", default-features = false, features = [\"runtime-tokio\", \"postgres\"] }\n");
    text.push_str("thiserror = \"2\"\n");
    if name != "types" {
        text.push_str("types = { path = \"../types\" }\n");
    }
    text
}

fn write(path: PathBuf, text: &str) -> Outcome {
    if let Some(parent) = path.parent() {
        fs::create_dir_all(parent)?;
    }
    Ok(fs::write(path, text)?)
}

const TYPES: &str = "\
use idem_runtime::{Error, StoredFailure};
use serde::{Deserialize, Serialize};

#[derive(Debug, thiserror::Error)]
pub enum PayError {
    #[error(transparent)]
    Database(#[from] sqlx::Error),
    #[error(transparent)]
    Idempotency(#[from] Error),
    #[error(\"in flight\")]
    InFlight(std::time::Duration),
    #[error(\"another request\")]
    Mismatch,
    #[error(\"failed before\")]
    Failed(StoredFailure),
}
";

const TYPE: &str = "
#[derive(Serialize, Deserialize)]
pub struct Pay{n} { pub account: i64, pub cents: i64 }

#[derive(Serialize, Deserialize)]
pub struct Paid{n} { pub id: i64 }
";

const USES: &str = "\
use idem_runtime::{IdempotencyKey, Replayable, idempotent};
use sqlx::{PgPool, PgTransaction};
use types::*;
";

const ATTRIBUTE: &str = r#"
#[idempotent(namespace = "payments")]
pub async fn pay{n}(tx: &mut PgTransaction<'_>, key: &IdempotencyKey, cmd: &Pay{n}) -> Result<Paid{n}, PayError> {
    let id = sqlx::query_scalar("INSERT INTO payment (account, cents) VALUES ($1, $2) RETURNING id")
        .bind(cmd.account)
        .bind(cmd.cents)
        .fetch_one(&mut **tx)
        .await?;
    Ok(Paid{n} { id })
}
"#;

/// The hand-written handlers have the same answer type, so that callers are the same: a flag says
/// whether the answer was replayed.
const HAND_USES: &str = "\
use idem_runtime::IdempotencyKey;
use idem_runtime::key::Namespace;
use idem_runtime::store::{Outcome, Store};
use sqlx::PgPool;
use types::*;

pub struct Replayable<T> { pub value: T, pub replayed: bool }
";

const HAND: &str = r#"
pub async fn pay{n}(pool: &PgPool, key: &IdempotencyKey, cmd: &Pay{n}) -> Result<Replayable<Paid{n}>, PayError> {
    let namespace = Namespace::new("payments")?;
    let store = Store::<Pay{n}, Paid{n}>::new(namespace);
    let mut tx = pool.begin().await?;
    match store.in_transaction(&mut *tx)?.begin(key, "pay{n}", cmd).await? {
        Outcome::Fresh(claim) => {
            let id = sqlx::query_scalar("INSERT INTO payment (account, cents) VALUES ($1, $2) RETURNING id")
                .bind(cmd.account)
                .bind(cmd.cents)
                .fetch_one(&mut *tx)
                .await?;
            let value = Paid{n} { id };
            store.in_transaction(&mut *tx)?.commit(claim, &value).await?;
            tx.commit().await?;
            Ok(Replayable { value, replayed: false })
        }
        Outcome::PriorResult { value } => Ok(Replayable { value, replayed: true }),
        Outcome::PriorError { error } => Err(PayError::Failed(error)),
        Outcome::InFlight { retry_after } => Err(PayError::InFlight(retry_after)),
        Outcome::Mismatch(_) => Err(PayError::Mismatch),
    }
}
"#;

/// Without a compiled caller, neither handler would be compiled.
const CALLER: &str = "
pub fn call{n}<'a>(pool: &'a PgPool, key: &'a IdempotencyKey, cmd: &'a Pay{n})
    -> std::pin::Pin<Box<dyn Future<Output = Result<Replayable<Paid{n}>, PayError>> + Send + 'a>>
{
    Box::pin(pay{n}(pool, key, cmd))
}
";
