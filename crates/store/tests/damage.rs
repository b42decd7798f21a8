//! Damaged, newer, full and unwritable stores: a clear line each, and nothing that was there is lost.
#![expect(clippy::unwrap_used, reason = "a test")]

mod common;

use std::fmt::Write as _;
use std::fs;
use std::os::unix::fs::{FileExt as _, PermissionsExt as _};
use std::path::Path;
use std::process::Command;

use common::{content, raw, run, store_in};
use quietcontext_store::{Label, NewDocument, Origin, Retention, Store, StoreError, StoreOptions};

fn files(folder: &Path) -> Vec<String> {
    let mut names: Vec<String> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

#[test]
fn a_damaged_store_is_set_aside_and_said_so_once() {
    for whole in [true, false] {
        let folder = tempfile::tempdir().unwrap();
        let store = store_in(folder.path());
        let other_process = store_in(folder.path());
        let mut lines = String::new();
        for n in 0..20_000 {
            writeln!(lines, "line {n}").unwrap();
        }
        content(&store, "old", lines.as_bytes());
        assert!(other_process.by_label("old").unwrap().is_some());
        let path = store.path().to_owned();
        drop(store);
        drop(other_process);
        wait_until_closed(&path);
        // The head of the file, or everything but its head.
        let length = fs::metadata(&path).unwrap().len();
        let (offset, length) = if whole { (0, 4_096) } else { (8_192, length - 8_192) };
        let file = fs::OpenOptions::new().write(true).open(&path).unwrap();
        file.write_all_at(&vec![0xa5; length.try_into().unwrap()], offset).unwrap();
        let damaged = fs::read(&path).unwrap();

        let store = store_in(folder.path());
        let other_process = store_in(folder.path());
        let error = content_or_error(&store).or_else(|| view_error(&store)).unwrap();
        let StoreError::Corrupt { set_aside } = error else { panic!("{error}") };
        assert_eq!(fs::read(path.with_file_name(&set_aside)).unwrap().len(), damaged.len());
        content(&store, "new", b"new text\n");
        assert!(store.by_label("old").unwrap().is_none());
        assert!(store.notice().unwrap().contains(&set_aside));
        assert!(store.notice().is_none());
        // Whoever had the old file open goes on with the new one.
        assert!(other_process.by_label("new").unwrap().is_some());
        assert_eq!(store.check().unwrap(), Vec::<String>::new());
    }
}

/// The log goes with the last connection.
fn wait_until_closed(path: &Path) {
    let log = format!("{}-wal", path.display());
    common::wait("the background thread has closed the store", || !Path::new(&log).exists());
}

fn content_or_error(store: &Store) -> Option<StoreError> {
    let new = NewDocument::new(Label::Fixed("x"), Origin::Content);
    store.add(new, &mut &b"x\n"[..], None).err()
}

fn view_error(store: &Store) -> Option<StoreError> {
    let info = match store.by_label("old") {
        Ok(info) => info?,
        Err(error) => return Some(error),
    };
    let range = info.range?;
    store.chunks(range.first, range.last, u64::MAX).err()
}

#[test]
fn a_process_that_had_the_damaged_file_open_goes_on_with_the_new_one() {
    let folder = tempfile::tempdir().unwrap();
    let (a, b) = (store_in(folder.path()), store_in(folder.path()));
    content(&a, "old", b"old\n");
    assert!(b.by_label("old").unwrap().is_some());
    content(&b, "mine", b"mine\n");
    // As another process would have done it.
    fs::rename(a.path(), a.path().with_file_name("elsewhere.db")).unwrap();
    for end in ["-wal", "-shm"] {
        let beside = format!("{}{end}", a.path().display());
        fs::rename(&beside, a.path().with_file_name(format!("elsewhere.db{end}"))).unwrap();
    }
    content(&a, "new", b"new\n");
    assert!(b.by_label("new").unwrap().is_some());
    assert!(b.by_label("old").unwrap().is_none());
    assert_eq!(b.check().unwrap(), Vec::<String>::new());
}

#[test]
fn damage_after_an_unclean_end_is_found_unasked() {
    let folder = tempfile::tempdir().unwrap();
    let store = store_in(folder.path());
    for n in 0..40 {
        content(&store, &n.to_string(), format!("text {n}\n").repeat(2_000).as_bytes());
    }
    // What a kill leaves behind: the file, and a log that was not moved into it.
    let other = folder.path().join("left");
    fs::create_dir(&other).unwrap();
    let name = store.path().file_name().unwrap().to_str().unwrap().to_owned();
    for name in [name.clone(), format!("{name}-wal")] {
        fs::copy(store.path().with_file_name(&name), other.join(&name)).unwrap();
    }
    let connection = rusqlite::Connection::open(other.join(&name)).unwrap();
    connection.execute_batch("PRAGMA wal_checkpoint(TRUNCATE); VACUUM").unwrap();
    let pages: i64 = connection.query_row("PRAGMA page_count", (), |row| row.get(0)).unwrap();
    connection.execute_batch("PRAGMA wal_checkpoint(TRUNCATE)").unwrap();
    let file = fs::OpenOptions::new().write(true).open(other.join(&name)).unwrap();
    for page in 20..pages as u64 {
        file.write_all_at(&[0xa5; 64], page * 4_096).unwrap();
    }
    // The connection is still open: its log is there when the store is opened.
    connection.execute_batch("PRAGMA user_version = 1").unwrap();

    let root = folder.path().to_owned();
    let store =
        Store::new(StoreOptions { directory: other, root, retention: Retention::default() });
    let mut notice = None;
    common::wait("the damage is noticed", || {
        drop(content_or_error(&store));
        notice = store.notice();
        notice.is_some()
    });
    assert!(notice.unwrap().contains("damaged-"));
    content(&store, "new", b"new\n");
    assert_eq!(store.check().unwrap(), Vec::<String>::new());
}

#[test]
fn a_store_of_a_newer_version_is_refused_untouched() {
    let folder = tempfile::tempdir().unwrap();
    let store = store_in(folder.path());
    content(&store, "a", b"a\n");
    let path = store.path().to_owned();
    drop(store);
    wait_until_closed(&path);
    let connection = rusqlite::Connection::open(&path).unwrap();
    connection.pragma_update(None, "user_version", 999).unwrap();
    drop(connection);
    let before = fs::read(&path).unwrap();
    let store = store_in(folder.path());
    let error = content_or_error(&store).unwrap();
    assert!(matches!(error, StoreError::Newer { found: 999, .. }), "{error}");
    assert!(store.by_label("a").is_err());
    drop(store);
    assert_eq!(fs::read(&path).unwrap(), before);
}

#[test]
fn folders_that_cannot_be_used_are_named_clearly() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("file");
    fs::write(&file, "").unwrap();
    for (directory, read_only) in
        [(file.join("data"), false), ("/sys/kernel/quietcontext".into(), true)]
    {
        let root = folder.path().to_owned();
        let store = Store::new(StoreOptions { directory, root, retention: Retention::default() });
        let error = content_or_error(&store).unwrap();
        assert_eq!(matches!(error, StoreError::ReadOnly), read_only, "{error:?}");
        let line = error.to_string();
        assert!(
            !line.contains(&*folder.path().to_string_lossy()) && !line.contains('\n'),
            "{line}"
        );
    }
}

/// Runs this test again in a process of its own, with `sh` preparing it.
fn again(test: &str, folder: &Path, prepare: &str) -> std::process::Output {
    let script = format!("{prepare} \"$0\" \"$@\"");
    Command::new("sh")
        .args(["-c", &script])
        .arg(std::env::current_exe().unwrap())
        .args([test, "--exact", "--nocapture"])
        .env("STORE_FOLDER", folder)
        .output()
        .unwrap()
}

#[test]
fn a_full_disk_is_said_and_what_was_stored_before_is_intact() {
    let noise = |bytes: usize| -> Vec<u8> {
        let mut state = 7_u64;
        let mut text = String::new();
        while text.len() < bytes {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            text.push_str(&format!("{:x}\n", state >> 8));
        }
        text.into_bytes()
    };
    if let Some(folder) = std::env::var_os("STORE_FOLDER") {
        let store = store_in(Path::new(&folder));
        let first = content(&store, "first", &noise(400_000));
        let new = NewDocument::new(Label::Fixed("second"), Origin::Content);
        let error = store.add(new, &mut &noise(24 << 20)[..], None).unwrap_err();
        assert!(matches!(error, StoreError::Full), "{error:?}");
        assert_eq!(raw(&store, first.document), noise(400_000));
        assert!(store.by_label("second").unwrap().is_none());
        println!("intact");
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    // No file may grow beyond 6 MB, or 12; the signal for it is ignored, as on a disk without room.
    let output = again(
        "a_full_disk_is_said_and_what_was_stored_before_is_intact",
        folder.path(),
        "trap '' XFSZ; ulimit -f 12000 2>/dev/null; exec",
    );
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && text.contains("intact"), "{text}\n{output:?}");
    let store = store_in(folder.path());
    let first = store.by_label("first").unwrap().unwrap();
    assert_eq!(raw(&store, first.id), noise(400_000));
    assert_eq!(store.check().unwrap(), Vec::<String>::new());
    run(&store, b"there is room again\n");
}

#[test]
fn a_store_that_cannot_be_written_to_can_be_read() {
    if let Some(folder) = std::env::var_os("STORE_FOLDER") {
        let store = store_in(Path::new(&folder));
        let info = store.by_label("a").unwrap().unwrap();
        assert_eq!(raw(&store, info.id), b"text\n");
        let new = NewDocument::new(Label::Fixed("b"), Origin::Content);
        let error = store.add(new, &mut &b"b"[..], None).unwrap_err();
        assert!(matches!(error, StoreError::ReadOnly), "{error:?}");
        println!("readable");
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let store = store_in(folder.path());
    content(&store, "a", b"text\n");
    let path = store.path().to_owned();
    let data = path.parent().unwrap().to_owned();
    drop(store);
    wait_until_closed(&path);
    for name in files(&data) {
        fs::set_permissions(data.join(name), fs::Permissions::from_mode(0o444)).unwrap();
    }
    fs::set_permissions(&data, fs::Permissions::from_mode(0o555)).unwrap();
    fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755)).unwrap();
    // The owner of everything must stop being it, else no mode binds him.
    let prepare = if rustix::process::geteuid().is_root() {
        "exec setpriv --reuid 65534 --clear-groups"
    } else {
        "exec"
    };
    let output = again("a_store_that_cannot_be_written_to_can_be_read", folder.path(), prepare);
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && text.contains("readable"), "{text}\n{output:?}");
    fs::set_permissions(&data, fs::Permissions::from_mode(0o755)).unwrap();
}
