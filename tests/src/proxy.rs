//! A connection to a database that can fail at a COMMIT.

use std::io;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};

use sqlx::mysql::{MySqlConnectOptions, MySqlSslMode};
use sqlx::postgres::{PgConnectOptions, PgSslMode};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::JoinHandle;

use crate::patience::in_time;

/// Connection options that can be routed through a [`Proxy`].
pub trait Route: Clone {
    /// The endings of the wire messages that commit.
    const COMMIT: &'static [&'static [u8]];

    /// Returns host and port of the server.
    fn target(&self) -> (String, u16);

    /// Returns the same options for this local port, without TLS.
    #[must_use]
    fn by(&self, port: u16) -> Self;
}

impl Route for PgConnectOptions {
    const COMMIT: &'static [&'static [u8]] = &[
        b"COMMIT\0",
        b"COMMIT AND CHAIN\0",
        // The last statement of a message that is a transaction by itself.
        b" AS written\0",
    ];

    fn target(&self) -> (String, u16) {
        (self.get_host().to_owned(), self.get_port())
    }

    fn by(&self, port: u16) -> Self {
        let options = self.clone().host("127.0.0.1").port(port);
        options.ssl_mode(PgSslMode::Disable)
    }
}

impl Route for MySqlConnectOptions {
    const COMMIT: &'static [&'static [u8]] = &[b"\x03COMMIT"];

    fn target(&self) -> (String, u16) {
        (self.get_host().to_owned(), self.get_port())
    }

    fn by(&self, port: u16) -> Self {
        let options = self.clone().host("127.0.0.1").port(port);
        options.ssl_mode(MySqlSslMode::Disabled)
    }
}

/// What the proxy does with the next COMMIT. Every other message passes.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Fate {
    /// Forwards it, and forwards its answer.
    Pass,
    /// Cuts the connection before the server sees it.
    CutBefore,
    /// Forwards it, and cuts the connection in place of the server's answer.
    CutAnswer,
    /// Forwards it, and cuts the client's end at once. The server's end stays open.
    CutClient,
    /// Forwards it, and answers the client with an error of this severity and code: its session has
    /// ended.
    Answer(&'static str, &'static str),
    /// Forwards it, drops the answer, and keeps the connection silent until [`Proxy::cut`].
    Swallow,
}

/// Forwards connections to a server. Dropping it cuts them all.
#[derive(Debug)]
pub struct Proxy<O = PgConnectOptions> {
    address: SocketAddr,
    server: O,
    shared: Arc<Shared>,
    accepting: JoinHandle<()>,
}

#[derive(Debug)]
struct Shared {
    commit: &'static [&'static [u8]],
    /// The message that the fate is for, by a part of it; `None` for a COMMIT.
    holding: Mutex<Option<&'static str>>,
    fate: Mutex<Fate>,
    /// The number of messages that the fate was applied to.
    reached: watch::Sender<u32>,
    cut: watch::Sender<bool>,
}

impl<O: Route> Proxy<O> {
    /// Listens on a free port for a server that is reached by TCP.
    ///
    /// # Panics
    ///
    /// Panics if no port is free.
    pub async fn to(server: &O) -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.expect("a port");
        let address = listener.local_addr().expect("a bound socket");
        let shared = Arc::new(Shared {
            commit: O::COMMIT,
            holding: Mutex::new(None),
            fate: Mutex::new(Fate::Pass),
            reached: watch::Sender::new(0),
            cut: watch::Sender::new(false),
        });
        let accepting = tokio::spawn(accept(listener, server.target(), Arc::clone(&shared)));
        Self {
            address,
            server: server.clone(),
            shared,
            accepting,
        }
    }

    /// Returns the connection options through this proxy.
    pub fn options(&self) -> O {
        self.server.by(self.address.port())
    }
}

impl<O> Proxy<O> {
    /// Sets the fate of the next COMMIT.
    pub fn next_commit(&self, fate: Fate) {
        *lock(&self.shared.holding) = None;
        *lock(&self.shared.fate) = fate;
    }

    /// Sets the fate of the next message that holds `part`, in place of that of the next COMMIT.
    pub fn next_holding(&self, part: &'static str, fate: Fate) {
        *lock(&self.shared.holding) = Some(part);
        *lock(&self.shared.fate) = fate;
    }

    /// Waits until the fate has been applied to a COMMIT.
    ///
    /// # Panics
    ///
    /// No such message comes within a minute.
    pub async fn reached(&self) {
        let mut reached = self.shared.reached.subscribe();
        let reached = in_time(
            "no COMMIT came by",
            reached.wait_for(|reached| *reached > 0),
        )
        .await;
        reached.expect("it is alive");
    }

    /// Cuts every connection. New connections are refused from now on.
    pub fn cut(&self) {
        self.accepting.abort();
        self.shared.cut.send_replace(true);
    }
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl<O> Drop for Proxy<O> {
    fn drop(&mut self) {
        self.cut();
    }
}

impl Shared {
    /// Returns the fate of this message. A fate applies to one message only.
    fn fate_of(&self, message: &[u8]) -> Fate {
        let is_meant = match *lock(&self.holding) {
            None => self.commit.iter().any(|end| message.ends_with(end)),
            Some(part) => message
                .windows(part.len())
                .any(|bytes| bytes == part.as_bytes()),
        };
        if !is_meant {
            return Fate::Pass;
        }
        std::mem::replace(&mut *lock(&self.fate), Fate::Pass)
    }

    fn report(&self) {
        self.reached.send_modify(|reached| *reached += 1);
    }
}

async fn accept(listener: TcpListener, target: (String, u16), shared: Arc<Shared>) {
    while let Ok((client, _)) = listener.accept().await {
        let (target, shared) = (target.clone(), Arc::clone(&shared));
        tokio::spawn(async move {
            let mut cut = shared.cut.subscribe();
            tokio::select! {
                // Either end may close at any time; the proxy tests exactly that.
                _ = forward(client, target, &shared) => {}
                _ = cut.wait_for(|cut| *cut) => {}
            }
        });
    }
}

async fn forward(mut client: TcpStream, target: (String, u16), shared: &Shared) -> io::Result<()> {
    let mut server = TcpStream::connect((target.0.as_str(), target.1)).await?;
    let (mut up, mut down) = ([0; 8192], [0; 8192]);
    loop {
        tokio::select! {
            read = client.read(&mut up) => {
                let message = &up[..read?];
                if message.is_empty() {
                    return Ok(());
                }
                let fate = shared.fate_of(message);
                if fate != Fate::CutBefore {
                    server.write_all(message).await?;
                }
                match fate {
                    Fate::Pass => continue,
                    Fate::CutBefore => {}
                    Fate::CutAnswer => {
                        let _ = server.read(&mut down).await?;
                    }
                    Fate::Answer(severity, code) => {
                        let _ = server.read(&mut down).await?;
                        client.write_all(&error(severity, code)).await?;
                    }
                    Fate::CutClient => {
                        drop(client);
                        shared.report();
                        // The server's end stays open until the server closes it.
                        while server.read(&mut down).await? > 0 {}
                        return Ok(());
                    }
                    Fate::Swallow => {
                        let _ = server.read(&mut down).await?;
                        shared.report();
                        std::future::pending::<()>().await;
                    }
                }
                shared.report();
                return Ok(());
            }
            read = server.read(&mut down) => {
                let answer = &down[..read?];
                if answer.is_empty() {
                    return Ok(());
                }
                client.write_all(answer).await?;
            }
        }
    }
}

/// Builds an `ErrorResponse` of the wire protocol.
fn error(severity: &str, code: &str) -> Vec<u8> {
    let fields = format!("S{severity}\0V{severity}\0C{code}\0Mmade up\0\0");
    let length = u32::try_from(fields.len() + 4).unwrap_or(u32::MAX);
    let mut message = vec![b'E'];
    message.extend(length.to_be_bytes());
    message.extend(fields.as_bytes());
    message
}
