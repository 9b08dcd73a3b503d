//! The proxy behind TLS, which cuts connections too.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use rcgen::{CertifiedKey, generate_simple_self_signed};
use rustls::ServerConfig;
use rustls::crypto::aws_lc_rs;
use rustls::pki_types::PrivateKeyDer;
use tempfile::TempDir;
use tokio::io::AsyncReadExt as _;
use tokio::net::TcpListener;
use tokio::task::AbortHandle;
use tokio_rustls::TlsAcceptor;

use crate::proxy::Proxy;

/// The proxy's other door.
#[derive(Debug)]
pub struct Tls {
    /// Its address, with `https` and without a slash at its end.
    pub url: String,
    /// Its certificate, which a client must trust.
    pub certificate: String,
    cuts: Arc<Cuts>,
    file: TempDir,
}

/// Which connections are cut in the middle of their handshake.
#[derive(Debug, Default)]
struct Cuts {
    /// So many of the next ones.
    next: AtomicUsize,
    /// Each one whose number is divided by this; 0 for none.
    every: AtomicUsize,
    number: AtomicUsize,
}

impl Cuts {
    fn cuts_this(&self) -> bool {
        let less = |next: usize| next.checked_sub(1);
        let relaxed = Ordering::Relaxed;
        if self.next.fetch_update(relaxed, relaxed, less).is_ok() {
            return true;
        }
        let number = self.number.fetch_add(1, relaxed) + 1;
        let every = self.every.load(relaxed);
        every > 0 && number.is_multiple_of(every)
    }
}

impl Tls {
    /// Serves on this port. `address` is the port's, with `http`.
    pub(crate) fn before(
        proxy: Proxy,
        listener: TcpListener,
        address: &str,
    ) -> (Self, AbortHandle) {
        let CertifiedKey { cert, signing_key } =
            generate_simple_self_signed(["127.0.0.1".to_owned(), "localhost".to_owned()])
                .expect("a certificate");
        let key = PrivateKeyDer::try_from(signing_key.serialize_der()).expect("a key");
        let config = ServerConfig::builder_with_provider(Arc::new(aws_lc_rs::default_provider()))
            .with_safe_default_protocol_versions()
            .expect("versions")
            .with_no_client_auth()
            .with_single_cert(vec![cert.der().clone()], key)
            .expect("a configuration");
        let acceptor = TlsAcceptor::from(Arc::new(config));
        let cuts = Arc::<Cuts>::default();
        let file = tempfile::tempdir().expect("a directory");
        fs::write(file.path().join("certificate.pem"), cert.pem()).expect("written");
        let tls = Self {
            url: address.replace("http://", "https://"),
            certificate: cert.pem(),
            cuts: cuts.clone(),
            file,
        };
        let serving = tokio::spawn(async move {
            while let Ok((mut stream, _)) = listener.accept().await {
                if cuts.cuts_this() {
                    // Not before the client has begun.
                    let _hello = stream.read(&mut [0; 16]).await;
                    continue;
                }
                let (acceptor, proxy) = (acceptor.clone(), proxy.clone());
                tokio::spawn(async move {
                    if let Ok(stream) = acceptor.accept(stream).await {
                        proxy.connection(stream).await;
                    }
                });
            }
        });
        (tls, serving.abort_handle())
    }

    /// Cuts so many of the next connections in the middle of their handshake.
    pub fn cut_handshakes(&self, connections: usize) {
        self.cuts.next.store(connections, Ordering::Relaxed);
    }

    /// Cuts each connection whose number this divides in the middle of its handshake.
    pub fn cut_every(&self, number: usize) {
        self.cuts.every.store(number, Ordering::Relaxed);
    }

    /// Returns the file of the certificate.
    pub fn certificate_file(&self) -> PathBuf {
        Path::new(self.file.path()).join("certificate.pem")
    }
}
