//! Pages through the real binary: every kind of content, what is no content, the cache, many URLs.

use std::sync::{Arc, Condvar, Mutex};

use serde_json::json;

use crate::harness::{PATIENCE, Site, World, answer, ok, wait_until};

const ARTICLE: &str = "<html><head><title>Zebras</title></head><body><nav>Home NAVIGATION</nav><main>\
    <h1>Zebras</h1><p>The striped animal eats grass in the wide savanna all day long, and when night \
    falls it stands close to the others, ears turned to every side, until the morning comes again. \
    Nobody knows how it sleeps.</p><h2>Numbers</h2><pre><code class=\"language-sh\">zebra --count \
    42</code></pre></main><footer>FOOTER</footer></body></html>";

/// Path, type, body, what the line says, a query, and what its result says (nothing: no match).
type Case =
    (&'static str, &'static str, Vec<u8>, &'static [&'static str], &'static str, &'static str);

/// F-062, and the kinds of content that are read as they are.
#[test]
fn each_kind_of_content_is_indexed_in_its_own_way_or_named() {
    let shell = format!(
        "<html><head><title>App</title><script>{}</script></head><body><noscript>You need JavaScript \
         shellword</noscript><div id=root></div></body></html>",
        "var a=1;".repeat(250)
    );
    let feed = "<?xml version=\"1.0\"?><rss version=\"2.0\"><channel><title>News</title><item><title>Feed of \
                okapis</title><description>okapiword</description></item></channel></rss>";
    let atom = "<?xml version=\"1.0\"?><feed xmlns=\"http://www.w3.org/2005/Atom\"><entry><title>Tapirs\
                </title><summary>tapirword</summary></entry></feed>";
    let other =
        (0..150).map(|n| format!("\"animal{n}\":{{\"legs\":4}}")).collect::<Vec<_>>().join(",");
    let json = format!("{{{other},\"animals\":{{\"gnu\":{{\"legs\":4,\"name\":\"gnuword\"}}}}}}");
    let csv = "animal,legs\nheron,2\nantword,6\n";
    let log = "2026-01-01 ERROR logword failed\n".repeat(60_000);
    let llms =
        "# Project\n\n> Summary\n\n## Docs\n\n- [Guide](https://x.example/guide): llmsword\n";
    let pre = format!(
        "<html><body><pre>{}</pre></body></html>",
        "line of preword output &amp; more\n".repeat(20)
    );
    let frames =
        "<html><frameset cols=\"50%,50%\"><frame src=a.html><frame src=b.html></frameset></html>";
    let png = b"\x89PNG\r\n\x1a\nbinaryword".to_vec();
    let manual = include_bytes!("../data/manual.pdf").to_vec();
    let cases: Vec<Case> = vec![
        (
            "/article",
            "text/html",
            ARTICLE.into(),
            &["text/html", "r:"],
            "striped savanna",
            "Zebras",
        ),
        ("/app", "text/html", shell.into(), &["almost no text"], "", ""),
        (
            "/pdf",
            "application/pdf",
            manual,
            &["application/pdf", "2 pages"],
            "gigawatts",
            "page 2 > ",
        ),
        ("/png", "image/png", png, &["error: ", "not text: image/png"], "binaryword", ""),
        ("/log", "text/plain", log.into(), &["text/plain", "1,920,000 bytes"], "logword", "(http"),
        ("/json", "application/json", json.into(), &["application/json"], "gnuword", "animal1"),
        (
            "/md",
            "text/markdown",
            "# Emu\n\nemuword text\n".into(),
            &["text/markdown"],
            "emuword",
            "Emu",
        ),
        ("/csv", "text/csv", csv.into(), &["text/csv"], "antword", "animal"),
        (
            "/rss",
            "application/rss+xml",
            feed.into(),
            &["application/rss+xml"],
            "okapiword",
            "rss News",
        ),
        (
            "/atom",
            "application/atom+xml",
            atom.into(),
            &["application/atom+xml"],
            "tapirword",
            "(http",
        ),
        ("/llms.txt", "text/plain", llms.into(), &["text/plain"], "llmsword", "Project > Docs"),
        ("/pre", "text/html", pre.into(), &["text/html", "r:"], "preword output", "(http"),
        ("/frames", "text/html", frames.into(), &["frames"], "", ""),
        ("/empty", "text/html", "".into(), &["empty page"], "", ""),
        (
            "/as-text",
            "text/plain",
            ARTICLE.replace("striped", "spotted").into(),
            &["sent as text/plain, read as html"],
            "spotted savanna",
            "Zebras",
        ),
    ];
    let table = cases.clone();
    let site = Site::start(move |path, _| match path {
        "/none" => answer("204 No Content", "", ""),
        "/missing" => {
            answer("404 Not Found", "Content-Type: text/html\r\n", "<p>giraffeword is not here</p>")
        }
        "/blocked" => answer(
            "403 Forbidden",
            "Content-Type: text/html\r\n",
            "<p>blockword are you a robot</p>",
        ),
        "/private" => answer("302 Found", "Location: /login\r\n", ""),
        "/login" => ok("text/html", ARTICLE.replace("striped", "Log in")),
        "/busy" => answer("429 Too Many Requests", "Retry-After: 3600\r\n", ""),
        "/broken" => answer("500 Internal Server Error", "", "stackword"),
        "/auth" => answer("401 Unauthorized", "", ""),
        path => {
            let (_, kind, body, ..) = table.iter().find(|case| case.0 == path).unwrap();
            ok(kind, body)
        }
    });
    let world = World::outside_of_tmp();
    let mut server = site.serve(&world);
    for (path, _, _, said, query, found) in &cases {
        let line = server.call("fetch-index", json!({"url": site.url(path)}));
        assert_eq!(line.text.lines().count(), 1, "{line:?}");
        assert!(!line.text.chars().any(|c| c.is_control() && c != '\n'), "{line:?}");
        for said in *said {
            assert!(line.text.contains(said), "{path}: {line:?}");
        }
        if !query.is_empty() {
            let answer = server.call("search", json!({"queries": [query], "source": "*"}));
            let answer = if answer.is_error {
                server.call("search", json!({"queries": [query]}))
            } else {
                answer
            };
            if found.is_empty() {
                assert!(answer.text.contains("no match"), "{path}: {answer:?}");
            } else {
                assert!(answer.text.contains(found), "{path}: {answer:?}");
            }
        }
    }
    for (path, said) in [
        ("/none", "status 204 No Content, nothing indexed"),
        ("/missing", "status 404 Not Found, nothing indexed"),
        ("/blocked", "status 403 Forbidden, nothing indexed"),
        ("/busy", "status 429 Too Many Requests, nothing indexed, retry after 3600 s"),
        ("/broken", "status 500 Internal Server Error, nothing indexed"),
        ("/auth", "status 401 Unauthorized, nothing indexed"),
    ] {
        let line = server.call("fetch-index", json!({"url": site.url(path)}));
        assert!(line.text.starts_with("error: ") && line.text.ends_with(said), "{line:?}");
        assert_eq!(line.is_error, path != "/none", "{line:?}");
    }
    let login = server.call("fetch-index", json!({"url": site.url("/private")}));
    assert!(login.text.contains(&format!("from {}", site.url("/login"))), "{login:?}");
    for word in ["giraffeword", "blockword", "stackword", "NAVIGATION", "FOOTER"] {
        let found = server.call("search", json!({"queries": [word]}));
        assert!(found.text.contains("no match"), "{word}: {found:?}");
    }
}

/// F-059.
#[test]
fn legacy_charsets_and_codings_are_found_again() {
    const GREETING: &str = "Привет, мир проверка";
    let old = b"\xcf\xf0\xe8\xe2\xe5\xf2, \xec\xe8\xf0 \xef\xf0\xee\xe2\xe5\xf0\xea\xe0".to_vec();
    let site = Site::start(move |path, _| match path {
        "/bare" => ok("text/html", [b"<p>", &old[..], b"</p>"].concat()),
        "/meta" => ok("text/html", [b"<meta charset=windows-1251><p>", &old[..], b"</p>"].concat()),
        "/header" => ok("text/html; charset=windows-1251", [b"<p>", &old[..], b"</p>"].concat()),
        "/bom" => ok("text/html", ["\u{feff}<p>", GREETING, "</p>"].concat()),
        "/utf16" => {
            let text = format!("\u{feff}{GREETING}");
            ok("text/plain", text.encode_utf16().flat_map(u16::to_le_bytes).collect::<Vec<_>>())
        }
        _ => ok("text/html", format!("<p>{GREETING}</p>")),
    });
    let world = World::outside_of_tmp();
    let mut server = site.serve(&world);
    for (path, said) in [
        ("/bare", "windows-1251 (guessed)"),
        ("/meta", "windows-1251"),
        ("/header", "windows-1251"),
        ("/bom", "text/html"),
        ("/utf16", "UTF-16LE"),
        ("/plain", "text/html"),
    ] {
        let label = format!("page{path}");
        let line = server.call("fetch-index", json!({"url": site.url(path), "source": label}));
        assert!(line.text.contains(said), "{path}: {line:?}");
        let found = server
            .call("search", json!({"queries": ["проверка"], "source": label, "preview": true}));
        assert!(
            found.text.contains("мир проверка") && !found.text.contains('\u{fffd}'),
            "{path}: {found:?}"
        );
    }
}

/// F-064: many URLs, the same one again, and who asks while it is being fetched.
#[test]
fn one_url_is_fetched_once_whoever_asks() {
    let gate = Arc::new((Mutex::new(false), Condvar::new()));
    let held = Arc::clone(&gate);
    let site = Site::start(move |path, _| {
        if path == "/held" {
            let mut open = held.0.lock().unwrap();
            while !*open {
                open = held.1.wait(open).unwrap();
            }
        }
        ok("text/plain", format!("text of {path}\n"))
    });
    let world = World::outside_of_tmp();
    let mut server = site.serve(&world);
    let same: Vec<_> = (0..20).map(|_| json!({"url": site.url("/same")})).collect();
    let text = server.call("fetch-index", json!({"requests": same})).text;
    assert_eq!((text.lines().count(), site.hits()), (20, 1), "{text}");
    // Under other names it is the text that came, not another fetch.
    let named: Vec<_> =
        (0..3).map(|n| json!({"url": site.url("/same"), "source": format!("name {n}")})).collect();
    let text = server.call("fetch-index", json!({"requests": named})).text;
    assert_eq!(site.hits(), 1, "{text}");
    assert!(
        text.lines().zip(0..).all(|(line, n)| line.ends_with(&format!("as name {n}"))),
        "{text}"
    );
    let found = server.call("search", json!({"queries": ["text of same"], "source": "name 2"}));
    assert!(found.text.contains("[r:"), "{found:?}");
    // Two calls at once.
    server.begin(1, "fetch-index", json!({"url": site.url("/held")}));
    wait_until(PATIENCE, || site.hits() == 2).unwrap();
    server.begin(2, "fetch-index", json!({"url": site.url("/held")}));
    server.ping(PATIENCE);
    *gate.0.lock().unwrap() = true;
    gate.1.notify_all();
    let (first, second) = (server.reply(1).text, server.reply(2).text);
    assert_eq!(site.hits(), 2, "{first}{second}");
    assert!(!first.contains("cached") && second.contains("/held · "), "{first}{second}");
}

/// F-065: the age is said, and `force` and `ttl_ms` ask again.
#[test]
fn the_cache_is_visible_and_can_be_passed_over() {
    let site = Site::start(|path, hit| match path {
        "/tagged" => answer(
            if hit > 4 { "304 Not Modified" } else { "200 OK" },
            "Content-Type: text/plain\r\nETag: \"a\"\r\n",
            if hit > 4 { "" } else { "tagged text\n" },
        ),
        _ => ok("text/plain", format!("edition number{hit}\n")),
    });
    let world = World::outside_of_tmp();
    let mut server = site.serve(&world);
    let mut fetch = |arguments: serde_json::Value| server.call("fetch-index", arguments).text;
    let url = site.url("/counter");
    fetch(json!({"url": url}));
    // Right after the fetch there may be no whole second to say.
    assert!(fetch(json!({"url": url})).contains(" · cached "));
    assert_eq!(site.hits(), 1);
    fetch(json!({"url": url, "force": true}));
    fetch(json!({"url": url, "ttl_ms": 0}));
    assert_eq!(site.hits(), 3);
    fetch(json!({"url": site.url("/tagged")}));
    let again = fetch(json!({"url": site.url("/tagged"), "force": true}));
    assert!(again.ends_with("not modified") && again.contains(" · r:"), "{again}");
    let found = server.call("search", json!({"queries": ["number1", "number3", "tagged"]})).text;
    assert!(!found.contains("edition number1") && found.matches("[r:").count() == 2, "{found}");
}

#[test]
fn variables_do_not_choose_the_proxy_and_the_configuration_does() {
    let site = Site::start(|_, _| answer("502 Bad Gateway", "", "proxyword"));
    let world = World::outside_of_tmp();
    // A name that no resolver knows: with a proxy of its own choice the request would reach the site.
    let call = ["call", "fetch-index", "{\"url\": \"http://nowhere.invalid/\"}"];
    let mut command = world.command(&call);
    for name in ["http_proxy", "HTTP_PROXY", "https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY"]
    {
        command.env(name, format!("http://{}", site.host));
    }
    command.output().unwrap();
    assert_eq!(site.hits(), 0);
    world.configure("fetch.proxy = \"http://ada:secret@proxy.example:3128\"\n");
    let literal = ["call", "fetch-index", "{\"url\": \"http://93.184.216.34/\"}"];
    let outcome = world.run(&literal);
    assert!(outcome.stdout.contains("through the proxy (fetch.proxy) only names"), "{outcome:?}");
    let shown = world.run(&["config"]);
    assert!(shown.stdout.contains("http://***@proxy.example:3128"), "{shown:?}");
    assert!(!shown.stdout.contains("secret"), "{shown:?}");
    world.configure("fetch.proxy = \"socks5://127.0.0.1:1\"\n");
    let outcome = world.run(&literal);
    assert!(format!("{outcome:?}").contains("fetch.proxy"), "{outcome:?}");
}

#[test]
fn without_a_network_nothing_is_fetched_unless_it_is_said() {
    let site = Site::start(|_, _| ok("text/plain", "fetched\n"));
    let world = World::outside_of_tmp();
    let allow = format!("fetch.allow = [\"{}\"]\n", site.host);
    let call = json!({"url": site.url("/"), "force": true}).to_string();
    for (settings, fetched) in [
        ("", true),
        ("network.mode = \"off\"\n", false),
        ("sandbox.mode = \"read-only\"\n", false),
        ("network.mode = \"off\"\nfetch.mode = \"public\"\n", true),
        ("fetch.mode = \"off\"\n", false),
        ("fetch.mode = \"allowlist\"\n", true),
    ] {
        world.configure(&format!("{allow}{settings}"));
        let before = site.hits();
        let outcome = world.run(&["call", "fetch-index", &call]);
        assert_eq!(site.hits() > before, fetched, "{settings}: {outcome:?}");
        assert_eq!(outcome.stdout.contains("fetching is off"), !fetched, "{settings}: {outcome:?}");
    }
}
