//! A link whose open connections can fall silent, as when a firewall forgets them.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use tokio::io::copy_bidirectional;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;

use crate::patience::in_time;

/// Forwards connections to a server. A connection that has fallen silent stays open and forwards nothing more;
/// new ones are not affected. Clones are the same link.
#[derive(Clone, Debug)]
pub struct QuietLink {
    port: u16,
    silenced: watch::Sender<u64>,
    opened: Arc<AtomicU64>,
    /// Whether the next use of a connection silences all that are open.
    is_due: Arc<AtomicBool>,
}

impl QuietLink {
    /// Listens on a free port for the server at this address.
    ///
    /// # Panics
    /// Panics if no port is free.
    pub async fn to(host: String, server: u16) -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.expect("a port");
        let port = listener.local_addr().expect("a bound socket").port();
        let silenced = watch::Sender::new(0);
        let opened = Arc::new(AtomicU64::new(0));
        let (silent, count) = (silenced.subscribe(), Arc::clone(&opened));
        tokio::spawn(async move {
            while let Ok((mut client, _)) = listener.accept().await {
                count.fetch_add(1, Ordering::SeqCst);
                let (mut silent, host) = (silent.clone(), host.clone());
                silent.mark_unchanged();
                tokio::spawn(async move {
                    let Ok(mut to) = TcpStream::connect((host.as_str(), server)).await else {
                        return;
                    };
                    tokio::select! {
                        // What is sent after the silence has begun is not forwarded any more.
                        biased;
                        // Ends with the link; keeps both ends open until then.
                        Ok(()) = silent.changed() => while silent.changed().await.is_ok() {},
                        // Either end may close at any time.
                        _ = copy_bidirectional(&mut client, &mut to) => {}
                    }
                });
            }
        });
        Self {
            port,
            silenced,
            opened,
            is_due: Arc::default(),
        }
    }

    /// Returns the local port.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Lets every open connection fall silent.
    pub fn silence(&self) {
        self.silenced.send_modify(|times| *times += 1);
    }

    /// Lets every open connection fall silent when the next one is used, and waits for that.
    ///
    /// # Panics
    /// Panics if none is used within a minute.
    pub async fn silence_at_next_use(&self) {
        let mut silenced = self.silenced.subscribe();
        self.is_due.store(true, Ordering::SeqCst);
        let silenced = in_time("no connection is used", silenced.changed()).await;
        silenced.expect("the link is open");
    }

    /// Is to be called when a pool has tested a connection and before it hands it out (`before_acquire`).
    pub fn used(&self) {
        if self.is_due.swap(false, Ordering::SeqCst) {
            self.silence();
        }
    }

    /// Returns how many connections were opened.
    pub fn opened(&self) -> u64 {
        self.opened.load(Ordering::SeqCst)
    }
}
