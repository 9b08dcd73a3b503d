//! The settings of a cluster.

/// The settings with which a [`Cluster`](crate::Cluster) starts.
///
/// By default a crash of the *machine* may lose its data (`fsync = off` and similar settings),
/// which makes a test several times faster. A crash of the server alone loses only the commits that
/// `synchronous_commit = off` had not flushed yet. [`durable`](Self::durable) is for the tests that
/// crash a server and check its data.
#[derive(Clone, Debug)]
pub struct Options {
    durable: bool,
    settings: Vec<(String, String)>,
}

impl Options {
    /// Returns the default settings: 200 connections, 10 prepared transactions, not durable.
    pub fn new() -> Self {
        Self {
            durable: false,
            settings: Vec::new(),
        }
    }

    /// Makes every answered commit durable.
    #[must_use]
    pub fn durable(mut self) -> Self {
        self.durable = true;
        self
    }

    /// Adds a line to `postgresql.conf`. A later setting replaces an earlier one of the same name.
    #[must_use]
    pub fn set(mut self, name: &str, value: &str) -> Self {
        self.settings.push((name.to_owned(), value.to_owned()));
        self
    }

    /// Returns the lines for `postgresql.conf`.
    pub(crate) fn lines(&self) -> String {
        let fast = if self.durable { "on" } else { "off" };
        let fixed = [
            ("max_connections", "200"),
            ("max_prepared_transactions", "10"),
            ("fsync", fast),
            ("synchronous_commit", fast),
            ("full_page_writes", fast),
        ];
        let own = self
            .settings
            .iter()
            .map(|(name, value)| (&**name, &**value));
        fixed.into_iter().chain(own).map(line).collect()
    }
}

impl Default for Options {
    fn default() -> Self {
        Self::new()
    }
}

/// Returns one line of `postgresql.conf`.
pub(crate) fn line((name, value): (&str, &str)) -> String {
    format!("{name} = '{}'\n", value.replace('\'', "''"))
}

#[cfg(test)]
mod tests {
    use super::Options;

    #[test]
    fn a_later_setting_follows_the_fixed_ones_and_quotes_are_doubled() {
        let lines = Options::new().set("fsync", "on").set("a.b", "it's").lines();
        let tail = "full_page_writes = 'off'\nfsync = 'on'\na.b = 'it''s'\n";
        assert!(lines.ends_with(tail), "{lines}");
    }
}
