//! A link to a MySQL server on which one statement is replaced by another.

use std::io;
use std::sync::{Arc, Mutex, PoisonError};

use sqlx::mysql::MySqlConnectOptions;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, copy};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;

use crate::proxy::Route as _;

/// Forwards connections to a server, and replaces a statement that is sent by text. No connection
/// through it outlives it.
#[derive(Debug)]
pub struct Rewrite {
    options: MySqlConnectOptions,
    wanted: Arc<Mutex<Option<Replacement>>>,
    accepting: JoinHandle<()>,
}

/// What stands in the place of a statement.
#[derive(Clone, Copy, Debug)]
struct Replacement {
    /// How the statement begins.
    statement: &'static str,
    by: &'static str,
}

impl Rewrite {
    /// Listens on a port of its own for a server that is reached by TCP.
    ///
    /// # Panics
    ///
    /// There is no port to listen on.
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

    /// The options of a connection through this link.
    pub fn options(&self) -> MySqlConnectOptions {
        self.options.clone()
    }

    /// Replaces the next statement that follows another one in its message and begins so, by one that
    /// is no longer than it. What follows a `;` is looked for too, and not replaced.
    pub fn next(&self, statement: &'static str, by: &'static str) {
        *lock(&self.wanted) = Some(Replacement { statement, by });
    }

    /// Whether the statement that is to be replaced has passed.
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
        // Either end may go at any time.
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

/// Puts a statement of the same length into the place of the one wanted, if it is in this message.
fn replace(message: &mut [u8], wanted: &mut Option<Replacement>) {
    let Some(Replacement { statement, by }) = *wanted else {
        return;
    };
    let opening = format!("; {statement}");
    let found = message
        .windows(opening.len())
        .position(|window| window == opening.as_bytes());
    let Some(start) = found.map(|at| at + "; ".len()) else {
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
