//! What an IP address is, by the special-purpose registries of IANA, disguises undone.
//!
//! Sources: the IANA IPv4 and IPv6 special-purpose address registries (RFC 6890 and updates),
//! RFC 6052 (NAT64), RFC 3056 (6to4), RFC 4380 (Teredo), RFC 5214 (ISATAP), RFC 7915 (SIIT).

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// What an address is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Class {
    /// Global unicast.
    Public,
    /// 127/8, ::1.
    Loopback,
    /// RFC 1918, unique local, the old site-local, local-use NAT64.
    Private,
    /// 100.64/10, carrier-grade NAT; overlay networks use it too.
    Shared,
    /// 198.18/15 and 2001:2::/48; some local resolvers hand it out as a stand-in.
    Benchmarking,
    /// 169.254/16, fe80::/10.
    LinkLocal,
    /// A cloud provider's metadata or platform service.
    Metadata,
    /// 224/4, ff00::/8.
    Multicast,
    /// 0/8, ::.
    Unspecified,
    /// 255.255.255.255.
    Broadcast,
    /// Documentation and example ranges.
    Documentation,
    /// Everything that no host has: reserved, discard, protocol assignments, unassigned.
    Reserved,
}

/// Who may be asked for an address of a [`Class`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Reach {
    /// Anybody may be.
    Public,
    /// Only a host and port that the operator named.
    Named,
    /// Nobody, whatever the operator says.
    Never,
}

impl Class {
    /// Who may be asked for it.
    pub fn reach(self) -> Reach {
        match self {
            Self::Public => Reach::Public,
            Self::Loopback | Self::Private | Self::Shared | Self::Benchmarking => Reach::Named,
            Self::LinkLocal
            | Self::Metadata
            | Self::Multicast
            | Self::Unspecified
            | Self::Broadcast
            | Self::Documentation
            | Self::Reserved => Reach::Never,
        }
    }

    /// With its article: `a loopback address`.
    pub fn describe(self) -> &'static str {
        match self {
            Self::Public => "a public address",
            Self::Loopback => "a loopback address",
            Self::Private => "a private address",
            Self::Shared => "a shared (carrier-grade NAT) address",
            Self::Benchmarking => "a benchmarking address",
            Self::LinkLocal => "a link-local address",
            Self::Metadata => "a cloud metadata address",
            Self::Multicast => "a multicast address",
            Self::Unspecified => "an unspecified address",
            Self::Broadcast => "the broadcast address",
            Self::Documentation => "a documentation address",
            Self::Reserved => "a reserved address",
        }
    }

    /// The one that fewer may reach.
    fn stricter(self, other: Self) -> Self {
        if other.reach() > self.reach() { other } else { self }
    }
}

/// Classifies an address. IPv4 addresses inside IPv6 ones (mapped, compatible, NAT64, 6to4,
/// Teredo, ISATAP, translated) are classified again.
pub fn classify(address: IpAddr) -> Class {
    match address {
        IpAddr::V4(address) => classify_v4(address),
        IpAddr::V6(address) => classify_v6(address),
    }
}

/// Services of cloud providers at addresses that would pass as public, shared or reserved.
const METADATA_V4: &[Ipv4Addr] = &[
    Ipv4Addr::new(100, 100, 100, 200), // Alibaba
    Ipv4Addr::new(168, 63, 129, 16),   // Azure platform
    Ipv4Addr::new(192, 0, 0, 192),     // Oracle, classic
    Ipv4Addr::new(192, 80, 8, 124),    // Equinix Metal
    Ipv4Addr::new(169, 254, 169, 254), // nearly everybody
    Ipv4Addr::new(169, 254, 170, 2),   // Amazon container credentials
];

#[expect(clippy::match_same_arms, reason = "one arm for each line of the registries")]
fn classify_v4(address: Ipv4Addr) -> Class {
    if METADATA_V4.contains(&address) {
        return Class::Metadata;
    }
    match address.octets() {
        [0, ..] => Class::Unspecified,
        [10, ..] | [172, 16..=31, ..] | [192, 168, ..] => Class::Private,
        [127, ..] => Class::Loopback,
        [100, 64..=127, ..] => Class::Shared,
        [169, 254, ..] => Class::LinkLocal,
        [192, 0, 2, _] | [198, 51, 100, _] | [203, 0, 113, _] => Class::Documentation,
        // 192.0.0/24 protocol assignments; 192.88.99/24 was the 6to4 relay anycast.
        [192, 0, 0, _] | [192, 88, 99, _] => Class::Reserved,
        [198, 18..=19, ..] => Class::Benchmarking,
        [224..=239, ..] => Class::Multicast,
        [255, 255, 255, 255] => Class::Broadcast,
        [240..=255, ..] => Class::Reserved,
        _ => Class::Public,
    }
}

#[expect(clippy::match_same_arms, reason = "one arm for each line of the registries")]
fn classify_v6(address: Ipv6Addr) -> Class {
    let s = address.segments();
    let low = v4(s[6], s[7]);
    match s {
        [0, 0, 0, 0, 0, 0, 0, 0] => Class::Unspecified,
        [0, 0, 0, 0, 0, 0, 0, 1] => Class::Loopback,
        // IPv4-mapped: the kernel dials the IPv4 address.
        [0, 0, 0, 0, 0, 0xffff, ..] => classify_v4(low),
        // IPv4-compatible and IPv4-translated: dead or local mechanisms, never a public host.
        [0, 0, 0, 0, 0 | 0xffff, 0, ..] => {
            match classify_v4(low) {
                Class::Public => Class::Reserved,
                class => class,
            }
        }
        // NAT64, the well-known prefix.
        [0x64, 0xff9b, 0, 0, 0, 0, ..] => classify_v4(low),
        // NAT64 for local use: the operator's own translator, and the IPv4 address sits where the
        // operator's prefix length puts it (RFC 6052, 2.2), so each place counts.
        [0x64, 0xff9b, 1, ..] => [
            low,
            v4(s[3], s[4] << 8 | s[5] >> 8),
            v4(s[3] << 8 | (s[4] & 0xff), s[5]),
            v4(s[4] << 8 | s[5] >> 8, s[5] << 8 | s[6] >> 8),
        ]
        .into_iter()
        .map(classify_v4)
        // A layout that is not in use mostly reads as 0.x.y.z; that says nothing.
        .filter(|class| *class != Class::Unspecified)
        .fold(Class::Private, Class::stricter),
        [0xfd00, 0x0ec2, ..]                            // Amazon
        | [0xfd20, 0x00ce, 0, 0, 0, 0, 0, 0x0254]       // Google
        | [0xfd00, 0x00c1, 0, 0, 0, 0, 0xa9fe, 0xa9fe]  // Oracle
        | [0xfd00, 0x0042, 0, 0, 0, 0, 0, 0x0042]       // Scaleway
        | [0xfe80, 0, 0, 0, 0, 0, 0xa9fe, 0xa9fe] => Class::Metadata,
        [0xfc00..=0xfdff | 0xfec0..=0xfeff, ..] => Class::Private,
        [0xfe80..=0xfebf, ..] => Class::LinkLocal,
        [0xff00..=0xffff, ..] => Class::Multicast,
        // Teredo carries the server's address and, inverted, the client's.
        [0x2001, 0, ..] => classify_v4(v4(s[2], s[3])).stricter(classify_v4(v4(!s[6], !s[7]))),
        [0x2001, 2, 0, ..] => Class::Benchmarking,
        [0x2001, 0x0db8, ..] | [0x3fff, 0..=0x0fff, ..] => Class::Documentation,
        // The rest of 2001::/23: protocol assignments, ORCHID, drone identities.
        [0x2001, 1..=0x1ff, ..] => Class::Reserved,
        // 6to4.
        [0x2002, high, middle, ..] => classify_v4(v4(high, middle)),
        // ISATAP: an IPv4 tunnel end in the interface identifier of any prefix.
        [0x2000..=0x3fff, _, _, _, 0 | 0x0200, 0x5efe, ..] => classify_v4(low),
        [0x2000..=0x3fff, ..] => Class::Public,
        // Outside of 2000::/3 nothing is assigned to hosts: discard-only, SRv6, reserved.
        _ => Class::Reserved,
    }
}

fn v4(high: u16, low: u16) -> Ipv4Addr {
    Ipv4Addr::from(u32::from(high) << 16 | u32::from(low))
}
