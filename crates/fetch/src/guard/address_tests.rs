//! Tables: every special range of the registries, at its edges and inside of other addresses.

use std::net::IpAddr;

use proptest::prelude::*;

use super::{Class, Reach, classify};

const ADDRESSES: &[(&str, Class)] = &[
    ("1.1.1.1", Class::Public),
    ("8.8.8.8", Class::Public),
    ("9.255.255.255", Class::Public),
    ("11.0.0.0", Class::Public),
    ("172.15.255.255", Class::Public),
    ("172.32.0.0", Class::Public),
    ("192.167.255.255", Class::Public),
    ("100.63.255.255", Class::Public),
    ("100.128.0.0", Class::Public),
    ("198.17.255.255", Class::Public),
    ("198.20.0.0", Class::Public),
    ("223.255.255.255", Class::Public),
    ("0.0.0.0", Class::Unspecified),
    ("0.1.2.3", Class::Unspecified),
    ("10.0.0.0", Class::Private),
    ("10.255.255.255", Class::Private),
    ("172.16.0.0", Class::Private),
    ("172.31.255.255", Class::Private),
    ("192.168.0.1", Class::Private),
    ("127.0.0.1", Class::Loopback),
    ("127.255.255.254", Class::Loopback),
    ("100.64.0.1", Class::Shared),
    ("100.127.255.255", Class::Shared),
    ("100.100.100.200", Class::Metadata),
    ("168.63.129.16", Class::Metadata),
    ("169.254.0.1", Class::LinkLocal),
    ("169.254.169.254", Class::Metadata),
    ("192.0.0.192", Class::Metadata),
    ("192.80.8.124", Class::Metadata),
    ("192.0.0.8", Class::Reserved),
    ("192.0.2.1", Class::Documentation),
    ("198.51.100.1", Class::Documentation),
    ("203.0.113.1", Class::Documentation),
    ("192.88.99.1", Class::Reserved),
    ("198.18.0.1", Class::Benchmarking),
    ("198.19.255.255", Class::Benchmarking),
    ("224.0.0.1", Class::Multicast),
    ("239.255.255.255", Class::Multicast),
    ("240.0.0.1", Class::Reserved),
    ("255.255.255.254", Class::Reserved),
    ("255.255.255.255", Class::Broadcast),
    ("::", Class::Unspecified),
    ("::1", Class::Loopback),
    ("::2", Class::Unspecified),
    ("::127.0.0.1", Class::Loopback),
    ("::169.254.169.254", Class::Metadata),
    ("::8.8.8.8", Class::Reserved),
    ("::ffff:127.0.0.1", Class::Loopback),
    ("::ffff:10.1.2.3", Class::Private),
    ("::ffff:169.254.169.254", Class::Metadata),
    ("::ffff:8.8.8.8", Class::Public),
    ("::ffff:0:127.0.0.1", Class::Loopback),
    ("::ffff:0:8.8.8.8", Class::Reserved),
    ("64:ff9b::8.8.8.8", Class::Public),
    ("64:ff9b::127.0.0.1", Class::Loopback),
    ("64:ff9b::169.254.169.254", Class::Metadata),
    ("64:ff9b::10.0.0.1", Class::Private),
    ("64:ff9b:1::8.8.8.8", Class::Private),
    ("64:ff9b:1::169.254.169.254", Class::Metadata),
    ("64:ff9b:1:a9fe:a9:fe00::", Class::Metadata),
    ("64:ff9b:1:a9:fe:a9fe::", Class::Metadata),
    // Metadata in the /64 layout; its low half reads as 254.0.0.0, which is as unreachable.
    ("64:ff9b:1:0:a9:fea9:fe00:0", Class::Reserved),
    ("64:ff9b:2::1", Class::Reserved),
    ("100::1", Class::Reserved),
    ("100:0:0:1::1", Class::Reserved),
    ("2001::1", Class::Unspecified),
    // Teredo: server 8.8.8.8, client 8.8.4.4; then client 127.0.0.1; then server 10.0.0.1.
    ("2001:0:808:808:0:0:f7f7:fbfb", Class::Public),
    ("2001:0:808:808:0:0:80ff:fffe", Class::Loopback),
    ("2001:0:808:808:0:0:5601:5601", Class::Metadata),
    ("2001:0:a00:1:0:0:f7f7:fbfb", Class::Private),
    ("2001:1::1", Class::Reserved),
    ("2001:2::1", Class::Benchmarking),
    ("2001:20::1", Class::Reserved),
    ("2001:db8::1", Class::Documentation),
    ("3fff::1", Class::Documentation),
    ("3fff:1000::1", Class::Public),
    ("2001:4860:4860::8888", Class::Public),
    ("2606:4700::1111", Class::Public),
    ("2002:808:808::1", Class::Public),
    ("2002:7f00:1::1", Class::Loopback),
    ("2002:a9fe:a9fe::", Class::Metadata),
    ("2002:c0a8:101::1", Class::Private),
    ("2a00:1450::5efe:10.0.0.1", Class::Private),
    ("2a00:1450:0:0:200:5efe:127.0.0.1", Class::Loopback),
    ("2a00:1450:0:0:0:5efe:8.8.8.8", Class::Public),
    ("5f00::1", Class::Reserved),
    ("4000::1", Class::Reserved),
    ("fc00::1", Class::Private),
    ("fd12:3456::1", Class::Private),
    ("fd00:ec2::254", Class::Metadata),
    ("fd20:ce::254", Class::Metadata),
    ("fd00:c1::a9fe:a9fe", Class::Metadata),
    ("fd00:42::42", Class::Metadata),
    ("fe80::1", Class::LinkLocal),
    ("febf:ffff::1", Class::LinkLocal),
    ("fe80::a9fe:a9fe", Class::Metadata),
    ("fec0::1", Class::Private),
    ("ff02::1", Class::Multicast),
    ("ff0e::1", Class::Multicast),
];

#[test]
fn every_special_range_has_its_class() {
    for (text, expected) in ADDRESSES {
        let address: IpAddr = text.parse().unwrap();
        assert_eq!(classify(address), *expected, "{text}");
    }
}

proptest! {
    #[test]
    fn a_mapped_address_is_what_it_maps(bits: u32) {
        let v4 = std::net::Ipv4Addr::from(bits);
        prop_assert_eq!(classify(v4.to_ipv6_mapped().into()), classify(v4.into()));
    }

    /// The standard library's predicates are an independent, smaller list.
    #[test]
    fn nothing_special_passes_as_public(bits: u32) {
        let v4 = std::net::Ipv4Addr::from(bits);
        let special = v4.is_private() || v4.is_loopback() || v4.is_link_local()
            || v4.is_multicast() || v4.is_broadcast() || v4.is_documentation()
            || v4.is_unspecified();
        prop_assert!(!special || classify(v4.into()).reach() != Reach::Public);
    }
}
