//! What pages cost: the length of an answer, and memory when they unpack to far more than was sent.

use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::json;

use crate::harness::{PATIENCE, Site, World, answer, ok, wait_until};

/// A line per URL, and no more than its parts: the median over real pages stays below 160 bytes.
#[test]
fn the_answer_of_a_url_is_short() {
    const PAGES: [(&str, &str); 5] = [
        (
            "/stable/std/ops/trait.Drop.html",
            include_str!("../../../fetch/tests/saved/rustdoc.html"),
        ),
        (
            "/book/ch03-01-variables-and-mutability.html",
            include_str!("../../../fetch/tests/saved/mdbook.html"),
        ),
        ("/en/8.1.x/arguments.html", include_str!("../../../fetch/tests/saved/sphinx.html")),
        ("/getting-started/", include_str!("../../../fetch/tests/saved/mkdocs.html")),
        (
            "/apidocs/org/jsoup/nodes/Attribute.html",
            include_str!("../../../fetch/tests/saved/javadoc.html"),
        ),
    ];
    let site = Site::start(|path, _| {
        ok("text/html; charset=utf-8", PAGES.iter().find(|page| page.0 == path).unwrap().1)
    });
    let world = World::outside_of_tmp();
    let mut server = site.serve(&world);
    let requests: Vec<_> = PAGES.iter().map(|(path, _)| site.url(path)).collect();
    let answer = server.call("fetch-index", json!({"requests": requests}));
    let mut lengths: Vec<_> = answer.text.lines().map(str::len).collect();
    lengths.sort_unstable();
    assert_eq!(lengths.len(), PAGES.len(), "{answer:?}");
    assert!(lengths[PAGES.len() / 2] <= 160, "{lengths:?}: {answer:?}");
}

/// Zeros in deflate, by hand: after the first one the longest copy (258 bytes) again and again, 13 bits each.
fn gzip_bomb(mebibytes: usize) -> Vec<u8> {
    let mut bytes = vec![0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 3];
    let (mut held, mut count) = (0u32, 0);
    let mut bits = |value: u32, width: u32| {
        held |= value << count;
        count += width;
        while count >= 8 {
            bytes.push(held as u8);
            (held, count) = (held >> 8, count - 8);
        }
    };
    // The last block, fixed codes; a literal zero. Codes are written from their highest bit.
    bits(0b011, 3);
    bits(0b0000_1100, 8);
    for _ in 0..(mebibytes << 20) / 258 {
        bits(0b1010_0011, 8);
        bits(0, 5);
    }
    bits(0, 7);
    bits(0, 7);
    bytes
}

/// Zeros in zstd, by hand: blocks of 128 KiB that say one byte, the last one marked as such.
fn zstd_bomb(mebibytes: usize) -> Vec<u8> {
    let mut bytes = vec![0x28, 0xb5, 0x2f, 0xfd, 0, 0x50];
    let block = (128u32 << 10) << 3 | 1 << 1;
    for left in (0..mebibytes * 8).rev() {
        bytes.extend(&(block | u32::from(left == 0)).to_le_bytes()[..3]);
        bytes.push(0);
    }
    bytes
}

#[test]
fn many_bombs_at_once_leave_the_server_small() {
    let body = |coding: &str, bytes: &[u8]| {
        let head = format!("Content-Type: text/plain\r\nContent-Encoding: {coding}\r\n");
        answer("200 OK", &head, bytes)
    };
    let (gzip, zstd) = (body("gzip", &gzip_bomb(400)), body("zstd", &zstd_bomb(20_000)));
    let whole = body("zstd", &zstd_bomb(48));
    let sites: Vec<_> = (0..4)
        .map(|_| {
            let (gzip, zstd, whole) = (gzip.clone(), zstd.clone(), whole.clone());
            Site::start(move |path, _| match path {
                "/1" | "/2" => whole.clone(),
                "/gzip" => gzip.clone(),
                "/zstd" => zstd.clone(),
                _ => ok("text/plain", "an honest page\n"),
            })
        })
        .collect();
    let world = World::outside_of_tmp();
    let hosts: Vec<_> = sites.iter().map(|site| format!("\"{}\"", site.host)).collect();
    world.configure(&format!("fetch.allow = [{}]\n", hosts.join(", ")));
    let mut server = world.serve();
    server.initialize();
    // Beyond the cap they end; what stays just below it is whole, and found to be no text.
    for (paths, said) in [
        (["/gzip", "/zstd"], "too large: the unpacked body exceeds 52428800 bytes"),
        (["/1", "/2"], "not text"),
    ] {
        let urls: Vec<_> = sites.iter().flat_map(|site| paths.map(|path| site.url(path))).collect();
        let answer = server.call("fetch-index", json!({"requests": urls, "concurrency": 8}));
        assert_eq!(answer.text.matches(said).count(), urls.len(), "{answer:?}");
        let most = server.status("VmHWM") >> 10;
        assert!(most <= 250, "{most} MiB at the most");
    }
    let honest = server.call("fetch-index", json!({"url": sites[0].url("/honest")}));
    assert!(!honest.is_error && honest.text.contains(" · r:"), "the control: {honest:?}");
}

/// Bodies whose ends are held back: what has been unpacked waits in memory for as long as a server likes.
#[test]
fn large_bodies_that_do_not_end_are_held_a_few_at_a_time() {
    let whole = zstd_bomb(48);
    let (body, end) = whole.split_at(whole.len() - 8);
    let head = "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Encoding: zstd\r\n\
                Connection: close\r\n\r\n";
    let first = [head.as_bytes(), body].concat();
    let held: Arc<Mutex<Vec<TcpStream>>> = Arc::default();
    let hosts: Vec<_> = (0..4)
        .map(|_| {
            let listener = TcpListener::bind("127.0.0.1:0").unwrap();
            let host = listener.local_addr().unwrap().to_string();
            let (held, first) = (Arc::clone(&held), first.clone());
            std::thread::spawn(move || {
                for mut stream in listener.incoming().flatten() {
                    let mut request = [0; 4096];
                    assert!(stream.read(&mut request).is_ok_and(|length| length > 0));
                    stream.write_all(&first).unwrap();
                    held.lock().unwrap().push(stream);
                }
            });
            host
        })
        .collect();
    let world = World::outside_of_tmp();
    let allowed: Vec<_> = hosts.iter().map(|host| format!("\"{host}\"")).collect();
    world.configure(&format!("fetch.allow = [{}]\n", allowed.join(", ")));
    let mut server = world.serve();
    server.initialize();
    let urls: Vec<_> = hosts
        .iter()
        .flat_map(|host| ["1", "2"].map(|path| format!("http://{host}/{path}")))
        .collect();
    server.begin(1, "fetch-index", json!({"requests": urls, "concurrency": 8}));
    wait_until(PATIENCE, || held.lock().unwrap().len() == urls.len()).unwrap();
    let more = wait_until(Duration::from_secs(2), || server.status("VmRSS") >> 10 > 250);
    assert!(more.is_none(), "{} MiB", server.status("VmRSS") >> 10);
    for mut stream in held.lock().unwrap().drain(..) {
        stream.write_all(end).unwrap();
    }
    let answer = server.reply(1);
    assert_eq!(answer.text.matches("not text").count(), urls.len(), "{answer:?}");
}
