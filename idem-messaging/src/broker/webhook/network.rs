//! Networks in CIDR notation.

use std::net::IpAddr;

/// A network: an address and the length of its prefix.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Network {
    address: IpAddr,
    prefix: u8,
}

impl Network {
    pub(super) const fn new(address: IpAddr, prefix: u8) -> Self {
        Self { address, prefix }
    }

    /// Reads `10.1.0.0/16` or `fd00::/8`; an address alone is a network of one. Returns `None` for any other text, and if
    /// the address has bits beyond the prefix.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let (address, prefix) = match text.split_once('/') {
            Some((address, prefix)) => (address.parse().ok()?, Some(prefix)),
            None => (text.parse::<IpAddr>().ok()?, None),
        };
        let width = width(address);
        let prefix = match prefix {
            Some(digits) if digits.bytes().all(|digit| digit.is_ascii_digit()) => {
                digits.parse().ok().filter(|prefix| *prefix <= width)?
            }
            Some(_) => return None,
            None => width,
        };
        let has_host_bits = bits(address) & !mask(width, prefix) != 0;
        (!has_host_bits).then_some(Self { address, prefix })
    }

    pub(super) fn contains(&self, address: IpAddr) -> bool {
        let width = width(self.address);
        let mask = mask(width, self.prefix);
        width == self::width(address) && bits(self.address) & mask == bits(address) & mask
    }
}

fn width(address: IpAddr) -> u8 {
    match address {
        IpAddr::V4(_) => 32,
        IpAddr::V6(_) => 128,
    }
}

fn bits(address: IpAddr) -> u128 {
    match address {
        IpAddr::V4(address) => u128::from(address.to_bits()),
        IpAddr::V6(address) => address.to_bits(),
    }
}

/// The bits of the prefix, in the low `width` bits.
fn mask(width: u8, prefix: u8) -> u128 {
    let host = u32::from(width - prefix);
    let all = u128::MAX >> (128 - u32::from(width));
    all & u128::MAX.checked_shl(host).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::Network;

    #[test]
    fn a_network_contains_the_addresses_of_its_prefix_and_of_its_family() {
        for (network, address, is_in) in [
            ("10.1.0.0/16", "10.1.255.255", true),
            ("10.1.0.0/16", "10.2.0.0", false),
            ("10.1.2.3", "10.1.2.3", true),
            ("10.1.2.3", "10.1.2.4", false),
            ("0.0.0.0/0", "255.255.255.255", true),
            ("0.0.0.0/0", "::", false),
            ("::/0", "ffff::1", true),
            ("::/0", "1.2.3.4", false),
            ("fd00::/8", "fdff::1", true),
            ("fd00::/8", "fe00::1", false),
            ("::1/128", "::1", true),
            ("::1/128", "::2", false),
        ] {
            let read = Network::parse(network).expect("a network");
            let address = address.parse().expect("an address");
            assert_eq!(read.contains(address), is_in, "{network} {address}");
        }
    }

    #[test]
    fn what_is_no_network_is_refused() {
        for text in [
            "",
            "10.1.0.0/",
            "10.1.0.0/33",
            "10.1.0.0/+8",
            "10.1.0.1/16",
            "::/129",
            "fd00::1/8",
            "receiver.test",
            "10.1.0.0/8/8",
            "10.1",
        ] {
            assert_eq!(Network::parse(text), None, "{text}");
        }
    }
}
