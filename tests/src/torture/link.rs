//! A link to a server that can fail at any message, especially at a COMMIT.

use std::collections::{BTreeMap, VecDeque};
use std::fmt;
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio::time::{sleep, timeout};

/// How long a temporary fault lasts.
pub const HOLD: Duration = Duration::from_millis(300);

/// How long a silent link stays open, as if keep-alive probes then closed it. It is longer than a
/// caller waits for an answer. A caller that drops its transaction does not close the link, and the
/// server would otherwise keep that transaction's locks for ever.
const SILENCE: Duration = Duration::from_secs(3);

/// The message of a client that is disturbed.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Point {
    /// The next COMMIT.
    Commit,
    /// The next message of any kind.
    Anywhere,
}

/// What happens to that message.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Harm {
    /// Cuts the link before the server sees the message.
    CutBefore,
    /// Lets the server answer, and cuts the link in place of the answer.
    CutAnswer,
    /// Cuts the client's end at once, and the server's end once it has answered.
    CutClient,
    /// Delays the message.
    Delay,
    /// Drops the message. The link stays open and silent for a while.
    Swallow,
    /// Drops the server's answer. The link stays open and silent for a while.
    SwallowAnswer,
}

impl fmt::Display for Point {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Commit => "COMMIT",
            Self::Anywhere => "a message",
        })
    }
}

impl fmt::Display for Harm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::CutBefore => "cut before it arrives",
            Self::CutAnswer => "cut in place of its answer",
            Self::CutClient => "the client cut off while it is carried out",
            Self::Delay => "delayed",
            Self::Swallow => "swallowed",
            Self::SwallowAnswer => "its answer swallowed",
        })
    }
}

/// Forwards connections to a server. Dropping it cuts them all.
#[derive(Debug)]
pub struct Link {
    port: u16,
    shared: Arc<Shared>,
    accepting: JoinHandle<()>,
}

#[derive(Debug)]
struct Shared {
    target: (String, u16),
    /// The endings of the wire messages that commit.
    commit: &'static [&'static [u8]],
    planned: Mutex<VecDeque<(Point, Harm)>>,
    hits: Mutex<BTreeMap<String, u64>>,
    /// Rises with every cut.
    cuts: watch::Sender<u64>,
}

impl Link {
    /// Listens on a free port for a server. `commit` holds the endings of the messages that commit.
    ///
    /// # Errors
    ///
    /// Returns an error if no port is free.
    pub async fn to(target: (String, u16), commit: &'static [&'static [u8]]) -> io::Result<Self> {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await?;
        let port = listener.local_addr()?.port();
        let shared = Arc::new(Shared {
            target,
            commit,
            planned: Mutex::default(),
            hits: Mutex::default(),
            cuts: watch::Sender::new(0),
        });
        let accepting = tokio::spawn(accept(listener, Arc::clone(&shared)));
        Ok(Self {
            port,
            shared,
            accepting,
        })
    }

    /// Returns the port on 127.0.0.1.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Selects the next message of this kind for this harm.
    pub fn arm(&self, point: Point, harm: Harm) {
        lock(&self.shared.planned).push_back((point, harm));
    }

    /// Forgets the harms whose message has not come.
    pub fn heal(&self) {
        lock(&self.shared.planned).clear();
    }

    /// Cuts every open link; new ones can be opened.
    pub fn cut(&self) {
        self.shared.cuts.send_modify(|cuts| *cuts += 1);
    }

    /// Returns the number of disturbed messages, by kind.
    pub fn hits(&self) -> BTreeMap<String, u64> {
        lock(&self.shared.hits).clone()
    }
}

impl Drop for Link {
    fn drop(&mut self) {
        self.accepting.abort();
        self.cut();
    }
}

impl Shared {
    /// Returns the harm for this message, which is then used up.
    fn harm(&self, message: &[u8]) -> Option<Harm> {
        let commits = self.commit.iter().any(|end| message.ends_with(end));
        let mut planned = lock(&self.planned);
        let meant = |(point, _): &(Point, Harm)| *point == Point::Anywhere || commits;
        let (point, harm) = planned
            .iter()
            .position(meant)
            .and_then(|n| planned.remove(n))?;
        drop(planned);
        *lock(&self.hits)
            .entry(format!("{point}: {harm}"))
            .or_default() += 1;
        Some(harm)
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

async fn accept(listener: TcpListener, shared: Arc<Shared>) {
    while let Ok((client, _)) = listener.accept().await {
        let shared = Arc::clone(&shared);
        tokio::spawn(async move {
            let mut cuts = shared.cuts.subscribe();
            tokio::select! {
                // Either end may close at any time; the link tests exactly that.
                _ = forward(client, &shared) => {}
                _ = cuts.changed() => {}
            }
        });
    }
}

async fn forward(mut client: TcpStream, shared: &Shared) -> io::Result<()> {
    let (host, port) = &shared.target;
    let mut server = TcpStream::connect((host.as_str(), *port)).await?;
    server.set_nodelay(true)?;
    client.set_nodelay(true)?;
    let (mut up, mut down) = ([0; 8192], [0; 8192]);
    loop {
        tokio::select! {
            read = client.read(&mut up) => {
                let message = &up[..read?];
                if message.is_empty() {
                    return Ok(());
                }
                match shared.harm(message) {
                    None => server.write_all(message).await?,
                    Some(Harm::Delay) => {
                        sleep(HOLD).await;
                        server.write_all(message).await?;
                    }
                    Some(Harm::CutBefore) => return Ok(()),
                    Some(Harm::CutAnswer) => {
                        server.write_all(message).await?;
                        let _ = server.read(&mut down).await?;
                        return Ok(());
                    }
                    Some(Harm::CutClient) => {
                        server.write_all(message).await?;
                        drop(client);
                        let _ = server.read(&mut down).await?;
                        return Ok(());
                    }
                    Some(Harm::Swallow) => return Box::pin(silent(client, server)).await,
                    Some(Harm::SwallowAnswer) => {
                        server.write_all(message).await?;
                        return Box::pin(silent(client, server)).await;
                    }
                }
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

/// Keeps a link open without forwarding anything, until one end closes or time is up.
async fn silent(mut client: TcpStream, mut server: TcpStream) -> io::Result<()> {
    let (mut up, mut down) = ([0; 8192], [0; 8192]);
    let until_an_end_goes = async {
        loop {
            let read = tokio::select! {
                read = client.read(&mut up) => read?,
                read = server.read(&mut down) => read?,
            };
            if read == 0 {
                return Ok(());
            }
        }
    };
    timeout(SILENCE, until_an_end_goes).await.unwrap_or(Ok(()))
}
