//! A relay before the server, in the thread of the calls.

use tokio::io::copy_bidirectional;
use tokio::net::{TcpListener, TcpStream};

/// Relays every connection to the server at this address. Returns the port that it listens on.
///
/// The relay does nothing while a call is polled. No answer then arrives before the call waits for
/// it, and each message costs one poll however quick the server is.
pub(crate) async fn before(server: (String, u16)) -> std::io::Result<u16> {
    let listener = TcpListener::bind(("127.0.0.1", 0)).await?;
    let port = listener.local_addr()?.port();
    tokio::spawn(async move {
        while let Ok((mut near, _)) = listener.accept().await {
            let server = server.clone();
            tokio::spawn(async move {
                // The client notices a broken connection itself.
                if let Ok(mut far) = TcpStream::connect(server).await {
                    let _ = copy_bidirectional(&mut near, &mut far).await;
                }
            });
        }
    });
    Ok(port)
}
