//! What a box costs above a bare spawn: medians of interleaved starts of `/bin/true`.
//!
//! `cargo run --release -p quietcontext-exec --example box_cost [ROUNDS]`, on a quiet machine
//! best under `chrt -f 10`. Also the Landlock-only box in the same run, for scale.
#![expect(clippy::print_stdout, clippy::expect_used, reason = "a measuring tool for people")]

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

use quietcontext_exec::sandbox::{self, Event, HIDDEN_ARGUMENT, Launch, Network, Profile, Rung};

const WARM_UP: usize = 10;

fn main() {
    let first = std::env::args().nth(1).unwrap_or_default();
    if first == HIDDEN_ARGUMENT {
        sandbox::child_main();
    }
    let rounds = first.parse().unwrap_or(200);
    let base = std::env::temp_dir().join(format!("box-cost-{}", std::process::id()));
    let root = base.join("workspace");
    std::fs::create_dir_all(&root).expect("a workspace");
    let home = std::env::var_os("HOME").map_or_else(|| base.join("home"), PathBuf::from);
    let mut profile = Profile::new(root.canonicalize().expect("canonical"), home);
    let mut proxied = profile.clone();
    proxied.network = Network::Proxied;
    profile.limits.grace = std::time::Duration::ZERO;

    let mut bare = || {
        let status = quiet(&mut Command::new("/bin/true")).status().expect("true");
        assert!(status.success(), "true failed");
    };
    let mut bare_self = || {
        // The same binary started and ended at once: what the re-execution itself costs.
        let status = quiet(Command::new("/proc/self/exe").arg(HIDDEN_ARGUMENT)).status();
        assert!(status.is_ok(), "self failed");
    };
    let mut landlock = || boxed(&profile, Rung::Landlock);
    let mut full = || boxed(&profile, Rung::Namespaces);
    let mut with_proxy = || boxed(&proxied, Rung::Namespaces);
    let mut cases: [(&str, &mut dyn FnMut()); 5] = [
        ("bare spawn", &mut bare),
        ("own binary, nothing done", &mut bare_self),
        ("Landlock and seccomp only", &mut landlock),
        ("complete box", &mut full),
        ("complete box with proxy listener", &mut with_proxy),
    ];
    let mut times = vec![Vec::with_capacity(rounds); cases.len()];
    for round in 0..rounds + WARM_UP {
        for ((_, case), times) in cases.iter_mut().zip(&mut times) {
            let start = Instant::now();
            case();
            if round >= WARM_UP {
                times.push(start.elapsed().as_secs_f64() * 1e3);
            }
        }
    }
    let mut baseline = None;
    for ((name, _), times) in cases.iter().zip(&mut times) {
        times.sort_by(f64::total_cmp);
        let at = |part: usize| times.get(times.len() * part / 100).copied().unwrap_or_default();
        let median = at(50);
        let above = median - *baseline.get_or_insert(median);
        println!(
            "{name:<34} median {median:5.2} ms  p90 {:5.2}  min {:5.2}  above bare {above:5.2}",
            at(90),
            at(0)
        );
    }
    std::fs::remove_dir_all(&base).ok();
}

fn quiet(command: &mut Command) -> &mut Command {
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null())
}

fn boxed(profile: &Profile, rung: Rung) {
    let launch = Launch {
        binary: Path::new("/proc/self/exe"),
        rung,
        stdin: std::fs::File::open("/dev/null").expect("null").into(),
        join: None,
        share_network: false,
    };
    let program = Path::new("/bin/true");
    let (mut command, mut link) =
        sandbox::command(profile, program, &["true".into()], launch).expect("a command");
    command.stdout(Stdio::null()).stderr(Stdio::null());
    let mut child = command.spawn().expect("a box");
    drop(command);
    let mut ended = None;
    loop {
        match link.wait().expect("a report") {
            Event::Ended(end) => ended = Some(end.wait_status),
            Event::Failed(failure) => println!("failed: {failure}"),
            Event::Closed => break,
            _ => {}
        }
    }
    child.wait().expect("an end");
    assert!(ended == Some(0), "the box failed");
}
