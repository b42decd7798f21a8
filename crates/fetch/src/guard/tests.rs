//! Tables: every disguise, every odd URL, what the operator opens and what nobody can.

use proptest::prelude::*;

use super::{Target, parse_url};
use crate::{FetchConfig, FetchError, HostPort, Mode};

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
    fn any_text_gives_a_url_or_one_short_line(text in any::<String>()) {
        if let Err(error) = parse_url(&text) {
            let line = error.to_string();
            prop_assert!(line.len() <= 512 && !line.contains('\n'));
        }
    }
}
