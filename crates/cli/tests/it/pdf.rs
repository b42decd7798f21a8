//! PDFs by page, through the real binary: in a box, without one, and hostile ones.

use std::fs;
use std::os::unix::process::CommandExt as _;
use std::process::Command;
use std::time::Duration;

use serde_json::json;

use crate::harness::{PATIENCE, World, wait_until};

const MANUAL: &[u8] = include_bytes!("../data/manual.pdf");
const SCAN: &[u8] = include_bytes!("../data/scan.pdf");
const LOCKED: &[u8] = include_bytes!("../data/locked.pdf");
const OWNER: &[u8] = include_bytes!("../data/owner.pdf");
const JAPANESE: &[u8] = include_bytes!("../data/japanese.pdf");

#[test]
fn a_hit_says_its_page_in_a_box_and_without_one() {
    for flags in [&[][..], &["--sandbox", "read-only"], &["--sandbox", "off"]] {
        let world = World::outside_of_tmp();
        fs::write(world.work().join("manual.pdf"), MANUAL).unwrap();
        let mut server = crate::harness::Server::start(world.command(flags));
        server.initialize();
        let indexed = server.call("index", json!({"path": "manual.pdf"}));
        assert!(
            !indexed.is_error && indexed.text.contains(" as manual.pdf · r:"),
            "{flags:?}: {indexed:?}"
        );
        assert!(indexed.text.ends_with(" · 2 pages"), "{indexed:?}");
        let found = server.call(
            "search",
            json!({"queries": ["gigawatts", "coordinate system", "WidgetError::Overload"]}),
        );
        assert!(found.text.contains("page 2 > 2. Flux capacitors (manual.pdf:L"), "{found:?}");
        assert!(found.text.contains("page 1 > Widget manual (manual.pdf:L"), "{found:?}");
        // Nothing of the document passes for a page of it.
        assert!(!found.text.contains("page 9"), "{found:?}");
        let again = server.call("index", json!({"path": "manual.pdf"}));
        assert!(again.text.contains("unchanged"), "{again:?}");
        // The bytes are where they were.
        if flags.is_empty() {
            let code = "import sys; print(sys.stdin.buffer.read(5))";
            let raw = server.call(
                "exec-file",
                json!({"path": "manual.pdf", "language": "python", "code": code}),
            );
            assert!(raw.text.starts_with("b'%PDF-'\n"), "{}", raw.text);
        }
    }
}

/// The command on a kernel without user namespaces, and without Landlock if `bare`: calls that would give
/// them are refused.
fn on_a_poor_kernel(mut command: Command, bare: bool) -> Command {
    const NUMBER: u32 = 0;
    const FLAGS: u32 = 16;
    let step = |code, value, hit, miss| libc::sock_filter { code, jt: hit, jf: miss, k: value };
    let load = |offset| step((libc::BPF_LD | libc::BPF_W | libc::BPF_ABS) as u16, offset, 0, 0);
    let equal = |value, hit, miss| {
        step((libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K) as u16, value as u32, hit, miss)
    };
    let has = |value, hit, miss| {
        step((libc::BPF_JMP | libc::BPF_JSET | libc::BPF_K) as u16, value as u32, hit, miss)
    };
    let end = |value| step((libc::BPF_RET | libc::BPF_K) as u16, value, 0, 0);
    let refused = |errno: i32| libc::SECCOMP_RET_ERRNO | errno as u32;
    let landlock = if bare { libc::SYS_landlock_create_ruleset } else { -1 };
    let mut filter = [
        load(NUMBER),
        equal(landlock, 6, 0),
        equal(libc::SYS_clone3, 5, 0),
        equal(libc::SYS_unshare, 5, 0),
        equal(libc::SYS_clone, 0, 2),
        load(FLAGS),
        has(i64::from(libc::CLONE_NEWUSER), 2, 0),
        end(libc::SECCOMP_RET_ALLOW),
        end(refused(libc::ENOSYS)),
        end(refused(libc::EPERM)),
    ];
    #[expect(unsafe_code, reason = "a filter is the only way to such a kernel")]
    // SAFETY: between fork and exec there are only system calls; the filter lives in the closure.
    unsafe {
        command.pre_exec(move || {
            let program =
                libc::sock_fprog { len: filter.len() as u16, filter: filter.as_mut_ptr() };
            let failed = libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0
                || libc::prctl(libc::PR_SET_SECCOMP, libc::SECCOMP_MODE_FILTER, &raw const program)
                    != 0;
            if failed { Err(std::io::Error::last_os_error()) } else { Ok(()) }
        });
    }
    command
}

#[test]
fn without_namespaces_pdfs_are_read_and_without_any_box_they_are_not() {
    for (bare, flags, read) in
        [(false, &[][..], true), (true, &[], false), (true, &["--sandbox", "off"], true)]
    {
        let world = World::outside_of_tmp();
        fs::write(world.work().join("manual.pdf"), MANUAL).unwrap();
        fs::write(world.work().join("plain.txt"), "plain text\n").unwrap();
        let command = on_a_poor_kernel(world.command(flags), bare);
        let mut server = crate::harness::Server::start(command);
        server.initialize();
        // What programs meet on this kernel.
        let run = server.call("execute", crate::harness::shell("echo ran"));
        assert_eq!(run.text.contains("ran\n"), read, "{bare} {flags:?}: {run:?}");
        let answer = server.call("index", json!({"path": "manual.pdf"}));
        if read {
            assert!(answer.text.ends_with(" · 2 pages"), "{bare} {flags:?}: {answer:?}");
            let found = server.call("search", json!({"queries": ["gigawatts"]}));
            assert!(found.text.contains("page 2 > 2. Flux capacitors"), "{found:?}");
        } else {
            assert!(answer.text.starts_with("error: sandbox unavailable: "), "{answer:?}");
            assert!(answer.text.ends_with("; nothing was indexed"), "{answer:?}");
            assert_eq!(answer.text.lines().count(), 1, "{answer:?}");
        }
        let all = server.call("index", json!({"path": "."}));
        assert_eq!(all.text.contains("1 PDFs, because no sandbox can be had"), !read, "{all:?}");
        assert!(!all.is_error, "{all:?}");
    }
}

#[test]
fn what_has_no_text_is_named() {
    let world = World::outside_of_tmp();
    let files = [("scan", SCAN), ("locked", LOCKED), ("owner", OWNER), ("japanese", JAPANESE)];
    for (name, bytes) in files {
        fs::write(world.work().join(format!("{name}.pdf")), bytes).unwrap();
    }
    let cut = MANUAL.get(..900).unwrap();
    fs::write(world.work().join("cut.pdf"), cut).unwrap();
    fs::write(world.work().join("junk.pdf"), b"%PDF-1.7\njust this").unwrap();
    let mut server = world.serve();
    server.initialize();
    for (name, want) in [
        (
            "scan",
            "error: the PDF has no text on its 2 pages: a scan or drawings; nothing was indexed",
        ),
        (
            "locked",
            "error: the PDF is encrypted; a copy without its password can be indexed; nothing was indexed",
        ),
        (
            "junk",
            "error: the PDF cannot be read: it is damaged or no PDF at all; nothing was indexed",
        ),
        ("cut", "error: the PDF "),
        ("owner", "indexed "),
        ("japanese", "indexed "),
    ] {
        let answer = server.call("index", json!({"path": format!("{name}.pdf")}));
        assert!(answer.text.starts_with(want), "{name}: {answer:?}");
        assert_eq!(answer.is_error, want.starts_with("error"), "{name}");
    }
    let found = server.call("search", json!({"queries": ["検索", "changes are not"]}));
    assert!(found.text.contains("japanese.pdf") && found.text.contains("owner.pdf"), "{found:?}");
    fs::write(world.work().join("plain.txt"), "plain text\n").unwrap();
    let all = server.call("index", json!({"path": "."}));
    assert!(all.text.contains("3 files"), "{all:?}");
    assert!(all.text.contains("4 PDFs without readable text"), "{all:?}");
}

/// Objects of a PDF, with the table that leads to them.
fn pdf(objects: &[Vec<u8>]) -> Vec<u8> {
    let mut bytes = b"%PDF-1.4\n".to_vec();
    let mut starts = Vec::new();
    for (number, object) in (1..).zip(objects) {
        starts.push(bytes.len());
        bytes.extend(format!("{number} 0 obj\n").bytes().chain(object.iter().copied()));
        bytes.extend(b"\nendobj\n");
    }
    let table = bytes.len();
    bytes.extend(format!("xref\n0 {}\n0000000000 65535 f \n", objects.len() + 1).bytes());
    for start in starts {
        bytes.extend(format!("{start:010} 00000 n \n").bytes());
    }
    let end =
        format!("trailer\n<</Size {}/Root 1 0 R>>\nstartxref\n{table}\n%%EOF", objects.len() + 1);
    bytes.extend(end.bytes());
    bytes
}

/// A page with this content and these resources.
fn page(content: &[u8], resources: &str) -> Vec<Vec<u8>> {
    let stream =
        [format!("<</Length {}>>\nstream\n", content.len()).as_bytes(), content, b"\nendstream"]
            .concat();
    vec![
        b"<</Type/Catalog/Pages 2 0 R>>".to_vec(),
        b"<</Type/Pages/Kids[3 0 R]/Count 1>>".to_vec(),
        format!("<</Type/Page/Parent 2 0 R/MediaBox[0 0 600 800]/Contents 4 0 R/Resources<<{resources}>>>>").into_bytes(),
        stream,
    ]
}

#[test]
fn hostile_documents_are_one_line_and_the_server_goes_on() {
    const FONT: &str = "/Font<</F<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>>>";
    let good = page(b"BT /F 12 Tf 72 700 Td (a plain page) Tj ET", FONT);
    let mut itself = page(b"/X Do", "/XObject<</X 5 0 R>>");
    let form = b"<</Type/XObject/Subtype/Form/BBox[0 0 9 9]/Resources<</XObject<</X 5 0 R>>>>/Length 11>>\nstream\n/X Do /X Do\nendstream";
    itself.push(form.to_vec());
    let mut kids = good.clone();
    kids[1] = b"<</Type/Pages/Kids[2 0 R 2 0 R 3 0 R]/Count 3>>".to_vec();
    let cases: Vec<(&str, Vec<u8>)> = vec![
        ("nested arrays", [&b"%PDF-1.4\n1 0 obj\n"[..], &b"[".repeat(4 << 20)].concat()),
        ("nested arrays in a page", pdf(&page(&b"[".repeat(4 << 20), ""))),
        ("nested dictionaries in a page", pdf(&page(&b"/A<</B".repeat(1 << 20), ""))),
        ("nested graphics states", pdf(&page(&b"q ".repeat(8 << 20), ""))),
        ("a form that draws itself twice", pdf(&itself)),
        ("pages that hold themselves", pdf(&kids)),
        ("zeros", [&b"%PDF-1.7\n"[..], &vec![0; 8 << 20]].concat()),
        ("only headers", b"%PDF-1.7\n".repeat(400_000)),
    ];
    let world = World::outside_of_tmp();
    for flags in [&[][..], &["--sandbox", "off"]] {
        let mut server = crate::harness::Server::start(world.command(flags));
        server.initialize();
        for (name, bytes) in &cases {
            fs::write(world.work().join("hostile.pdf"), bytes).unwrap();
            let answer = server.call("index", json!({"path": "hostile.pdf"}));
            assert_eq!(answer.text.lines().count(), 1, "{name}: {answer:?}");
            let known = answer.text.starts_with("error: the PDF ") || answer.text.contains(" page");
            assert!(known, "{name}: {answer:?}");
        }
        fs::write(world.work().join("good.pdf"), pdf(&good)).unwrap();
        let answer = server.call("index", json!({"path": "good.pdf"}));
        assert!(answer.text.ends_with(" · 1 page"), "the control: {answer:?}");
    }
}

/// Forms that draw each other twice, so deep that nobody waits for the end of it.
#[test]
fn a_reader_that_would_not_end_is_stopped_with_its_call() {
    let mut objects = page(b"/X Do", "/XObject<</X 5 0 R>>");
    for next in 6..46 {
        objects.push(format!("<</Type/XObject/Subtype/Form/BBox[0 0 9 9]/Resources<</XObject<</X {next} 0 R>>>>/Length 11>>\nstream\n/X Do /X Do\nendstream").into_bytes());
    }
    objects.push(
        b"<</Type/XObject/Subtype/Form/BBox[0 0 9 9]/Length 1>>\nstream\nq\nendstream".to_vec(),
    );
    for flags in [&[][..], &["--sandbox", "off"]] {
        let world = World::outside_of_tmp();
        let file = world.work().join("slow.pdf");
        fs::write(&file, pdf(&objects)).unwrap();
        let read = || {
            let processes = fs::read_dir("/proc").unwrap().flatten();
            let mut inputs =
                processes.filter_map(|one| fs::read_link(one.path().join("fd/0")).ok());
            inputs.any(|input| input == file)
        };
        let mut server = crate::harness::Server::start(world.command(flags));
        server.initialize();
        server.begin(7, "index", json!({"path": "slow.pdf"}));
        wait_until(PATIENCE, read).expect("the control: it is being read");
        server.notify("notifications/cancelled", json!({ "requestId": 7 }));
        wait_until(Duration::from_secs(5), || !read()).expect("its reader is stopped");
        server.ping(PATIENCE);
        assert!(server.unasked().is_empty(), "a cancelled call has no answer");
    }
}
