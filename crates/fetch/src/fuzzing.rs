//! What holds for any page, address and proxy request: the fuzzer tries it, the tests replay it.

#![expect(clippy::missing_panics_doc, reason = "a panic is how a property fails")]

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use url::Host;

use crate::decode::{Inside, decode};
use crate::guard::{Reach, Target, classify};
use crate::{FetchConfig, Mode, html_to_markdown, parse_url};

pub use crate::proxy::fuzzing::{proxy_body, proxy_head, proxy_hello};

/// A page becomes text of its own letters, a short title and notes of one line, twice the same.
pub fn html(data: &[u8]) {
    let page = decode(data.to_vec(), None, Inside::Html, None).text;
    let markdown = html_to_markdown(&page, None);
    let again = html_to_markdown(&page, None);
    assert_eq!((&markdown.title, &markdown.text), (&again.title, &again.text));
    if let Some(title) = &markdown.title {
        assert!(!title.is_empty() && title.chars().count() <= 200, "{title:?}");
        assert!(!title.chars().any(char::is_control), "{title:?}");
    }
    assert!(markdown.notes.iter().all(|note| !note.contains('\n')), "{:?}", markdown.notes);
    let letters = |text: &str| text.chars().filter(|c| c.is_alphabetic()).count();
    let small = page.to_ascii_lowercase();
    // Addresses are written in another way than the page has them.
    let most = if small.contains("href") || small.contains("src") || small.contains("refresh") {
        letters(&page) * 12
    } else {
        letters(&page)
    };
    let pictures = small.matches("<im").count() * "image".len();
    assert!(letters(&markdown.text) <= most + pictures, "{}", markdown.text);
}

/// No spelling of an address that is not public passes, neither as a URL nor as a number; what is
/// refused is refused in one short line.
pub fn address(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    let public = FetchConfig { mode: Mode::Public, ..FetchConfig::default() };
    let target = parse_url(&text).and_then(|url| {
        assert!(matches!(url.scheme(), "http" | "https"), "{url}");
        assert!(url.username().is_empty() && url.password().is_none(), "{url}");
        Target::check(&url, &public)
    });
    match target {
        Ok(target) => match &target.host {
            Host::Ipv4(address) => assert!(!special((*address).into()), "{text:?}: {address}"),
            Host::Ipv6(address) => assert!(!special((*address).into()), "{text:?}: {address}"),
            Host::Domain(name) => {
                assert!(!is_number(name), "{text:?} passes as the name {name:?}");
                let plain = |c: char| c.is_ascii_graphic() && !"/\\?#@:[]%<>^|".contains(c);
                assert!(name.chars().all(plain), "{text:?} passes as the name {name:?}");
            }
        },
        Err(error) => {
            let line = error.to_string();
            assert!(line.len() <= 512 && !line.contains('\n'), "{line:?}");
        }
    }
    if let Some(octets) = data.first_chunk::<4>() {
        passes(Ipv4Addr::from_octets(*octets).into());
    }
    if let Some(octets) = data.first_chunk::<16>() {
        passes(Ipv6Addr::from_octets(*octets).into());
    }
}

/// What is classified as public is not special by the list below.
fn passes(address: IpAddr) {
    if classify(address).reach() == Reach::Public {
        assert!(!special(address), "{address} passes");
    }
}

/// Networks that hold no public host, written once more as networks; the guard has them as patterns.
const SPECIAL: &[([u8; 4], u32)] = &[
    ([0, 0, 0, 0], 8),
    ([10, 0, 0, 0], 8),
    ([100, 64, 0, 0], 10),
    ([127, 0, 0, 0], 8),
    ([168, 63, 129, 16], 32),
    ([169, 254, 0, 0], 16),
    ([172, 16, 0, 0], 12),
    ([192, 0, 0, 0], 24),
    ([192, 0, 2, 0], 24),
    ([192, 88, 99, 0], 24),
    ([192, 168, 0, 0], 16),
    ([198, 18, 0, 0], 15),
    ([198, 51, 100, 0], 24),
    ([203, 0, 113, 0], 24),
    ([224, 0, 0, 0], 3),
];

fn special(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => SPECIAL.iter().any(|(network, bits)| {
            (address.to_bits() ^ u32::from_be_bytes(*network)) >> (32 - bits) == 0
        }),
        IpAddr::V6(address) => special_v6(address),
    }
}

/// By network: which hold hosts at all, and which carry an IPv4 address where.
fn special_v6(address: Ipv6Addr) -> bool {
    let bits = address.to_bits();
    let within = |network: &str, length: u32| {
        let network: Result<Ipv6Addr, _> = network.parse();
        network.is_ok_and(|network| (network.to_bits() ^ bits) >> (128 - length) == 0)
    };
    let embedded = |bits: u128| special(Ipv4Addr::from_bits(bits as u32).into());
    if within("::ffff:0:0", 96) || within("64:ff9b::", 96) {
        embedded(bits)
    } else if within("2001::", 32) {
        embedded(bits >> 64) || embedded(!bits)
    } else if within("2002::", 16) {
        embedded(bits >> 80)
    } else {
        let reserved = within("2001::", 23) || within("2001:db8::", 32) || within("3fff::", 20);
        let isatap = matches!(bits >> 32 & 0xffff_ffff, 0x5efe | 0x0200_5efe);
        reserved || !within("2000::", 3) || (isatap && embedded(bits))
    }
}

/// Whether old resolvers read a name as an IPv4 address: one to four numbers of base 8, 10 or 16.
fn is_number(name: &str) -> bool {
    let parts: Vec<&str> = name.strip_suffix('.').unwrap_or(name).split('.').collect();
    let number = |part: &&str| match part.strip_prefix("0x").or(part.strip_prefix("0X")) {
        Some(digits) => digits.bytes().all(|byte| byte.is_ascii_hexdigit()),
        None => !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit()),
    };
    parts.len() <= 4 && parts.iter().all(number)
}

#[cfg(test)]
#[path = "../../../fuzz/replay.rs"]
mod replay;

#[cfg(test)]
mod tests {
    use super::replay::replay;
    use super::*;

    #[test]
    fn any_page_becomes_text() {
        replay("html", html);
    }

    #[test]
    fn no_spelling_of_a_special_address_passes() {
        replay("address", address);
        assert!(special([10, 0, 0, 1].into()) && !special([8, 8, 8, 8].into()));
        assert!(is_number("0x7f.1.") && !is_number("a.example"));
    }

    #[test]
    fn any_head_is_a_request_or_refused() {
        replay("proxy_head", proxy_head);
    }

    #[test]
    fn any_chunked_body_ends_where_it_ends() {
        replay("proxy_body", proxy_body);
    }

    #[test]
    fn any_handshake_is_judged_once() {
        replay("proxy_hello", proxy_hello);
    }
}
