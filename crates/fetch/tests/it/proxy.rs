//! The proxy of a box: what passes, what does not, and that it ends.

use std::{
    sync::{Arc, Mutex},
    time::{Duration, Instant},
};

use quietcontext_fetch::proxy::{Permit, ProxyLimits, Why};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::{TcpListener, TcpStream},
};

use super::served::{Served, read_all};
use super::server::{Reply, Server, ok};

async fn wait_until(what: &str, mut condition: impl FnMut() -> bool) {
    let end = Instant::now() + Duration::from_secs(20);
    while !condition() {
        assert!(Instant::now() < end, "{what} does not come true");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

async fn hello() -> Server {
    Server::start(|_, _| Reply::Bytes(ok("text/plain", "hello"))).await
}

#[tokio::test]
async fn what_is_allowed_passes_by_tunnel_and_plainly() {
    let server = hello().await;
    let name = format!("mirror.example:{}", server.port);
    let served = Served::new(&[("mirror.example", &[&["127.0.0.1"]])], &[(&name, Permit::Named)]);
    let answer = served.get(&name, "/p?q").await;
    assert!(answer.starts_with("HTTP/1.1 200 OK\r\n") && answer.ends_with("hello"), "{answer}");
    assert!(answer.contains("Connection: close\r\n"), "{answer}");
    assert_eq!(
        server.heads()[0],
        format!("GET /p?q HTTP/1.1\r\nHost: {name}\r\nConnection: close\r\n\r\n")
    );
    let mut tunnel = served.tunnel(&name).await;
    tunnel.write_all(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n").await.unwrap();
    assert!(read_all(&mut tunnel).await.ends_with("hello"));
    assert_eq!(served.denied(), []);
    assert_eq!(served.names.lookups(), 2, "once for each request");
}

#[tokio::test]
async fn what_is_not_allowed_is_a_403_that_says_what_the_user_can_do() {
    let server = hello().await;
    let (allowed, other) = (server.name(), format!("127.0.0.1:{}", server.port ^ 1));
    let served = Served::new(&[], &[(&allowed, Permit::Named)]);
    for answer in
        [served.connect("api.example:443").await, served.get("api.example:443", "/?secret").await]
    {
        let (head, body) = answer.split_once("\r\n\r\n").unwrap();
        let line = "HTTP/1.1 403 blocked by sandbox: api.example:443 is not on the allowlist";
        assert_eq!(head.lines().next().unwrap(), line);
        assert_eq!(
            body,
            "blocked by sandbox: network: api.example:443 is not on the allowlist\n\
             allowed: the hosts that the user sees with quietcontext allowed\n\
             to allow more the user runs: quietcontext allow api.example\n"
        );
    }
    // Another port of an allowed host is another target.
    assert!(served.connect(&other).await.starts_with("HTTP/1.1 403 "));
    let wanted = [("api.example:443".to_owned(), Why::NotAllowed), (other, Why::NotAllowed)];
    assert_eq!(served.denied(), wanted, "each once, in order");
    assert_eq!((served.names.lookups(), server.hits()), (0, 0), "nothing was looked up or dialled");
    served.get(&allowed, "/").await;
    assert_eq!(server.hits(), 1, "the control");
}

#[tokio::test]
async fn names_that_lead_to_this_machine_or_its_network_are_refused() {
    let server = hello().await;
    let port = server.port;
    for (address, public, private, named) in [
        ("127.0.0.1", false, false, true),
        ("127.0.0.1,203.0.113.1", false, false, false),
        ("::ffff:127.0.0.1", false, false, true),
        ("169.254.169.254", false, false, false),
        ("fd00:ec2::254", false, false, false),
        ("fe80::1", false, false, false),
        ("0.0.0.0", false, false, false),
        ("224.0.0.1", false, false, false),
    ] {
        for (permit, passes) in
            [(Permit::Public, public), (Permit::Private, private), (Permit::Named, named)]
        {
            let name = format!("sly.example:{port}");
            let addresses: Vec<_> = address.split(',').collect();
            let lists: &[&[&str]] = &[&addresses];
            let served = Served::new(&[("sly.example", lists)], &[(&name, permit)]);
            let before = server.hits();
            let answer = served.get(&name, "/").await;
            let wanted = if passes { "HTTP/1.1 200 " } else { "HTTP/1.1 403 blocked by sandbox: " };
            assert!(answer.starts_with(wanted), "{address} {permit:?}: {answer}");
            assert_eq!(server.hits() - before, usize::from(passes), "{address} {permit:?}");
            assert!(served.connect(&name).await.starts_with(&wanted[..12]), "{address} {permit:?}");
            assert_eq!(served.attached.denied().is_empty(), passes, "{address} {permit:?}");
        }
    }
}

/// That a person could allow it would be untrue.
#[tokio::test]
async fn what_nobody_can_allow_says_so_also_where_it_is_not_on_the_list() {
    let served = Served::new(&[], &[]);
    for (target, class) in [
        ("169.254.169.254:80", "a cloud metadata address"),
        ("[fe80::1]:443", "a link-local address"),
        ("0.0.0.0:80", "an unspecified address"),
    ] {
        let answer = served.connect(target).await;
        assert!(answer.contains(&format!("{target} is {class}")), "{answer}");
        assert!(!answer.contains("quietcontext allow "), "{answer}");
    }
    // The control.
    assert!(served.connect("127.0.0.1:80").await.contains("quietcontext allow 127.0.0.1:80"));
}

#[tokio::test]
async fn one_private_address_among_public_ones_refuses_the_name() {
    let lists: &[&[&str]] = &[&["1.1.1.1", "10.0.0.1"]];
    let served = Served::new(&[("mixed.example", lists)], &[("mixed.example:443", Permit::Public)]);
    let answer = served.connect("mixed.example:443").await;
    assert!(answer.contains("mixed.example:443 resolves to a private address"), "{answer}");
    assert!(answer.ends_with("the user runs: quietcontext allow mixed.example\n"), "{answer}");
}

#[tokio::test]
async fn every_spelling_of_an_address_is_that_address() {
    let server = hello().await;
    let (port, named) = (server.port, server.name());
    let spellings = ["127.0.0.1", "127.1", "2130706433", "0x7f000001", "0177.0.0.1", "127.0.0.1."];
    for host in spellings {
        let name = format!("{host}:{port}");
        let served = Served::new(&[], &[]);
        let answer = served.connect(&name).await;
        assert!(answer.starts_with("HTTP/1.1 403 "), "{name}: {answer}");
        assert_eq!(served.denied(), [(named.clone(), Why::NotAllowed)], "{name}");
        // Permitted as a public host it still is what it is.
        served.list.add(&named, Permit::Private);
        let answer = served.get(&name, "/").await;
        assert!(answer.contains(&format!("{named} is a loopback address")), "{name}: {answer}");
    }
    assert_eq!(server.hits(), 0);
    for host in spellings {
        let served = Served::new(&[], &[(&named, Permit::Named)]);
        assert!(served.get(&format!("{host}:{port}"), "/").await.ends_with("hello"), "{host}");
    }
    assert_eq!(server.hits(), spellings.len(), "the control");
}

#[tokio::test]
async fn a_name_that_changes_after_the_check_is_dialled_where_it_was_checked() {
    let server = hello().await;
    let name = format!("rebind.example:{}", server.port);
    let lists: &[&[&str]] = &[&["127.0.0.1"], &["169.254.169.254"]];
    let served = Served::new(&[("rebind.example", lists)], &[(&name, Permit::Named)]);
    assert!(served.get(&name, "/").await.ends_with("hello"));
    assert_eq!(served.names.lookups(), 1, "one lookup, nothing to change in between");
    assert!(served.get(&name, "/").await.contains("resolves to a cloud metadata address"));
    assert_eq!((served.names.lookups(), server.hits()), (2, 1));
}

#[tokio::test]
async fn a_host_header_that_lies_is_refused_before_anything_is_looked_up() {
    let server = hello().await;
    let name = server.name();
    let served = Served::new(&[], &[(&name, Permit::Named), ("good.example:443", Permit::Named)]);
    for text in [
        "CONNECT evil.example:443 HTTP/1.1\r\nHost: good.example:443\r\n\r\n".to_owned(),
        format!("CONNECT {name} HTTP/1.1\r\nHost: good.example:443\r\n\r\n"),
        format!("CONNECT {name} HTTP/1.1\r\nHost: {name}\r\nHost: evil.example\r\n\r\n"),
        format!("GET http://{name}/ HTTP/1.1\r\nHost: evil.example\r\n\r\n"),
        format!("GET http://{name}/ HTTP/1.1\r\nHost: {name}\r\nHost: evil.example\r\n\r\n"),
        format!("GET / HTTP/1.1\r\nHost: {name}\r\n\r\n"),
        format!("GET http://user@{name}/ HTTP/1.1\r\nHost: {name}\r\n\r\n"),
        format!("GET http://{name}/ HTTP/1.1\r\nHost: {name}\r\n X: folded\r\n\r\n"),
        format!("GET http://{name}/ HTTP/1.1\nHost: {name}\n\n\r\n\r\n"),
        format!(
            "POST http://{name}/ HTTP/1.1\r\nHost: {name}\r\nContent-Length: 4\r\n\
             Transfer-Encoding: chunked\r\n\r\n0\r\n\r\nGET /second HTTP/1.1\r\n\r\n"
        ),
    ] {
        let answer = served.say(&text).await;
        assert!(answer.starts_with("HTTP/1.1 400 Bad Request\r\n"), "{text}: {answer}");
    }
    assert_eq!((served.names.lookups(), server.hits()), (0, 0));
    assert!(served.get(&name, "/").await.ends_with("hello"), "the control");
}

#[tokio::test]
async fn a_connection_carries_one_plain_request_and_no_second() {
    let (server, other) = (hello().await, hello().await);
    let name = server.name();
    let served = Served::new(&[], &[(&name, Permit::Named)]);
    let get = format!(
        "GET http://{name}/first HTTP/1.1\r\nHost: {name}\r\nConnection: keep-alive\r\n\r\n"
    );
    let post =
        format!("POST http://{name}/first HTTP/1.1\r\nHost: {name}\r\nContent-Length: 2\r\n\r\nok");
    let chunked = format!(
        "POST http://{name}/first HTTP/1.1\r\nHost: {name}\r\nTransfer-Encoding: chunked\r\n\r\n\
         2\r\nok\r\n0\r\n\r\n"
    );
    for first in [&get, &post, &chunked] {
        for second in [
            format!(
                "GET http://{}/second HTTP/1.1\r\nHost: {}\r\n\r\n",
                other.name(),
                other.name()
            ),
            "GET /second HTTP/1.1\r\nHost: evil.example\r\n\r\n".to_owned(),
        ] {
            let before = server.heads().len();
            let answer = served.say(&format!("{first}{second}")).await;
            assert_eq!(answer.matches("HTTP/1.1 ").count(), 1, "{answer}");
            assert!(
                answer.contains("Connection: close\r\n") && answer.ends_with("hello"),
                "{answer}"
            );
            let heads = server.heads();
            assert_eq!(heads.len(), before + 1);
            assert!(!heads.concat().contains("second"), "{heads:?}");
        }
    }
    assert_eq!(other.hits(), 0);
}

#[tokio::test]
async fn bodies_pass_in_both_framings_and_interim_answers_as_well() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let name = format!("127.0.0.1:{}", listener.local_addr().unwrap().port());
    let got = tokio::spawn(async move {
        let mut all = Vec::new();
        for wanted in ["hello", "0\r\n\r\n"] {
            let (mut stream, _) = listener.accept().await.unwrap();
            let mut text = Vec::new();
            while !text.ends_with(wanted.as_bytes()) {
                if stream.read_buf(&mut text).await.unwrap() == 0 {
                    break;
                }
                if text.ends_with(b"\r\n\r\n") && !text.ends_with(b"0\r\n\r\n") {
                    stream.write_all(b"HTTP/1.1 100 Continue\r\n\r\n").await.unwrap();
                }
            }
            stream.write_all(b"HTTP/1.1 204 Done\r\nKeep-Alive: timeout=5\r\n\r\n").await.unwrap();
            all.push(String::from_utf8(text).unwrap());
        }
        all
    });
    let served = Served::new(&[], &[(&name, Permit::Named)]);
    for (framing, body) in
        [("Content-Length: 5", "hello"), ("Transfer-Encoding: chunked", "5\r\nhello\r\n0\r\n\r\n")]
    {
        let mut client = served.client().await;
        let head = format!(
            "PUT http://{name}/x HTTP/1.1\r\nHost: {name}\r\nExpect: 100-continue\r\n{framing}\r\n\r\n"
        );
        client.write_all(head.as_bytes()).await.unwrap();
        let mut interim = [0; 25];
        client.read_exact(&mut interim).await.unwrap();
        assert_eq!(&interim, b"HTTP/1.1 100 Continue\r\n\r\n");
        client.write_all(body.as_bytes()).await.unwrap();
        let answer = read_all(&mut client).await;
        assert_eq!(answer, "HTTP/1.1 204 Done\r\nConnection: close\r\n\r\n");
    }
    let got = got.await.unwrap();
    assert!(
        got[0].contains("content-length: 5") || got[0].contains("Content-Length: 5"),
        "{got:?}"
    );
    assert!(got[1].ends_with("\r\n\r\n5\r\nhello\r\n0\r\n\r\n"), "{got:?}");
}

#[tokio::test]
async fn a_server_that_does_not_answer_is_a_502() {
    let garbage = Server::start(|_, _| Reply::Bytes(b"SSH-2.0-x\r\n\r\n".to_vec())).await;
    let gone = Server::start(|_, _| Reply::Bytes(Vec::new())).await;
    let closed = TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap().to_string();
    let names = [garbage.name(), gone.name(), closed];
    for name in &names {
        let served = Served::new(&[], &[(name, Permit::Named), ("none.example:80", Permit::Named)]);
        let answer = served.get(name, "/").await;
        assert!(answer.starts_with("HTTP/1.1 502 Bad Gateway\r\n"), "{answer}");
        let answer = served.get("none.example", "/").await;
        assert!(answer.contains("none.example:80: the name has no address"), "{answer}");
        assert_eq!(served.denied(), [], "nothing was refused");
    }
}

#[tokio::test]
async fn slow_and_endless_heads_are_cut_off() {
    let limits = ProxyLimits { head: Duration::from_millis(200), ..ProxyLimits::default() };
    let served = Served::bounded(&[], &[], limits);
    let mut slow = served.client().await;
    slow.write_all(b"CONNECT a.example:443 HT").await.unwrap();
    let started = Instant::now();
    assert!(read_all(&mut slow).await.starts_with("HTTP/1.1 408 "));
    assert!(started.elapsed() < Duration::from_secs(10));
    let mut endless = served.client().await;
    let line = b"X-Endless: 0123456789012345678901234567890123456789\r\n";
    endless.write_all(b"GET http://a.example/ HTTP/1.1\r\n").await.unwrap();
    let mut sent = 0;
    while sent < 1 << 20 && endless.write_all(line).await.is_ok() {
        sent += line.len();
    }
    let answer = read_all(&mut endless).await;
    assert!(answer.is_empty() || answer.starts_with("HTTP/1.1 431 "), "{answer}");
    assert!(served.connect("a.example:443").await.starts_with("HTTP/1.1 403 "), "it goes on");
}

#[tokio::test]
async fn many_connections_of_one_box_do_not_take_the_others() {
    let limits =
        ProxyLimits { connections: 4, head: Duration::from_mins(1), ..ProxyLimits::default() };
    let served = Served::bounded(&[], &[], limits);
    let mut idle = Vec::new();
    for _ in 0..40 {
        idle.push(served.client().await);
    }
    // The next one waits until there is room.
    let waiting = served.connect("a.example:443");
    tokio::pin!(waiting);
    let early = tokio::time::timeout(Duration::from_millis(200), &mut waiting).await;
    assert!(early.is_err(), "there are four at one time: {early:?}");
    let other = Served::new(&[], &[]);
    assert!(other.connect("a.example:443").await.starts_with("HTTP/1.1 403 "));
    idle.clear();
    assert!(waiting.await.starts_with("HTTP/1.1 403 "));
}

#[tokio::test]
async fn what_one_side_leaves_the_other_notices() {
    let server = Server::start(|_, _| Reply::Stall(b"HTTP/1.1 200 OK\r\n\r\n".to_vec())).await;
    let name = server.name();
    let limits = ProxyLimits { idle: Duration::from_millis(300), ..ProxyLimits::default() };
    let served = Served::new(&[], &[(&name, Permit::Named)]);
    let brief = Served::bounded(&[], &[(&name, Permit::Named)], limits);
    // A client that dies in a tunnel, and one in the middle of an answer.
    let mut dying = served.tunnel(&name).await;
    dying.write_all(b"GET / HTTP/1.1\r\n\r\n").await.unwrap();
    wait_until("the request", || server.hits() == 1).await;
    dying.set_zero_linger().unwrap();
    drop(dying);
    wait_until("the end of the tunnel", || server.gone() == 1).await;
    // A tunnel on which nothing moves.
    let mut quiet = brief.tunnel(&name).await;
    quiet.write_all(b"GET / HTTP/1.1\r\n\r\n").await.unwrap();
    assert_eq!(read_all(&mut quiet).await, "HTTP/1.1 200 OK\r\n\r\n");
    wait_until("the end of the quiet tunnel", || server.gone() == 2).await;
    // Dropping the box's end drops everything.
    let mut open = served.tunnel(&name).await;
    open.write_all(b"GET / HTTP/1.1\r\n\r\n").await.unwrap();
    wait_until("the third request", || server.heads().len() == 3).await;
    let port = served.port;
    drop(served);
    wait_until("the end of the open tunnel", || server.gone() == 3).await;
    assert!(read_all(&mut open).await.len() < 100);
    let end = Instant::now() + Duration::from_secs(20);
    while TcpStream::connect(("127.0.0.1", port)).await.is_ok() {
        assert!(Instant::now() < end, "the listener is still there");
    }
}

#[tokio::test]
async fn a_handshake_for_another_host_does_not_leave_the_tunnel() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let name = format!("front.example:{}", listener.local_addr().unwrap().port());
    let got = Arc::new(Mutex::new(Vec::new()));
    let seen = Arc::clone(&got);
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let mut bytes = Vec::new();
            let _end = stream.read_to_end(&mut bytes).await;
            seen.lock().unwrap().push(bytes);
        }
    });
    let served = Served::new(&[("front.example", &[&["127.0.0.1"]])], &[(&name, Permit::Named)]);
    for (host, passes) in [("front.example", true), ("hidden.example", false)] {
        let mut tunnel = served.tunnel(&name).await;
        for piece in client_hello(host).chunks(50) {
            if tunnel.write_all(piece).await.is_err() {
                break;
            }
        }
        let _gone = tunnel.shutdown().await;
        assert_eq!(read_all(&mut tunnel).await, "");
        wait_until("the server's end", || !got.lock().unwrap().is_empty()).await;
        let bytes = got.lock().unwrap().pop().unwrap();
        assert_eq!(
            bytes == client_hello(host)[..bytes.len()] && !bytes.is_empty(),
            passes,
            "{host}"
        );
        assert_eq!(served.denied().len(), usize::from(!passes));
    }
    assert_eq!(served.denied(), [(name, Why::OtherName)]);
}

/// A small handshake with this server name and nothing else that matters.
fn client_hello(name: &str) -> Vec<u8> {
    let short = |bytes: &[u8]| [&(bytes.len() as u16).to_be_bytes(), bytes].concat();
    let names = short(&[&[0], short(name.as_bytes()).as_slice()].concat());
    let extensions = short(&[&[0, 0], short(&names).as_slice()].concat());
    let body = [&[3, 3][..], &[7; 32], &[0], &short(&[0x13, 1]), &[1, 0], &extensions].concat();
    let message = [&[1, 0][..], &short(&body)].concat();
    [&[22, 3, 1][..], &short(&message)].concat()
}
