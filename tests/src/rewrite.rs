//! A connection to a MySQL server on which one statement is replaced by another.

use std::io;
use std::sync::{Arc, Mutex, PoisonError};

use sqlx::mysql::MySqlConnectOptions;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, copy};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;

use crate::proxy::Route as _;

/// Forwards connections to a server, and replaces a statement that is sent as text. Dropping it
/// closes its connections.
#[derive(Debug)]
pub struct Rewrite {
    options: MySqlConnectOptions,
    wanted: Arc<Mutex<Option<Replacement>>>,
    accepting: JoinHandle<()>,
}

/// The replacement of a statement.
#[derive(Clone, Copy, Debug)]
struct Replacement {
    /// The beginning of the statement.
    statement: &'static str,
    by: &'static str,
}

impl Rewrite {
    /// Listens on a free port for a server that is reached by TCP.
    ///
    /// # Panics
    ///
    /// Panics if no port is free.
    pub async fn to(server: &MySqlConnectOptions) -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.expect("a port");
        let port = listener.local_addr().expect("a bound socket").port();
        let wanted = Arc::default();
        let accepting = tokio::spawn(accept(listener, server.target(), Arc::clone(&wanted)));
        Self {
            options: server.by(port),
            wanted,
            accepting,
        }
    }

    /// Returns the connection options through this link.
    pub fn options(&self) -> MySqlConnectOptions {
        self.options.clone()
    }

    /// Replaces the next statement of a message of text that begins with `statement`. `by` must not be longer than the statement. The statements after it stay.
    pub fn next(&self, statement: &'static str, by: &'static str) {
        *lock(&self.wanted) = Some(Replacement { statement, by });
    }

    /// Returns whether the statement has been replaced.
    pub fn is_done(&self) -> bool {
        lock(&self.wanted).is_none()
    }
}

impl Drop for Rewrite {
    fn drop(&mut self) {
        self.accepting.abort();
    }
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

async fn accept(
    listener: TcpListener,
    target: (String, u16),
    wanted: Arc<Mutex<Option<Replacement>>>,
) {
    let mut links = tokio::task::JoinSet::new();
    while let Ok((client, _)) = listener.accept().await {
        // Either end may close at any time.
        links.spawn(forward(client, target.clone(), Arc::clone(&wanted)));
    }
}

async fn forward(
    client: TcpStream,
    (host, port): (String, u16),
    wanted: Arc<Mutex<Option<Replacement>>>,
) -> io::Result<()> {
    let server = TcpStream::connect((host.as_str(), port)).await?;
    let (mut from_client, mut to_client) = client.into_split();
    let (mut from_server, mut to_server) = server.into_split();
    let up = async {
        let mut message = vec![0; 64 * 1024];
        loop {
            let read = from_client.read(&mut message).await?;
            if read == 0 {
                return to_server.shutdown().await;
            }
            replace(&mut message[..read], &mut lock(&wanted));
            to_server.write_all(&message[..read]).await?;
        }
    };
    tokio::try_join!(up, copy(&mut from_server, &mut to_client)).map(drop)
}

/// Replaces the wanted statement, if this message contains it. Pads the replacement to the same
/// length.
fn replace(message: &mut [u8], wanted: &mut Option<Replacement>) {
    let Some(Replacement { statement, by }) = *wanted else {
        return;
    };
    // Behind another statement, or behind the byte of the command.
    let found = ["; ", "\u{3}"].into_iter().find_map(|before| {
        let opening = format!("{before}{statement}");
        let mut windows = message.windows(opening.len());
        let at = windows.position(|window| window == opening.as_bytes())?;
        Some(at + before.len())
    });
    let Some(start) = found else {
        return;
    };
    let rest = message[start..].iter().position(|byte| *byte == b';');
    let end = rest.map_or(message.len(), |length| start + length);
    assert!(
        by.len() <= end - start,
        "`{by}` is longer than what it replaces"
    );
    message[start..end].fill(b' ');
    message[start..start + by.len()].copy_from_slice(by.as_bytes());
    *wanted = None;
}
