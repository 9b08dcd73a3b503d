//! Which addresses are dialled.
//!
//! Only addresses of the public Internet, and those of networks that the program allows. The lists are those of IANA (*IPv4
//! and IPv6 Special-Purpose Address Registries*, RFC 6890): a block that is not globally reachable is refused. An IPv6
//! address that carries an IPv4 address is judged by that one too, because a translator dials it.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use super::network::Network;

/// The blocks of IPv4 that no request of a tenant's may reach, and what they are.
const REFUSED_V4: [(Network, &str); 19] = [
    v4([0, 0, 0, 0], 8, "this network"),
    v4([10, 0, 0, 0], 8, "private"),
    v4([100, 64, 0, 0], 10, "carrier-grade NAT"),
    v4([127, 0, 0, 0], 8, "loopback"),
    // Public by its number, but within Azure it is the platform's own agent.
    v4([168, 63, 129, 16], 32, "the platform of Azure"),
    v4([169, 254, 0, 0], 16, "link-local"),
    v4([172, 16, 0, 0], 12, "private"),
    v4([192, 0, 0, 0], 24, "protocol assignments"),
    v4([192, 0, 2, 0], 24, "documentation"),
    v4([192, 31, 196, 0], 24, "AS112"),
    v4([192, 52, 193, 0], 24, "AMT"),
    v4([192, 88, 99, 0], 24, "6to4 relay"),
    v4([192, 168, 0, 0], 16, "private"),
    v4([192, 175, 48, 0], 24, "AS112"),
    v4([198, 18, 0, 0], 15, "benchmarking"),
    v4([198, 51, 100, 0], 24, "documentation"),
    v4([203, 0, 113, 0], 24, "documentation"),
    v4([224, 0, 0, 0], 4, "multicast"),
    v4([240, 0, 0, 0], 4, "reserved"),
];

/// The global unicast addresses of IPv6; all others are refused, but for NAT64.
const UNICAST_V6: Network = Network::new(IpAddr::V6(Ipv6Addr::new(0x2000, 0, 0, 0, 0, 0, 0, 0)), 3);

/// What is refused among the global unicast addresses.
const REFUSED_V6: [(Network, &str); 5] = [
    v6([0x2001, 0, 0, 0], 23, "protocol assignments"),
    v6([0x2001, 0xdb8, 0, 0], 32, "documentation"),
    v6([0x2002, 0, 0, 0], 16, "6to4"),
    v6([0x2620, 0x4f, 0x8000, 0], 48, "AS112"),
    v6([0x3fff, 0, 0, 0], 20, "documentation"),
];

/// The well-known prefix of NAT64 (RFC 6052): the last 32 bits are the IPv4 address that is dialled.
const NAT64: Network = Network::new(
    IpAddr::V6(Ipv6Addr::new(0x64, 0xff9b, 0, 0, 0, 0, 0, 0)),
    96,
);

const fn v4(octets: [u8; 4], prefix: u8, what: &'static str) -> (Network, &'static str) {
    let [a, b, c, d] = octets;
    let address = IpAddr::V4(Ipv4Addr::new(a, b, c, d));
    (Network::new(address, prefix), what)
}

const fn v6(groups: [u16; 4], prefix: u8, what: &'static str) -> (Network, &'static str) {
    let [a, b, c, d] = groups;
    let address = IpAddr::V6(Ipv6Addr::new(a, b, c, d, 0, 0, 0, 0));
    (Network::new(address, prefix), what)
}

/// Decides which addresses are dialled.
#[derive(Clone, Debug, Default)]
pub(super) struct AddressPolicy {
    pub(super) allowed: Vec<Network>,
}

/// An address that is not dialled.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{host}` has the address {address} ({what}), which is not dialled; nothing was sent; if it is meant, allow its network \
     with `allow_network`"
)]
pub(super) struct RefusedAddress {
    pub(super) host: String,
    pub(super) address: IpAddr,
    pub(super) what: &'static str,
}

impl AddressPolicy {
    /// Checks that `address` of `host` may be dialled.
    pub(super) fn check(&self, host: &str, address: IpAddr) -> Result<(), RefusedAddress> {
        // An IPv4-mapped address is dialled as the IPv4 address.
        let dialled = address.to_canonical();
        if self.allowed.iter().any(|network| network.contains(dialled)) {
            return Ok(());
        }
        let what = match dialled {
            IpAddr::V4(dialled) => refused_v4(dialled),
            IpAddr::V6(dialled) => self.refused_v6(dialled),
        };
        what.map_or(Ok(()), |what| {
            Err(RefusedAddress {
                host: host.to_owned(),
                address,
                what,
            })
        })
    }

    fn refused_v6(&self, address: Ipv6Addr) -> Option<&'static str> {
        if NAT64.contains(address.into()) {
            let [.., a, b, c, d] = address.octets();
            let translated = Ipv4Addr::new(a, b, c, d);
            let is_allowed =
                (self.allowed.iter()).any(|network| network.contains(translated.into()));
            return if is_allowed {
                None
            } else {
                refused_v4(translated)
            };
        }
        if !UNICAST_V6.contains(address.into()) {
            return Some(match address {
                Ipv6Addr::LOCALHOST => "loopback",
                Ipv6Addr::UNSPECIFIED => "unspecified",
                _ if address.is_unique_local() => "private",
                _ if address.is_unicast_link_local() => "link-local",
                _ if address.is_multicast() => "multicast",
                _ => "not global unicast",
            });
        }
        find(&REFUSED_V6, address.into())
    }
}

fn refused_v4(address: Ipv4Addr) -> Option<&'static str> {
    find(&REFUSED_V4, address.into())
}

fn find(refused: &[(Network, &'static str)], address: IpAddr) -> Option<&'static str> {
    let found = refused
        .iter()
        .find(|(network, _)| network.contains(address));
    found.map(|(_, what)| *what)
}

#[cfg(test)]
mod tests {
    use super::{AddressPolicy, Network};

    fn refused(policy: &AddressPolicy, address: &str) -> Option<&'static str> {
        let parsed = address.parse().expect("an address");
        policy.check("a.test", parsed).err().map(|error| error.what)
    }

    #[test]
    fn every_special_block_is_refused_at_both_of_its_ends() {
        let policy = AddressPolicy::default();
        for (address, what) in [
            ("0.0.0.0", "this network"),
            ("0.255.255.255", "this network"),
            ("10.0.0.0", "private"),
            ("10.255.255.255", "private"),
            ("100.64.0.0", "carrier-grade NAT"),
            ("100.100.100.200", "carrier-grade NAT"),
            ("100.127.255.255", "carrier-grade NAT"),
            ("127.0.0.1", "loopback"),
            ("127.255.255.255", "loopback"),
            ("168.63.129.16", "the platform of Azure"),
            ("169.254.169.254", "link-local"),
            ("172.16.0.0", "private"),
            ("172.31.255.255", "private"),
            ("192.0.0.192", "protocol assignments"),
            ("192.0.2.1", "documentation"),
            ("192.88.99.1", "6to4 relay"),
            ("192.168.0.0", "private"),
            ("192.168.255.255", "private"),
            ("198.18.0.0", "benchmarking"),
            ("198.19.255.255", "benchmarking"),
            ("198.51.100.1", "documentation"),
            ("203.0.113.1", "documentation"),
            ("224.0.0.1", "multicast"),
            ("239.255.255.255", "multicast"),
            ("240.0.0.1", "reserved"),
            ("255.255.255.255", "reserved"),
            ("::", "unspecified"),
            ("::1", "loopback"),
            ("::7f00:1", "not global unicast"),
            ("::ffff:127.0.0.1", "loopback"),
            ("::ffff:10.1.2.3", "private"),
            ("::ffff:169.254.169.254", "link-local"),
            ("64:ff9b::7f00:1", "loopback"),
            ("64:ff9b::a9fe:a9fe", "link-local"),
            ("64:ff9b:1::1", "not global unicast"),
            ("100::1", "not global unicast"),
            ("2001::1", "protocol assignments"),
            ("2001:1ff:ffff::", "protocol assignments"),
            ("2001:db8::1", "documentation"),
            ("2002:7f00:1::", "6to4"),
            ("3fff:fff::1", "documentation"),
            ("5f00::1", "not global unicast"),
            ("fc00::1", "private"),
            ("fd00:ec2::254", "private"),
            ("fe80::1", "link-local"),
            ("fec0::1", "not global unicast"),
            ("ff02::1", "multicast"),
        ] {
            assert_eq!(refused(&policy, address), Some(what), "{address}");
        }
    }

    #[test]
    fn the_neighbours_of_the_special_blocks_are_dialled() {
        let policy = AddressPolicy::default();
        for address in [
            "1.0.0.0",
            "9.255.255.255",
            "11.0.0.0",
            "100.63.255.255",
            "100.128.0.0",
            "126.255.255.255",
            "128.0.0.0",
            "168.63.129.15",
            "169.253.255.255",
            "169.255.0.0",
            "172.15.255.255",
            "172.32.0.0",
            "192.0.1.0",
            "192.167.255.255",
            "192.169.0.0",
            "198.17.255.255",
            "198.20.0.0",
            "223.255.255.255",
            "::ffff:8.8.8.8",
            "64:ff9b::808:808",
            "2001:200::1",
            "2606:4700::1111",
            "3ffe::1",
        ] {
            assert_eq!(refused(&policy, address), None, "{address}");
        }
    }

    #[test]
    fn an_allowed_network_is_dialled_in_each_of_its_spellings_and_no_other_is() {
        let allowed = vec![
            Network::parse("10.1.0.0/16").expect("a network"),
            Network::parse("fd00:1::/32").expect("a network"),
        ];
        let policy = AddressPolicy { allowed };
        for address in [
            "10.1.2.3",
            "::ffff:10.1.2.3",
            "64:ff9b::a01:203",
            "fd00:1::1",
        ] {
            assert_eq!(refused(&policy, address), None, "{address}");
        }
        for address in ["10.2.0.0", "::ffff:10.2.0.0", "64:ff9b::a02:0", "fd00:2::1"] {
            assert_eq!(refused(&policy, address), Some("private"), "{address}");
        }
    }
}
