//! The settings of a server.

/// The settings with which a [`Server`](super::Server) starts: small, for many connections, and not
/// durable. A crash of the machine may lose data, which the tests do not cover; a crash of the
/// server alone loses nothing.
#[derive(Clone, Debug, Default)]
pub struct Options(Vec<(String, String)>);

impl Options {
    /// Returns the default settings, with 400 connections.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a setting by its name in an option file. A later setting replaces an earlier one of the
    /// same name.
    #[must_use]
    pub fn set(mut self, name: &str, value: &str) -> Self {
        self.0.push((name.to_owned(), value.to_owned()));
        self
    }

    /// Returns the option file, with `paths` before the added settings.
    pub(crate) fn file(&self, paths: &[(&str, &str)]) -> String {
        let fixed = [
            ("bind-address", "127.0.0.1"),
            ("skip-name-resolve", "ON"),
            ("max_connections", "400"),
            ("performance_schema", "OFF"),
            ("innodb_buffer_pool_size", "32M"),
            ("innodb_log_file_size", "8M"),
            ("innodb_use_native_aio", "OFF"),
            ("innodb_doublewrite", "OFF"),
            // Written to the operating system at each commit, and flushed to the disk later.
            ("innodb_flush_log_at_trx_commit", "2"),
        ];
        let own = self.0.iter().map(|(name, value)| (&**name, &**value));
        let lines = paths.iter().copied().chain(fixed).chain(own);
        lines.fold("[mariadbd]\n".to_owned(), |file, (name, value)| {
            file + name + " = " + value + "\n"
        })
    }
}

#[cfg(test)]
mod tests {
    use super::Options;

    #[test]
    fn a_later_setting_follows_the_fixed_ones() {
        let file = Options::new()
            .set("max_connections", "9")
            .file(&[("port", "1")]);
        assert!(file.starts_with("[mariadbd]\nport = 1\n"), "{file}");
        assert!(file.ends_with("\nmax_connections = 9\n"), "{file}");
    }
}
