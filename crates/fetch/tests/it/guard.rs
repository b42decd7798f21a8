//! No connection to anything that is not allowed, at any hop.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use quietcontext_fetch::{FetchConfig, FetchError, Fetcher, Mode, Outcome};

use super::server::{Names, Reply, Server, config, fetch, fetcher, ok, response};

/// A server that redirects `/` to `location` with `status`.
async fn redirecting(status: u16, location: String) -> Server {
    Server::start(move |_, _| {
        Reply::Bytes(response(&format!("{status} Moved\nLocation: {location}"), ""))
    })
    .await
}

async fn secret() -> Server {
    Server::start(|_, _| Reply::Bytes(ok("text/plain", "secret"))).await
}

#[tokio::test]
async fn a_redirect_into_any_private_form_is_refused_without_a_connection() {
    let secret = secret().await;
    let port = secret.port;
    for target in [
        format!("http://127.0.0.1:{port}/"),
        format!("//127.0.0.1:{port}/"),
        format!("http://127.1:{port}/"),
        format!("http://2130706433:{port}/"),
        format!("http://0x7f.0.0.1:{port}/"),
        format!("http://0177.0.0.1:{port}/"),
        format!("http://127.0.0.1.:{port}/"),
        format!("http://0:{port}/"),
        format!("http://[::1]:{port}/"),
        format!("http://[::ffff:127.0.0.1]:{port}/"),
        format!("http://[64:ff9b::127.0.0.1]:{port}/"),
        format!("http://[2002:7f00:1::]:{port}/"),
        format!("http://localhost:{port}/"),
        "http://169.254.169.254/latest/meta-data/".to_owned(),
        "http://[fd00:ec2::254]/".to_owned(),
        "http://10.0.0.1/".to_owned(),
        "http://192.168.1.1/".to_owned(),
        "http://100.64.0.1/".to_owned(),
        "http://[fe80::1]/".to_owned(),
        "http://0.0.0.0/".to_owned(),
        "http://224.0.0.1/".to_owned(),
    ] {
        let first = redirecting(302, target.clone()).await;
        let names = Names::new(&[("localhost", &[&["127.0.0.1", "::1"]])]);
        let fetcher = Fetcher::new(config(&[&first.name()]), names);
        let error = fetch(&fetcher, &first.url("/")).await.unwrap_err();
        assert!(matches!(error, FetchError::Refused { .. }), "{target}: {error:?}");
        assert!(error.to_string().contains("(redirected there)"), "{error}");
        assert_eq!((first.hits(), secret.hits()), (1, 0), "{target}");
    }
}

#[tokio::test]
async fn odd_redirects_end_with_a_reason() {
    for (status, location, said) in [
        (302, "file:///etc/passwd", "redirect not followed: only http and https URLs"),
        (307, "ftp://a.example/", "redirect not followed: only http and https URLs"),
        (301, "http://u:p@a.example/", "redirect not followed: URLs with a user name"),
        (308, "http://[fe80::1%25eth0]/", "redirect not followed: its Location is not a URL"),
        (303, "http://", "redirect not followed: its Location is not a URL"),
        (302, "/", "redirect not followed: it goes in a circle"),
        (302, "/#other", "redirect not followed: it goes in a circle"),
    ] {
        let server = redirecting(status, location.to_owned()).await;
        let line = fetch(&fetcher(&[&server]), &server.url("/")).await.unwrap_err().to_string();
        assert!(line.starts_with(said), "{location}: {line}");
        assert_eq!(server.hits(), 1);
    }
}

#[tokio::test]
async fn five_redirects_are_followed_and_not_six() {
    for (hops, good) in [(5, true), (6, false), (30, false)] {
        let server = Server::start(move |_, head| {
            let number: usize =
                head.split(['/', ' ']).find_map(|part| part.parse().ok()).unwrap_or(0);
            Reply::Bytes(if number < hops {
                response(&format!("302 Found\nLocation: /{}", number + 1), "")
            } else {
                ok("text/plain", "arrived")
            })
        })
        .await;
        let outcome = fetch(&fetcher(&[&server]), &server.url("/0")).await;
        if good {
            assert!(matches!(outcome, Ok(Outcome::Page(_))), "{outcome:?}");
        } else {
            assert!(matches!(outcome, Err(FetchError::Redirect { .. })), "{outcome:?}");
            assert_eq!(server.hits(), 6);
        }
    }
}

#[tokio::test]
async fn the_checked_address_is_the_dialled_one() {
    let server = Server::start(|_, head| {
        assert!(head.contains("host: a.test:"), "{head}");
        Reply::Bytes(ok("text/plain", "hello"))
    })
    .await;
    // Were there a second lookup, by whomever, it would not answer 127.0.0.1 again.
    let names = Names::new(&[("a.test", &[&["127.0.0.1"], &["169.254.169.254"], &["10.0.0.1"]])]);
    let url = format!("http://a.test:{}/", server.port);
    let config = config(&[&format!("a.test:{}", server.port)]);
    let fetcher = Fetcher::new(config, Arc::clone(&names) as _);
    assert!(matches!(fetch(&fetcher, &url).await, Ok(Outcome::Page(_))));
    assert_eq!((names.lookups(), server.hits()), (1, 1));
    // The next fetch asks again, and the name has been rebound meanwhile.
    let error = fetch(&fetcher, &url).await.unwrap_err();
    assert!(error.to_string().contains("resolves to a cloud metadata address"), "{error}");
    assert_eq!((names.lookups(), server.hits()), (2, 1));
}

#[tokio::test]
async fn one_bad_address_refuses_the_name() {
    let server = secret().await;
    for addresses in [
        &["127.0.0.1"][..],
        &["1.1.1.1", "127.0.0.1"],
        &["127.0.0.1", "1.1.1.1"],
        &["2606:4700::1111", "::1"],
        &["::ffff:127.0.0.1"],
        &["64:ff9b::7f00:1"],
        &["1.1.1.1", "169.254.169.254"],
    ] {
        let names = Names::new(&[("evil.test", &[addresses])]);
        let fetcher = Fetcher::new(config(&[&server.name()]), names);
        let url = format!("http://evil.test:{}/", server.port);
        let outcome = fetch(&fetcher, &url).await;
        assert!(matches!(outcome, Err(FetchError::Refused { .. })), "{addresses:?} {outcome:?}");
    }
    assert_eq!(server.hits(), 0);
    // Positive control: the same server, by the name that is allowed.
    assert!(fetch(&fetcher(&[&server]), &server.url("/")).await.is_ok());
}

#[tokio::test]
async fn each_hop_by_name_is_resolved_and_checked() {
    let secret = secret().await;
    let first = redirecting(302, format!("http://b.test:{}/", secret.port)).await;
    let names = Names::new(&[("a.test", &[&["127.0.0.1"]]), ("b.test", &[&["127.0.0.1"]])]);
    let start = format!("http://a.test:{}/", first.port);
    let allow = [format!("a.test:{}", first.port), format!("b.test:{}", secret.port)];
    let refused = Fetcher::new(config(&[&allow[0]]), Arc::clone(&names) as _);
    let line = fetch(&refused, &start).await.unwrap_err().to_string();
    assert!(line.contains("b.test:") && line.contains("fetch.allow = [\"b.test:"), "{line}");
    assert_eq!((names.lookups(), secret.hits()), (2, 0));
    let allowed = Fetcher::new(config(&[&allow[0], &allow[1]]), Arc::clone(&names) as _);
    assert!(matches!(fetch(&allowed, &start).await, Ok(Outcome::Page(_))));
}

#[tokio::test]
async fn direct_requests_to_odd_addresses_are_refused_at_once() {
    let secret = secret().await;
    let port = secret.port;
    let fetcher = Fetcher::new(config(&["127.0.0.1:1"]), Names::new(&[]));
    let begun = Instant::now();
    for url in [
        "http://[::ffff:169.254.169.254]/".to_owned(),
        "http://[fe80::1%25eth0]/".to_owned(),
        format!("http://user@127.0.0.1:{port}/"),
        format!("http://127.0.0.1:{port}@evil.test/"),
        format!("HTTP://127.0.0.1:{port}"),
        format!("http://127.0.0.1:{port}/a b"),
        format!("http://127.0.0.1:{port}/a\nb"),
        format!("http://evil.test:{port}/"),
    ] {
        let error = fetch(&fetcher, &url).await.unwrap_err();
        let line = error.to_string();
        assert!(line.len() <= 512 && !line.contains('\n'), "{line}");
    }
    assert!(begun.elapsed() < Duration::from_secs(5));
    assert_eq!(secret.hits(), 0);
}

#[tokio::test]
async fn the_modes_hold_for_every_hop() {
    let public = Server::start(|_, _| Reply::Bytes(ok("text/plain", "public"))).await;
    let first = redirecting(302, public.url("/")).await;
    let with = |mode| FetchConfig { mode, ..config(&[&first.name()]) };
    let off = Fetcher::new(with(Mode::Off), Names::new(&[]));
    assert!(matches!(fetch(&off, &first.url("/")).await, Err(FetchError::Off)));
    assert_eq!(first.hits(), 0);
    let names = Names::new(&[("docs.test", &[&["1.1.1.1"]])]);
    let list = Fetcher::new(with(Mode::Allowlist), Arc::clone(&names) as _);
    let line = fetch(&list, "http://docs.test/").await.unwrap_err().to_string();
    assert!(line.contains("is not on the operator's list"), "{line}");
    assert_eq!(names.lookups(), 0, "a name that is not listed is not even looked up");
    let outcome = fetch(&list, &first.url("/")).await;
    assert!(matches!(outcome, Err(FetchError::Refused { .. })), "{outcome:?}");
    assert_eq!((first.hits(), public.hits()), (1, 0));
}

#[tokio::test]
async fn names_without_an_address_and_closed_ports_are_told_apart() {
    let fetcher = Fetcher::new(config(&["127.0.0.1:9"]), Names::new(&[("empty.test", &[&[]])]));
    for name in ["empty.test", "unknown.test"] {
        let line = fetch(&fetcher, &format!("http://{name}/")).await.unwrap_err().to_string();
        assert_eq!(line, format!("no address for {name}:80"));
    }
    let line = fetch(&fetcher, "http://127.0.0.1:9/").await.unwrap_err().to_string();
    assert_eq!(line, "no connection to 127.0.0.1:9: connection refused");
}

#[tokio::test]
async fn an_address_of_version_6_is_fetched_where_it_was_allowed_and_nowhere_else() {
    let page = |_: usize, _: &str| Reply::Bytes(ok("text/plain", "version 6"));
    let server = Server::start_at("[::1]:0", page).await;
    let url = format!("http://[::1]:{}/page", server.port);
    let allowed = |host: &str| {
        let entry = format!("{host}:{}", server.port);
        Fetcher::new(config(&[&entry]), Names::new(&[]))
    };
    let error = fetch(&allowed("127.0.0.1"), &url).await.unwrap_err();
    assert!(matches!(error, FetchError::Refused { .. }), "{error:?}");
    assert_eq!(server.hits(), 0);
    let outcome = fetch(&allowed("[::1]"), &url).await;
    assert!(matches!(outcome, Ok(Outcome::Page(page)) if page.wire_bytes == 9));
    assert!(server.heads()[0].to_lowercase().contains(&format!("host: [::1]:{}", server.port)));
}
