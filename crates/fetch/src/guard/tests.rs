//! Tables: every special range, every disguise, every odd URL.

use std::net::IpAddr;

use proptest::prelude::*;

use super::{Class, Reach, Target, classify, parse_url};
use crate::{FetchConfig, FetchError, HostPort, Mode};

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

fn config(mode: Mode, allow: &[&str]) -> FetchConfig {
    let allow = allow.iter().map(|entry| HostPort::parse(entry).unwrap()).collect();
    FetchConfig { mode, allow, ..FetchConfig::default() }
}

fn check(url: &str, config: &FetchConfig) -> Result<Target, FetchError> {
    Target::check(&parse_url(url)?, config)
}

/// Loopback, link-local and metadata in every spelling that reaches a socket somewhere.
#[test]
fn disguised_literals_are_refused_before_anything_is_dialled() {
    let public = config(Mode::Public, &[]);
    for host in [
        "127.0.0.1",
        "127.0.0.1.",
        "127.1",
        "2130706433",
        "0x7f000001",
        "0x7f.1",
        "0177.0.0.1",
        "017700000001",
        "%31%32%37.0.0.1",
        "\u{ff11}\u{ff12}\u{ff17}.0.0.1",
        "127\u{3002}0\u{3002}0\u{3002}1",
        "0",
        "0.0.0.0",
        "169.254.169.254",
        "2852039166",
        "0xa9fea9fe",
        "0251.0376.0251.0376",
        "[::1]",
        "[::]",
        "[::ffff:127.0.0.1]",
        "[::ffff:7f00:1]",
        "[::ffff:169.254.169.254]",
        "[64:ff9b::a9fe:a9fe]",
        "[2002:a9fe:a9fe::]",
        "[fe80::1]",
        "[ff02::1]",
        "224.0.0.1",
        "255.255.255.255",
        "10.0.0.1",
        "[fd00::1]",
    ] {
        let outcome = check(&format!("http://{host}/"), &public);
        assert!(matches!(outcome, Err(FetchError::Refused { .. })), "{host}: {outcome:?}");
    }
    // The positive control: the same check lets public literals through.
    for host in ["1.1.1.1", "[2606:4700::1111]", "docs.example", "16843009"] {
        check(&format!("http://{host}/"), &public).unwrap();
    }
}

#[test]
fn naming_opens_private_addresses_and_nothing_more() {
    let named = config(
        Mode::Public,
        &["localhost:3000", "10.0.0.5:80", "169.254.169.254:80", "intranet.corp:443"],
    );
    check("http://localhost:3000/", &named).unwrap();
    check("http://127.0.0.1:3000/", &named).unwrap();
    check("http://[::1]:3000/", &named).unwrap();
    check("http://10.0.0.5/", &named).unwrap();
    for refused in [
        "http://127.0.0.1:3001/",
        "http://127.0.0.2:3000/",
        "http://[::ffff:127.0.0.1]:3000/",
        "http://10.0.0.5:8080/",
        "http://169.254.169.254/",
    ] {
        assert!(check(refused, &named).is_err(), "{refused}");
    }
    let intranet = check("https://intranet.corp/", &named).unwrap();
    intranet.check_address("10.1.1.1".parse().unwrap()).unwrap();
    for never in ["169.254.169.254", "fe80::1", "224.0.0.1", "0.0.0.0", "fd00:ec2::254"] {
        assert!(intranet.check_address(never.parse().unwrap()).is_err(), "{never}");
    }
    let other = check("https://other.corp/", &named).unwrap();
    assert!(other.check_address("10.1.1.1".parse().unwrap()).is_err());
}

#[test]
fn a_refusal_says_how_the_operator_allows_it() {
    let public = config(Mode::Public, &[]);
    assert_eq!(
        check("http://127.0.0.1:3000/admin?token=x", &public).unwrap_err().to_string(),
        "refused: 127.0.0.1:3000 is a loopback address; the operator can allow it: \
         fetch.allow = [\"127.0.0.1:3000\"] in the user's configuration"
    );
    let localhost = check("http://localhost:3000/", &public).unwrap();
    assert_eq!(
        localhost.check_address("127.0.0.1".parse().unwrap()).unwrap_err().to_string(),
        "refused: localhost:3000 resolves to a loopback address; the operator can allow it: \
         fetch.allow = [\"localhost:3000\"] in the user's configuration"
    );
    assert_eq!(
        check("http://169.254.169.254/latest", &public).unwrap_err().to_string(),
        "refused: 169.254.169.254:80 is a cloud metadata address"
    );
    assert_eq!(
        check("https://docs.example/", &config(Mode::Allowlist, &[])).unwrap_err().to_string(),
        "refused: docs.example:443 is not on the operator's list of hosts; the operator can allow \
         it: fetch.allow = [\"docs.example:443\"] in the user's configuration"
    );
    assert!(matches!(
        check("https://docs.example/", &config(Mode::Off, &[])),
        Err(FetchError::Off)
    ));
}

#[test]
fn allowlist_lets_named_hosts_through() {
    let list = config(Mode::Allowlist, &["docs.example"]);
    check("https://docs.example/x", &list).unwrap();
    check("https://DOCS.example./x", &list).unwrap();
    assert!(check("http://docs.example/x", &list).is_err(), "another port");
    assert!(check("https://a.docs.example/x", &list).is_err(), "another host");
}

#[test]
fn urls_are_parsed_once_and_strictly() {
    let table = [
        ("HTTP://Example.COM:80/a b#frag", Ok("http://example.com/a%20b")),
        ("  https://example.com  ", Ok("https://example.com/")),
        ("http://example.com\\@127.0.0.1/", Ok("http://example.com/@127.0.0.1/")),
        ("http:example.com", Ok("http://example.com/")),
        ("http://b\u{fc}cher.example/", Ok("http://xn--bcher-kva.example/")),
        ("http://user@127.0.0.1:1/", Err("URLs with a user name or password are refused")),
        ("http://user:secret@a.example/", Err("URLs with a user name or password are refused")),
        ("http://127.0.0.1:80@evil.test/", Err("URLs with a user name or password are refused")),
        ("http://:secret@a.example/", Err("URLs with a user name or password are refused")),
        ("http://[fe80::1%25eth0]/", Err("not a URL: its IPv6 address is not valid (zone")),
        ("file:///etc/passwd", Err("only http and https URLs are fetched, not file:")),
        ("localhost:3000/x", Err("only http and https URLs are fetched, not localhost:")),
        ("example.com/x", Err("not a URL: the scheme is missing")),
        ("javascript:alert(1)", Err("only http and https URLs are fetched, not javascript:")),
        ("http://", Err("not a URL: it has no host")),
        ("", Err("not a URL: the scheme is missing")),
        ("http://a.example:99999/", Err("not a URL: its port")),
        ("http://a.example:0/", Err("not a URL: it has no usable host and port")),
        ("http://a.example/\nHost: b", Err("not a URL: it contains control characters")),
        ("http://1.2.3.4.5/", Err("not a URL: its IPv4 address")),
        ("http://0x100000000/", Err("not a URL: its IPv4 address")),
        ("http://a.exa mple/", Err("not a URL: its host name")),
    ];
    for (text, expected) in table {
        let outcome = parse_url(text);
        match (&outcome, expected) {
            (Ok(url), Ok(expected)) => assert_eq!(url.as_str(), expected, "{text}"),
            (Err(error), Err(expected)) => {
                let line = error.to_string();
                assert!(line.starts_with(expected), "{text}: {line}");
                assert!(!line.contains("secret"), "{line}");
            }
            _ => panic!("{text}: {outcome:?}"),
        }
    }
    assert!(parse_url(&format!("http://a.example/{}", "x".repeat(9000))).is_err());
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

    #[test]
    fn any_text_gives_a_url_or_one_short_line(text in any::<String>()) {
        if let Err(error) = parse_url(&text) {
            let line = error.to_string();
            prop_assert!(line.len() <= 512 && !line.contains('\n'));
        }
    }
}
