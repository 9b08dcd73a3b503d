//! A cluster of servers that all accept writes and certify each commit.

use std::io;
use std::path::{Path, PathBuf};

use super::{Options, Server, template};
use crate::cluster::free_port;

/// MariaDB servers that replicate by Galera, on loopback. They end as a [`Server`] ends.
///
/// Each of them accepts writes. The others certify a transaction's keys at its COMMIT and apply it
/// a moment later, so a commit at one node may not be visible yet at another. A session that sets
/// `wsrep_sync_wait` waits for it.
#[derive(Debug)]
pub struct Galera(Vec<Server>);

impl Galera {
    /// The paths at which packages install the replication library.
    const PROVIDERS: [&str; 3] = [
        "/usr/lib/galera/libgalera_smm.so",
        "/usr/lib/galera-4/libgalera_smm.so",
        "/usr/lib64/galera-4/libgalera_smm.so",
    ];

    /// Returns the path of the replication library.
    ///
    /// # Errors
    ///
    /// Returns an error if it is not there. The text says what to install.
    pub fn provider() -> io::Result<PathBuf> {
        let mut places = Self::PROVIDERS.into_iter().map(PathBuf::from);
        places.find(|path| path.is_file()).ok_or_else(|| {
            io::Error::other("no Galera on this machine: install the package `galera-4`")
        })
    }

    /// Starts the given number of nodes. Returns once all of them are in sync and accept
    /// connections. Each node takes some seconds: a node that joins copies its data from another
    /// one.
    ///
    /// # Errors
    ///
    /// Returns an error if MariaDB or Galera is not on this machine, or if a node did not start.
    /// The text has its log.
    pub fn start(nodes: usize, options: &Options) -> io::Result<Self> {
        let provider = Self::provider()?;
        let data = template::to_copy()?;
        let mut ports = Vec::new();
        for _ in 0..nodes {
            ports.push(free_port()?);
        }
        let members: Vec<_> = ports.iter().map(|port| at(*port)).collect();
        let members = members.join(",");
        let mut servers = Vec::new();
        for port in ports {
            let options = member(options.clone(), &provider, port, &members)?;
            let order = if servers.is_empty() {
                "start --wsrep-new-cluster"
            } else {
                "start"
            };
            servers.push(Server::start_by(order, &data, &options)?);
        }
        Ok(Self(servers))
    }

    /// Returns the nodes.
    pub fn nodes(&self) -> &[Server] {
        &self.0
    }

    /// Returns the nodes, for a test that stops one.
    pub fn nodes_mut(&mut self) -> &mut [Server] {
        &mut self.0
    }
}

fn at(port: u16) -> String {
    format!("127.0.0.1:{port}")
}

/// Returns the settings of the node that replicates on `port`. The ports for state transfer are
/// separate too: by default they are fixed numbers.
fn member(options: Options, provider: &Path, port: u16, members: &str) -> io::Result<Options> {
    let (whole, missed) = (at(free_port()?), at(free_port()?));
    let own = at(port);
    let of_provider = format!(
        "\"gmcast.listen_addr=tcp://{own};ist.recv_addr={missed};gcache.size=8M;gcache.page_size=8M\""
    );
    let settings = [
        ("binlog_format", "ROW"),
        ("default_storage_engine", "InnoDB"),
        ("innodb_autoinc_lock_mode", "2"),
        ("wsrep_on", "ON"),
        ("wsrep_provider", &*provider.to_string_lossy()),
        ("wsrep_provider_options", &of_provider),
        ("wsrep_cluster_name", "idem"),
        ("wsrep_cluster_address", &format!("gcomm://{members}")),
        ("wsrep_node_address", &own),
        ("wsrep_sst_method", "rsync"),
        ("wsrep_sst_receive_address", &whole),
    ];
    let set = |options: Options, (name, value): (&str, &str)| options.set(name, value);
    Ok(settings.into_iter().fold(options, set))
}
