//! What a box costs above a bare spawn: medians of interleaved starts of `/bin/true`.
//!
//! `cargo run --release -p quietcontext-exec --example box_cost [ROUNDS]`, on a quiet machine
//! best under `chrt -f 10`. Also the Landlock-only box in the same run, for scale.
#![expect(clippy::print_stdout, clippy::expect_used, reason = "a measuring tool for people")]

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

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
    profile.limits.grace = Duration::ZERO;

    let mut bare = || {
        let status = quiet(&mut Command::new("/bin/true")).status().expect("true");
        assert!(status.success(), "true failed");
        None
    };
    let mut bare_self = || {
        // The same binary started and ended at once: what the re-execution itself costs.
        let status = quiet(Command::new("/proc/self/exe").arg(HIDDEN_ARGUMENT)).status();
        assert!(status.is_ok(), "self failed");
        None
    };
    let mut landlock = || Some(boxed(&profile, Rung::Landlock));
    let mut full = || Some(boxed(&profile, Rung::Namespaces));
    let mut with_proxy = || Some(boxed(&proxied, Rung::Namespaces));
    let mut cases: [(&str, &mut dyn FnMut() -> Option<Duration>); 5] = [
        ("bare spawn", &mut bare),
        ("own binary, nothing done", &mut bare_self),
        ("Landlock, seccomp", &mut landlock),
        ("complete box", &mut full),
        ("box with proxy", &mut with_proxy),
    ];
    let mut times = vec![(Vec::with_capacity(rounds), Vec::with_capacity(rounds)); cases.len()];
    for round in 0..rounds + WARM_UP {
        for ((_, case), times) in cases.iter_mut().zip(&mut times) {
            let start = Instant::now();
            let answered = case();
            if round >= WARM_UP {
                times.0.push(start.elapsed());
                times.1.extend(answered);
            }
        }
    }
    println!(
        "{:<34} {:>7} {:>7} {:>7} {:>12}",
        "milliseconds", "median", "p90", "min", "above bare"
    );
    let mut baseline = None;
    for ((name, _), (whole, answered)) in cases.iter().zip(&mut times) {
        for (times, what) in [(whole, ""), (answered, ", until its report")] {
            if times.is_empty() {
                continue;
            }
            times.sort();
            let at = |part: usize| {
                times.get(times.len() * part / 100).map_or(0.0, |time| time.as_secs_f64() * 1e3)
            };
            let above = at(50) - *baseline.get_or_insert(at(50));
            let name = format!("{name}{what}");
            println!("{name:<34} {:7.2} {:7.2} {:7.2} {above:12.2}", at(50), at(90), at(0));
        }
    }
    std::fs::remove_dir_all(&base).ok();
}

fn quiet(command: &mut Command) -> &mut Command {
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null())
}

fn boxed(profile: &Profile, rung: Rung) -> Duration {
    let start = Instant::now();
    let mut answered = Duration::ZERO;
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
            Event::Ended(end) => {
                ended = Some(end.wait_status);
                answered = start.elapsed();
            }
            Event::Failed(failure) => println!("failed: {failure}"),
            Event::Closed => break,
            _ => {}
        }
    }
    child.wait().expect("an end");
    assert!(ended == Some(0), "the box failed");
    answered
}
