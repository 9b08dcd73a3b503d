//! Redis servers for this run only, and `idempotent` over them.

use std::io::Write as _;
use std::net::{TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use idempotent::valkey::ValkeyStore;
use idempotent::{ExecutionOutcome, IdempotencyKey, IdempotencyStore as _};
use sqlx::PgPool;

use crate::Fault;
use crate::dbos_peer::insert;
use crate::work::{Paid, Pay};

/// When Redis waits until its log is on disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fsync {
    EverySecond,
    Always,
}

/// A server in its own directory. A shell starts it, and removes both once this end of its pipe is
/// closed, however this process ends.
pub(crate) struct Redis {
    keeper: Child,
    port: u16,
}

const KEEPER: &str = "trap '' HUP INT TERM; dir=$(mktemp -d) && cd \"$dir\" || exit
redis-server --bind 127.0.0.1 --port \"$1\" --appendonly yes --appendfsync \"$2\" --save '' \
--maxmemory-policy noeviction --dir \"$dir\" >log 2>&1 & server=$!
read -r _; kill $server; wait $server; rm -rf \"$dir\"";

impl Redis {
    /// Starts a server as idempotent's documentation requires: with a log, without eviction.
    pub(crate) fn start(fsync: Fsync) -> Result<Self, Fault> {
        let port = TcpListener::bind(("127.0.0.1", 0))?.local_addr()?.port();
        let fsync = match fsync {
            Fsync::EverySecond => "everysec",
            Fsync::Always => "always",
        };
        let keeper = Command::new("sh")
            .args(["-c", KEEPER, "keeper", &port.to_string(), fsync])
            .stdin(Stdio::piped())
            .spawn()?;
        let redis = Self { keeper, port };
        let begun = Instant::now();
        while TcpStream::connect(("127.0.0.1", port)).is_err() {
            if begun.elapsed() > Duration::from_secs(10) {
                return Err("redis-server did not start".into());
            }
            thread::sleep(Duration::from_millis(10));
        }
        Ok(redis)
    }

    pub(crate) fn port(&self) -> u16 {
        self.port
    }
}

impl Drop for Redis {
    fn drop(&mut self) {
        if let Some(mut pipe) = self.keeper.stdin.take() {
            let _ = pipe.write_all(b"\n");
        }
        let _ = self.keeper.wait();
    }
}

pub(crate) async fn store(port: u16) -> Result<ValkeyStore, Fault> {
    let url = format!("redis://127.0.0.1:{port}");
    let store = ValkeyStore::with_url(url).prefix("bench").try_build();
    Ok(store.await?)
}

/// Makes the payment. Returns it, and whether it is a replay.
pub(crate) async fn pay(
    store: &ValkeyStore,
    pool: &PgPool,
    key: &str,
    cmd: &Pay,
) -> Result<(Paid, bool), Fault> {
    let key = IdempotencyKey::new(key)?;
    let request = serde_json::to_vec(cmd)?;
    let outcome = store
        .claim(&key, Duration::from_secs(30))
        .fingerprint("pay_one", &request)
        .json()
        .execute_or_replay(Duration::from_hours(24), |_token| async {
            Ok(insert(pool, cmd).await?)
        })
        .await
        .map_err(|error| error.to_string())?;
    match outcome {
        ExecutionOutcome::Executed(paid) => Ok((paid, false)),
        ExecutionOutcome::Replayed(paid) => Ok((paid, true)),
        ExecutionOutcome::FingerprintMismatch => Err("mismatch".into()),
        other => Err(format!("neither run nor replayed: {other:?}").into()),
    }
}
