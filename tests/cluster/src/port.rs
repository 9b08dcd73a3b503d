//! Ports for servers.

use std::hash::{BuildHasher, RandomState};
use std::io;
use std::net::TcpListener;

/// A port below those that Linux gives to outgoing connections (32768 and up): while the server
/// is down between a stop and a start, no client can be handed its port by chance.
pub(crate) fn free_port() -> io::Result<u16> {
    const PORTS: std::ops::Range<u16> = 10_240..32_768;
    let chance = RandomState::new().hash_one("port") % PORTS.len() as u64;
    PORTS
        .cycle()
        .skip(usize::try_from(chance).unwrap_or_default())
        .take(PORTS.len())
        .find(|port| TcpListener::bind(("127.0.0.1", *port)).is_ok())
        .ok_or_else(|| io::Error::other("no port of 127.0.0.1 is free"))
}
