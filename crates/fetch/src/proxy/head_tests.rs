//! Tables: what is read as what, and every odd form.

use proptest::prelude::*;

use super::*;

fn connect(target: &str, host: &str) -> Result<Request, Bad> {
    parse(format!("CONNECT {target} HTTP/1.1\r\nHost: {host}\r\n\r\n").as_bytes())
}

fn get(target: &str, headers: &str) -> Result<Request, Bad> {
    parse(format!("GET {target} HTTP/1.1\r\n{headers}\r\n").as_bytes())
}

fn plain(request: Result<Request, Bad>) -> Plain {
    match request {
        Ok(Request::Plain(plain)) => plain,
        other => panic!("{other:?}"),
    }
}

#[test]
fn tunnels_are_read_with_every_spelling_of_their_host() {
    for (target, wanted) in [
        ("a.example:443", "a.example:443"),
        ("A.Example.:443", "a.example:443"),
        ("xn--bcher-kva.example:8443", "xn--bcher-kva.example:8443"),
        ("_srv.a.example:443", "_srv.a.example:443"),
        ("127.0.0.1:80", "127.0.0.1:80"),
        ("2130706433:80", "127.0.0.1:80"),
        ("0x7f.1:80", "127.0.0.1:80"),
        ("0177.0.0.1:80", "127.0.0.1:80"),
        ("[::1]:80", "[::1]:80"),
        ("[0:0:0:0:0:ffff:7f00:1]:80", "[::ffff:7f00:1]:80"),
    ] {
        let tunnel = Request::Tunnel(HostPort::parse(wanted).unwrap());
        assert_eq!(connect(target, target), Ok(tunnel), "{target}");
    }
    assert!(connect("a.example:443", "a.example").is_ok(), "the same without its port");
    // Old clients send no host at all.
    assert!(parse(b"CONNECT a.example:443 HTTP/1.0\r\n\r\n").is_ok());
}

#[test]
fn odd_tunnels_are_refused() {
    for target in [
        "a.example",
        "a.example:",
        "a.example:0",
        "a.example:0443",
        "a.example:+443",
        "a.example:65536",
        "a.example:443:443",
        "a.example:44 3",
        ":443",
        ".:443",
        "a..example:443",
        "-rf:443",
        "a$(id).example:443",
        "a;b:443",
        "a%2eexample:443",
        "user@a.example:443",
        "a.example/:443",
        "http://a.example:443",
        "[::1:80",
        "::1:80",
        "[fe80::1%25eth0]:80",
        "1.2.3.4.5:80",
        "0x100000000:80",
        "b\u{fc}cher.example:443",
    ] {
        assert!(connect(target, target).is_err(), "{target}");
    }
    let long = format!("{}:443", "a.".repeat(200));
    assert!(connect(&long, &long).is_err());
    for host in ["b.example:443", "a.example:80", "", "a.example:443, b.example:443", "a.example@b"]
    {
        assert!(connect("a.example:443", host).is_err(), "{host}");
    }
    for rest in [
        "\r\nHost: a.example:443\r\nHost: a.example:443",
        "",
        "\r\nHost: a.example:443\r\nContent-Length: 5",
        "\r\nHost: a.example:443\r\nTransfer-Encoding: chunked",
    ] {
        let text = format!("CONNECT a.example:443 HTTP/1.1{rest}\r\n\r\n");
        assert!(parse(text.as_bytes()).is_err(), "{rest}");
    }
}

#[test]
fn plain_requests_keep_what_is_theirs_and_lose_what_is_the_hops() {
    let request = plain(get(
        "http://A.example:8080/p/q?x=/y",
        "Host: a.example:8080\r\nAccept: */*\r\nX-Hop: 1\r\nProxy-Authorization: Basic eA==\r\n\
         Connection: keep-alive, X-Hop, Content-Length\r\nContent-Length: 3\r\nTE: trailers\r\n\
         Upgrade: h2c\r\nAuthorization: token t\r\n",
    ));
    assert_eq!(request.target.to_string(), "a.example:8080");
    assert_eq!((request.path.as_str(), request.body), ("/p/q?x=/y", Body::Length(3)));
    let names: Vec<_> = request.headers.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, ["accept", "authorization"]);
    for (target, host, path) in [
        ("http://a.example", "a.example", "/"),
        ("HTTP://a.example/", "a.example:80", "/"),
        ("http://a.example?x", "a.example", "/?x"),
        ("http://[::1]/x", "[::1]", "/x"),
        ("http://a.example/http://b.example/", "a.example", "/http://b.example/"),
    ] {
        let request = plain(get(target, &format!("Host: {host}\r\n")));
        assert_eq!((request.path.as_str(), request.target.port()), (path, 80), "{target}");
    }
    let chunked = get("http://a.example/", "Host: a.example\r\nTransfer-Encoding: Chunked\r\n");
    assert_eq!(plain(chunked).body, Body::Chunked);
}

#[test]
fn odd_plain_requests_are_refused() {
    for target in [
        "/",
        "*",
        "a.example:80",
        "https://a.example/",
        "ftp://a.example/",
        "http:///",
        "http://user@a.example/",
        "http://user:secret@a.example/",
        "http://b.example@a.example/",
        "http://a.example\\@b.example/",
        "http://a.example#@b.example/",
        "http://a.example/#fragment",
        "http://a.example:/",
        "http://a.example:080/",
        "http://a.example:65536/",
        "http://a.example:80@b.example/",
        "http://a.example%00/",
        "http://a.example /",
        "http://a.example/\u{e9}",
        "http://a.example/\u{1}",
    ] {
        assert!(get(target, "Host: a.example\r\n").is_err(), "{target}");
    }
}

#[test]
fn what_two_parsers_could_read_differently_is_refused() {
    for headers in [
        "",
        "Host: b.example\r\n",
        "Host: a.example:81\r\n",
        "Host: a.example\r\nHost: a.example\r\n",
        "Host: a.example\r\nhost: b.example\r\n",
        "Host: a.example, b.example\r\n",
        "Host : a.example\r\n",
        " Host: a.example\r\n",
        "Host: a.example\r\n folded: x\r\n",
        "Host: a.example\r\nX: y\r\n\tfolded\r\n",
        "Host: a.example\nX: y\r\n",
        "Host: a.example\r\nX: y\rHost: b.example\r\n",
        "Host: a.example\r\nX: \0\r\n",
        "Host: a.example\r\nno colon\r\n",
        "Host: a.example\r\n: no name\r\n",
        "Host: a.example\r\nContent-Length: 1\r\nContent-Length: 1\r\n",
        "Host: a.example\r\nContent-Length: 1\r\nContent-Length: 2\r\n",
        "Host: a.example\r\nContent-Length: 1, 1\r\n",
        "Host: a.example\r\nContent-Length: +1\r\n",
        "Host: a.example\r\nContent-Length: 0x1\r\n",
        "Host: a.example\r\nContent-Length: -1\r\n",
        "Host: a.example\r\nContent-Length: \r\n",
        "Host: a.example\r\nContent-Length: 99999999999999999999\r\n",
        "Host: a.example\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n",
        "Host: a.example\r\nTransfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n",
        "Host: a.example\r\nTransfer-Encoding: gzip, chunked\r\n",
        "Host: a.example\r\nTransfer-Encoding: chunked, identity\r\n",
        "Host: a.example\r\nTransfer-Encoding: identity\r\n",
        "Host: a.example\r\nTransfer-Encoding: \u{b}chunked\r\n",
        "Host: a.example\r\nTransfer-Encoding : chunked\r\n",
    ] {
        assert!(get("http://a.example/", headers).is_err(), "{headers:?}");
    }
    for head in [
        "GET  http://a.example/ HTTP/1.1\r\nHost: a.example\r\n\r\n",
        "GET http://a.example/ HTTP/1.1 \r\nHost: a.example\r\n\r\n",
        "GET http://a.example/ HTTP/2.0\r\nHost: a.example\r\n\r\n",
        "GET http://a.example/ HTTP/1.10\r\nHost: a.example\r\n\r\n",
        "GET http://a.example/ http/1.1\r\nHost: a.example\r\n\r\n",
        "GET http://a.example/\r\nHost: a.example\r\n\r\n",
        "\r\nGET http://a.example/ HTTP/1.1\r\nHost: a.example\r\n\r\n",
        "G\u{1}T http://a.example/ HTTP/1.1\r\nHost: a.example\r\n\r\n",
        "POST http://a.example/ HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n",
    ] {
        assert!(parse(head.as_bytes()).is_err(), "{head:?}");
    }
    let many = "X: y\r\n".repeat(MOST_HEADERS + 1);
    assert_eq!(get("http://a.example/", &format!("Host: a.example\r\n{many}")), Err(Bad::TooLong));
}

#[tokio::test]
async fn a_head_is_read_to_its_end_and_no_further() {
    let text = b"GET http://a.example/ HTTP/1.1\r\nHost: a.example\r\n\r\nbody\r\n\r\n";
    let mut buffer = Vec::new();
    let head = read(&mut &text[..], &mut buffer).await.unwrap();
    assert!(head.ends_with(b"example\r\n\r\n"));
    let mut rest = buffer;
    rest.extend_from_slice(&text[head.len() + rest.len()..]);
    assert_eq!(rest, b"body\r\n\r\n");
    assert_eq!(read(&mut &text[..20], &mut Vec::new()).await, Err(Bad::Gone));
    let endless = vec![b'a'; MOST_BYTES * 2];
    assert_eq!(read(&mut &endless[..], &mut Vec::new()).await, Err(Bad::TooLong));
}

proptest! {
    #[test]
    fn any_bytes_are_a_request_or_are_refused(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        let mut head = bytes;
        head.extend_from_slice(b"\r\n\r\n");
        let _either = parse(&head);
    }

    #[test]
    fn a_host_that_is_taken_can_stand_in_a_command_line(host in "[ -~]{1,20}") {
        if let Ok(Request::Tunnel(target)) = connect(&format!("{host}:443"), &format!("{host}:443")) {
            let plain = |c: char| c.is_ascii_alphanumeric() || "-_.:[]".contains(c);
            prop_assert!(target.to_string().chars().all(plain) && !target.to_string().starts_with('-'));
        }
    }
}
