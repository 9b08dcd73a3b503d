//! A private network between a client and a server, with a chosen latency. It counts round trips.

use std::io::{self, Read as _, Write as _};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError, mpsc};
use std::thread;
use std::time::{Duration, Instant};

/// A link to a server's port on 127.0.0.1. Dropping it cuts all connections.
///
/// Each direction forwards data in order, half a round trip after it has arrived. Data in transit
/// does not delay the data behind it, so that the wire adds latency and does not limit throughput.
/// Threads sleep here, because timers of an async runtime have a resolution of one millisecond.
///
/// A **round trip** is a change of direction: data of the client after data of the server (or at
/// the beginning), whatever the number of messages. It is counted when the data arrives, before the
/// delay.
#[derive(Debug)]
pub struct Wire {
    port: u16,
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    one_way: Duration,
    round_trips: AtomicU64,
    closed: AtomicBool,
    /// The sockets of all connections, which are closed with the wire.
    ends: Mutex<Vec<TcpStream>>,
}

impl Wire {
    /// Opens a link to `server`, a port of 127.0.0.1, with this round trip in addition to the
    /// machine's own.
    ///
    /// # Errors
    ///
    /// Returns an error if no port is free.
    pub fn to(server: u16, round_trip: Duration) -> io::Result<Self> {
        let listener = TcpListener::bind(("127.0.0.1", 0))?;
        let port = listener.local_addr()?.port();
        let shared = Arc::new(Shared {
            one_way: round_trip / 2,
            round_trips: AtomicU64::new(0),
            closed: AtomicBool::new(false),
            ends: Mutex::default(),
        });
        let accepting = Arc::clone(&shared);
        thread::spawn(move || {
            for client in listener.incoming() {
                if accepting.closed.load(Ordering::Acquire) {
                    return;
                }
                // If the server is down, the client sees a connection that ends at once.
                let _ = client.and_then(|client| connect(client, server, &accepting));
            }
        });
        Ok(Self { port, shared })
    }

    /// Returns the port of the link on 127.0.0.1.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Returns the number of round trips that have begun, over all connections.
    pub fn round_trips(&self) -> u64 {
        self.shared.round_trips.load(Ordering::Acquire)
    }
}

impl Drop for Wire {
    fn drop(&mut self) {
        self.shared.closed.store(true, Ordering::Release);
        // Wakes the thread that accepts.
        let _ = TcpStream::connect(("127.0.0.1", self.port));
        let ends = self.shared.ends.lock();
        for end in ends.unwrap_or_else(PoisonError::into_inner).iter() {
            let _ = end.shutdown(Shutdown::Both);
        }
    }
}

fn connect(client: TcpStream, server: u16, shared: &Arc<Shared>) -> io::Result<()> {
    let server = TcpStream::connect(("127.0.0.1", server))?;
    client.set_nodelay(true)?;
    server.set_nodelay(true)?;
    let mut ends = shared.ends.lock().unwrap_or_else(PoisonError::into_inner);
    ends.extend([client.try_clone()?, server.try_clone()?]);
    drop(ends);
    // Whether the server spoke last. It starts as true, because the client begins.
    let answered = Arc::new(AtomicBool::new(true));
    let (up, shared_up) = (Arc::clone(&answered), Arc::clone(shared));
    pump(
        client.try_clone()?,
        server.try_clone()?,
        shared.one_way,
        move || {
            if up.swap(false, Ordering::AcqRel) {
                shared_up.round_trips.fetch_add(1, Ordering::AcqRel);
            }
        },
    );
    pump(server, client, shared.one_way, move || {
        answered.store(true, Ordering::Release);
    });
    Ok(())
}

/// Forwards one direction. Calls `on_data` for each arrival.
fn pump(
    mut from: TcpStream,
    mut to: TcpStream,
    one_way: Duration,
    on_data: impl Fn() + Send + 'static,
) {
    if one_way.is_zero() {
        thread::spawn(move || {
            read_all(&mut from, |bytes| {
                on_data();
                to.write_all(bytes)
            });
            let _ = to.shutdown(Shutdown::Write);
        });
        return;
    }
    let (sender, under_way) = mpsc::channel::<(Instant, Vec<u8>)>();
    thread::spawn(move || {
        read_all(&mut from, |bytes| {
            let due = Instant::now() + one_way;
            on_data();
            sender.send((due, bytes.to_vec())).map_err(io::Error::other)
        });
    });
    thread::spawn(move || {
        for (due, bytes) in under_way {
            thread::sleep(due.saturating_duration_since(Instant::now()));
            if to.write_all(&bytes).is_err() {
                return;
            }
        }
        let _ = to.shutdown(Shutdown::Write);
    });
}

/// Passes on the data that is read, until either end is closed.
fn read_all(from: &mut TcpStream, mut hand_on: impl FnMut(&[u8]) -> io::Result<()>) {
    let mut buffer = [0; 16 * 1024];
    while let Ok(count) = from.read(&mut buffer) {
        if count == 0 || hand_on(&buffer[..count]).is_err() {
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Answers each line with the same line, for one client after another.
    fn echo() -> u16 {
        let listener = TcpListener::bind(("127.0.0.1", 0)).expect("a port");
        let port = listener.local_addr().expect("it is bound").port();
        thread::spawn(move || {
            for client in listener.incoming() {
                let mut client = client.expect("a client");
                let mut answer = client.try_clone().expect("the same");
                let mut line = Vec::new();
                read_all(&mut client, |bytes| {
                    line.extend(bytes);
                    if line.ends_with(b"\n") {
                        answer.write_all(&std::mem::take(&mut line))?;
                    }
                    Ok(())
                });
            }
        });
        port
    }

    fn send_pieces(stream: &mut TcpStream, pieces: &[&str]) -> String {
        for piece in pieces {
            stream.write_all(piece.as_bytes()).expect("it is open");
        }
        let mut answer = Vec::new();
        let mut byte = [0];
        while byte != *b"\n" {
            stream.read_exact(&mut byte).expect("it answers");
            answer.extend(byte);
        }
        String::from_utf8(answer).expect("as it was sent")
    }

    #[test]
    fn a_round_trip_is_a_change_of_direction_and_bytes_keep_their_order() {
        for round_trip in [Duration::ZERO, Duration::from_millis(1)] {
            let wire = Wire::to(echo(), round_trip).expect("a port");
            let mut client = TcpStream::connect(("127.0.0.1", wire.port())).expect("it listens");
            assert_eq!(wire.round_trips(), 0);
            assert_eq!(send_pieces(&mut client, &["a\n"]), "a\n");
            assert_eq!(send_pieces(&mut client, &["b", "c", "d\n"]), "bcd\n");
            assert_eq!(wire.round_trips(), 2);
        }
    }

    #[test]
    fn connections_are_cut_with_the_wire() {
        let wire = Wire::to(echo(), Duration::ZERO).expect("a port");
        let mut client = TcpStream::connect(("127.0.0.1", wire.port())).expect("it listens");
        send_pieces(&mut client, &["a\n"]);
        drop(wire);
        assert_eq!(client.read(&mut [0]).unwrap_or(0), 0);
    }
}
