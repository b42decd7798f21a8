//! What is kept and for how long: modes, purge, retention, the fetch cache.
#![expect(clippy::unwrap_used, reason = "a test")]

mod common;

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::time::{Duration, Instant, SystemTime};

use common::{content, run, store_in, store_with, wait};
use quietcontext_store::{
    Expired, Label, Last, Location, NewDocument, Origin, Page, Purge, Receipt, Retention, Span,
    Store,
};

fn location(store: &Store, receipt: &Receipt) -> Location {
    let first = receipt.range.unwrap().first;
    store.locate(&Span { first, skip: 0, last: Last::One }).unwrap()
}

/// Names of the files of a store that hold a word, in whatever case.
fn holding(store: &Store, word: &str) -> Vec<String> {
    let word = word.to_lowercase().into_bytes();
    let folder = store.path().parent().unwrap();
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let bytes = fs::read(&path).unwrap().to_ascii_lowercase();
        if bytes.windows(word.len()).any(|window| window == word) {
            found.push(path.display().to_string());
        }
    }
    found
}

#[test]
fn the_folder_and_its_files_are_private_whatever_the_umask() {
    let folder = tempfile::tempdir().unwrap();
    rustix::process::umask(rustix::fs::Mode::empty());
    let store = store_in(folder.path());
    fs::create_dir(store.path().parent().unwrap()).unwrap();
    run(&store, b"text\n");
    let growing = store.begin(NewDocument::new(Label::Fixed("job"), Origin::Run)).unwrap();
    let data = store.path().parent().unwrap();
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o7777;
    assert_eq!(mode(data), 0o700);
    let mut names = Vec::new();
    for entry in fs::read_dir(data).unwrap() {
        let path = entry.unwrap().path();
        assert_eq!(mode(&path), 0o600, "{path:?}");
        names.push(path.extension().unwrap().to_string_lossy().into_owned());
    }
    names.sort();
    assert_eq!(names, ["db", "db-shm", "db-wal", "live", "lock", "queue"]);
    drop(growing);
}

#[test]
fn purged_words_are_gone_from_every_file() {
    let secret = "token=QCSECRET_ABCDEF123456";
    for everything in [false, true] {
        let folder = tempfile::tempdir().unwrap();
        let store = store_in(folder.path());
        let kept = content(&store, "kept", b"ordinary text stays\n");
        let mut new = NewDocument::new(Label::Fixed("qcsecret_abcdef_label"), Origin::File);
        new.path = Some("src/QCSECRET_ABCDEF_path.rs");
        new.name = Some("QCSECRET_ABCDEF_path.rs");
        let text = format!("# {secret}\n\n{secret}\n\x1b[1m{secret}\x1b[0m\n").repeat(400);
        let receipt = store.add(new, &mut text.as_bytes(), None).unwrap();
        // A page's text and URL go with it as well.
        store
            .remember_page(&Page {
                url: format!("https://example.org/{secret}"),
                final_url: format!("https://example.org/{secret}"),
                etag: None,
                last_modified: None,
                fetched: SystemTime::now(),
                document: receipt.document,
                content_type: "text/html".to_owned(),
            })
            .unwrap();
        assert!(!holding(&store, "QCSECRET_ABCDEF").is_empty(), "the probe finds what is there");
        let what = if everything { Purge::All } else { Purge::Source("qcsecret_abcdef_label") };
        assert_eq!(store.purge(what).unwrap(), if everything { 2 } else { 1 });
        assert_eq!(holding(&store, "QCSECRET_ABCDEF"), Vec::<String>::new());
        assert_eq!(holding(&store, "qcsecret"), Vec::<String>::new());
        assert!(matches!(location(&store, &receipt), Location::Gone));
        let is_kept = matches!(location(&store, &kept), Location::Live { .. });
        assert_eq!(is_kept, !everything);
        assert!(store.page(&format!("https://example.org/{secret}")).unwrap().is_none());
        assert_eq!(store.check().unwrap(), Vec::<String>::new());
    }
}

#[test]
fn purged_words_are_gone_while_somebody_goes_on_writing() {
    let folder = tempfile::tempdir().unwrap();
    let (store, other) = (store_in(folder.path()), store_in(folder.path()));
    for number in 0..30 {
        let text = format!("# Part {number}\n\nordinary text {number}\n").repeat(40);
        content(&store, &format!("kept {number}"), text.as_bytes());
        let text = format!("qcsecret{number} stands here\n").repeat(40);
        content(&store, &format!("secret {number}"), text.as_bytes());
    }
    assert!(!holding(&store, "qcsecret").is_empty(), "the probe finds what is there");
    let done = std::sync::atomic::AtomicBool::new(false);
    let order = std::sync::atomic::Ordering::Relaxed;
    let written = std::thread::scope(|scope| {
        let writing = scope.spawn(|| {
            let mut written = 0;
            while !done.load(order) {
                content(&other, &format!("new {written}"), format!("word{written}\n").as_bytes());
                written += 1;
            }
            written
        });
        assert_eq!(store.purge(Purge::Source("secret *")).unwrap(), 30);
        done.store(true, order);
        writing.join().unwrap()
    });
    // The log of the other connection may hold what it read; the last one to go empties it.
    assert_eq!(store.purge(Purge::Source("new *")).unwrap(), written);
    assert_eq!(holding(&store, "qcsecret"), Vec::<String>::new());
    assert_eq!(store.check().unwrap(), Vec::<String>::new());
    assert!(store.by_label("kept 29").unwrap().is_some());
}

/// Text that hardly compresses.
fn noise(seed: u64, bytes: usize) -> Vec<u8> {
    let mut state = seed;
    let mut text = String::new();
    while text.len() < bytes {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(99);
        text.push_str(&format!("{:x}\n", state >> 4));
    }
    text.into_bytes()
}

#[test]
fn the_longest_unread_goes_first_and_says_expired() {
    const LIMIT: u64 = 6 << 20;
    let folder = tempfile::tempdir().unwrap();
    let retention = Retention { max_age: Duration::from_secs(5_000), max_bytes: LIMIT };
    let store = store_with(folder.path(), retention);
    let kept = content(&store, "on purpose", &noise(1, 200_000));
    let touched = run(&store, &noise(2, 300_000));
    let runs: Vec<Receipt> = (3..18)
        .map(|seed| {
            // A moment passes, so that ages differ.
            let before = SystemTime::now();
            wait("a millisecond", || before.elapsed().is_ok_and(|e| e.as_millis() > 1));
            assert!(matches!(location(&store, &touched), Location::Live { .. }), "{seed}");
            let receipt = run(&store, &noise(seed, 600_000));
            // Its full-text rows count, too.
            while !store.finish_pending(Instant::now() + Duration::from_secs(1)).unwrap() {}
            store.expire().unwrap();
            receipt
        })
        .collect();
    let size = || fs::metadata(store.path()).unwrap().len();
    store.expire().unwrap();
    wait("the file has shrunk", || {
        store.expire().unwrap();
        size() <= LIMIT + LIMIT / 10
    });
    assert!(matches!(location(&store, &kept), Location::Live { .. }));
    assert!(matches!(location(&store, &touched), Location::Live { .. }));
    assert!(matches!(location(&store, &runs[0]), Location::Expired));
    assert!(matches!(location(&store, runs.last().unwrap()), Location::Live { .. }));
    assert!(store.by_label(&runs[0].label).unwrap().is_none());
    assert_eq!(store.check().unwrap(), Vec::<String>::new());
}

#[test]
fn old_output_expires_and_a_shared_text_stays_with_its_other_label() {
    let folder = tempfile::tempdir().unwrap();
    let retention = Retention { max_age: Duration::ZERO, max_bytes: u64::MAX >> 1 };
    let store = store_with(folder.path(), Retention::default());
    let old = run(&store, b"old output\n");
    let kept = content(&store, "kept", b"kept\n");
    drop(store);
    let before = SystemTime::now();
    wait("a millisecond", || before.elapsed().is_ok_and(|e| e.as_millis() > 1));
    let store = store_with(folder.path(), retention);
    assert_eq!(store.expire().unwrap(), Expired { documents: 1, bytes: 11 });
    assert_eq!(store.expire().unwrap(), Expired::default());
    assert!(matches!(location(&store, &old), Location::Expired));
    assert!(matches!(location(&store, &kept), Location::Live { .. }));
}

#[test]
fn pages_are_remembered_until_their_text_goes() {
    let folder = tempfile::tempdir().unwrap();
    let store = store_in(folder.path());
    let url = "https://example.org/a?b=c";
    assert!(store.page(url).unwrap().is_none());
    let receipt = {
        let new = NewDocument::new(Label::Fixed(url), Origin::Page);
        store.add(new, &mut &b"# Page\n"[..], None).unwrap()
    };
    let page = Page {
        url: url.to_owned(),
        final_url: "https://example.org/d".to_owned(),
        etag: Some("\"x\"".to_owned()),
        last_modified: None,
        fetched: SystemTime::UNIX_EPOCH + Duration::from_secs(1_700_000_000),
        document: receipt.document,
        content_type: "text/markdown".to_owned(),
    };
    store.remember_page(&page).unwrap();
    assert_eq!(store.page(url).unwrap(), Some(page));
    let new = NewDocument::new(Label::Fixed(url), Origin::Page);
    store.add(new, &mut &b"# Other\n"[..], None).unwrap();
    assert!(store.page(url).unwrap().is_none());
}
