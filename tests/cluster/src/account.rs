//! The account that runs the servers: the servers and their installers refuse to run as root.

use std::fs;
use std::io;
use std::process::Command;

/// Returns whether this process runs as root.
///
/// # Errors
///
/// Returns an error if `id` cannot be run.
pub fn is_root() -> io::Result<bool> {
    Ok(Command::new("id").arg("-u").output()?.stdout == b"0\n")
}

/// An account from `/etc/passwd`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Account {
    pub(crate) uid: u32,
    pub(crate) gid: u32,
}

impl Account {
    /// Returns the account that root switches to: the first of `postgres`, `mysql` and `nobody`
    /// that exists.
    pub(crate) fn unprivileged() -> io::Result<Self> {
        let passwd = fs::read_to_string("/etc/passwd")?;
        ["postgres", "mysql", "nobody"]
            .into_iter()
            .find_map(|name| Self::named(name, &passwd))
            .ok_or_else(|| {
                io::Error::other(
                    "a server cannot run as root, and /etc/passwd has none of `postgres`, `mysql` and `nobody`",
                )
            })
    }

    fn named(name: &str, passwd: &str) -> Option<Self> {
        passwd.lines().find_map(|line| {
            let mut fields = line.split(':');
            (fields.next()? == name).then_some(())?;
            let (_password, uid, gid) = (fields.next()?, fields.next()?, fields.next()?);
            Some(Self {
                uid: uid.parse().ok()?,
                gid: gid.parse().ok()?,
            })
        })
    }
}

#[cfg(test)]
mod tests {
    use super::Account;

    const PASSWD: &str = "root:x:0:0:root:/root:/bin/bash\n\
                          postgresql:x:7:7::/:/bin/sh\n\
                          nobody:x:65534:65533:nobody:/:/bin/false\n";

    #[test]
    fn an_account_is_found_by_its_whole_name() {
        let nobody = Account {
            uid: 65534,
            gid: 65533,
        };
        assert_eq!(Account::named("nobody", PASSWD), Some(nobody));
        assert_eq!(Account::named("postgres", PASSWD), None);
    }
}
