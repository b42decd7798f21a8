//! The reduced box, where the kernel gives no user namespaces: Landlock and seccomp around the
//! program, this process as the reaper of all it leaves behind.

use std::collections::BTreeSet;
use std::os::fd::{AsFd as _, OwnedFd};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rustix::process::{
    Pid, PidfdFlags, Signal, WaitOptions, WaitStatus, getpid, kill_process, pidfd_open,
    set_child_subreaper, set_parent_process_death_signal, waitpid,
};

use super::super::ladder::LANDLOCK_SCOPES;
use super::super::profile::{Mode, Profile};
use super::super::report::{Ended, Failure, InStep as _, Message, Step};
use super::super::table::{DEVICES, EMPTIED, ROOT_SECRETS, Show, TOOLCHAINS};
use super::caches;
use super::cgroup::Group;
use super::namespaces::{self, Gate, Identity, Side};
use super::view::system_directory;
use super::{
    First, Order, SETUP_FAILED, admit, descriptors, first_of, home, init, landlock, limits,
    privileges,
};
use super::{program, protect, reap_for, seccomp};

/// How long processes that were left behind are hunted.
const HUNT: Duration = Duration::from_secs(2);

/// Runs the program under the layers that remain.
pub(super) fn supervise(order: &Order<'_>) -> Result<(), Failure> {
    let profile = &order.specification.profile;
    set_child_subreaper(Some(getpid())).step(Step::Supervise, "subreaper")?;
    let supervisor = pidfd_open(getpid(), PidfdFlags::empty()).step(Step::Supervise, "")?;
    let gate = Gate::new().step(Step::Limits, "gate")?;
    let temporary = make_temporary()?;
    let group = Group::create(&profile.limits);
    let watched = start(order, group.as_ref(), &gate, &temporary, &supervisor).and_then(|main| {
        admit(group.as_ref(), &gate, main)?;
        watch(order, main)
    });
    if let Some(group) = group {
        group.remove();
    }
    std::fs::remove_dir_all(&temporary).ok();
    watched
}

/// A temporary directory that only this box may write.
fn make_temporary() -> Result<PathBuf, Failure> {
    use std::os::unix::fs::DirBuilderExt as _;
    let path = PathBuf::from(format!("/tmp/quietcontext-{}", std::process::id()));
    std::fs::DirBuilder::new().mode(0o700).create(&path).step(Step::View, "/tmp")?;
    Ok(path)
}

fn start(
    order: &Order<'_>,
    group: Option<&Group>,
    gate: &Gate,
    temporary: &Path,
    supervisor: &OwnedFd,
) -> Result<Pid, Failure> {
    let specification = &order.specification;
    let profile = &specification.profile;
    let repository = protect::outside(profile);
    // Without mounts there are no layers, and nothing to hold.
    let caches = caches::prepare(profile).map(|(caches, _hold)| caches);
    order.channel.tell(&Message::Started { proxy: false, network: false }, &[]);
    match namespaces::fork(0).step(Step::Init, "")? {
        Side::Parent(main) => Ok(main),
        Side::Child => {
            let confined = (|| {
                init::end_with(supervisor)?;
                if let Some(group) = group {
                    group.enter()?;
                }
                limits::offer_to_out_of_memory_killer();
                rustix::process::chdir(&profile.cwd)
                    .step(Step::WorkingDirectory, &profile.cwd.display().to_string())?;
                limits::apply(&profile.limits)?;
                let rules = rules(profile, &repository, temporary)?;
                privileges::drop_all()?;
                if landlock::restrict(&rules)? < LANDLOCK_SCOPES {
                    return Err(Failure::plain(Step::Landlock, "too old"));
                }
                seccomp::Filter::new(seccomp::Sockets::None)?.apply()?;
                gate.pass().step(Step::Limits, "control group")
            })();
            let failure = confined.map_or_else(
                |failure| failure,
                |()| {
                    let temporary = temporary.as_os_str().to_owned();
                    let mut variables = program::additions(specification, temporary, None);
                    if let Some(caches) = &caches {
                        variables.extend(caches::variables(profile, &caches.directory()));
                    }
                    program::become_program(specification, &variables)
                },
            );
            order.channel.tell(&Message::Failed(failure), &[]);
            init::leave(SETUP_FAILED)
        }
    }
}

/// Allow-rules for all that is not hidden.
fn rules(
    profile: &Profile,
    repository: &[PathBuf],
    temporary: &Path,
) -> Result<landlock::Rules, Failure> {
    let mut hidden = vec![PathBuf::from("/dev")];
    hidden.extend(profile.homes().chain(&profile.emptied).cloned());
    for name in EMPTIED {
        hidden.extend(system_directory(name).step(Step::View, name)?);
    }
    hidden.extend(profile.hidden.iter().cloned());
    if Identity::current().is_root() {
        let shown = |path: &&&str| profile.homes().all(|home| !home.starts_with(path));
        hidden.extend(ROOT_SECRETS.iter().filter(shown).map(PathBuf::from));
    }
    // What lies in a place that is allowed as a whole cannot be taken out of it.
    let wholes = profile.readable.iter().chain(&profile.writable).chain([&profile.root]);
    if wholes.chain(repository).any(|whole| hidden_below(whole, &profile.hidden)) {
        let why = "it cannot hide what a deny rule names in a place that is shown";
        return Err(Failure::plain(Step::Landlock, why));
    }
    let mut readable = all_but(&hidden);
    for (name, show) in TOOLCHAINS {
        // A copy without credentials needs a view of its own, which there is not.
        if *show != Show::Cleaned {
            let rows = profile.homes().map(|home| home.join(name));
            readable.extend(
                rows.filter_map(|path| home::resolve(&path, &profile.root, &profile.writable)),
            );
        }
    }
    readable.extend(profile.readable.iter().cloned());
    readable.push(profile.root.clone());
    readable.extend(repository.iter().cloned());
    let mut writable: Vec<_> = DEVICES.iter().map(|name| Path::new("/dev").join(name)).collect();
    writable.push(temporary.to_path_buf());
    writable.extend(profile.scratch.clone());
    writable.extend(profile.caches.as_ref().map(|caches| caches.join("cache")));
    if profile.mode == Mode::WorkspaceWrite {
        writable.push(profile.root.clone());
        writable.extend(profile.writable.iter().chain(repository).cloned());
    }
    Ok(landlock::Rules { readable, writable })
}

/// Whether one of the hidden paths lies in this place.
fn hidden_below(whole: &Path, hidden: &[PathBuf]) -> bool {
    hidden.iter().any(|path| path.starts_with(whole))
}

/// The tree without some of its parts, as the paths to allow: beside each hidden thing its
/// siblings, since Landlock can only allow.
fn all_but(hidden: &[PathBuf]) -> Vec<PathBuf> {
    let mut allowed = Vec::new();
    let mut open = vec![PathBuf::from("/")];
    while let Some(directory) = open.pop() {
        let Ok(entries) = std::fs::read_dir(&directory) else { continue };
        for path in entries.flatten().map(|entry| entry.path()) {
            if hidden.contains(&path) {
                continue;
            }
            if hidden.iter().any(|hidden| hidden.starts_with(&path)) {
                open.push(path);
            } else {
                allowed.push(path);
            }
        }
    }
    allowed
}

/// Waits for the program, then ends what it left.
fn watch(order: &Order<'_>, main: Pid) -> Result<(), Failure> {
    let process = pidfd_open(main, PidfdFlags::empty()).step(Step::Supervise, "")?;
    descriptors::let_go_of_standard_streams();
    let _ = set_parent_process_death_signal(None);
    if let First::LetGo = first_of([process.as_fd(), process.as_fd()], order.channel)? {
        hunt();
        order.channel.tell(&Message::Ended(Ended::STOPPED), &[]);
        return Ok(());
    }
    let ended = rustix::io::retry_on_intr(|| waitpid(Some(main), WaitOptions::empty()))
        .step(Step::Supervise, "")?;
    let wait_status = ended.map_or(0, |(_, status): (Pid, WaitStatus)| status.as_raw());
    let quiet = reap_for(order.specification.profile.limits.grace);
    let left_behind = if quiet { 0 } else { hunt() };
    order.channel.tell(&Message::Ended(Ended { wait_status, left_behind, stopped: false }), &[]);
    Ok(())
}

/// Kills every descendant until there is none, for at most [`HUNT`]; how many there were.
fn hunt() -> u32 {
    let until = Instant::now() + HUNT;
    let mut killed = BTreeSet::new();
    loop {
        for pid in descendants() {
            let _ = kill_process(pid, Signal::KILL);
            killed.insert(pid.as_raw_nonzero());
        }
        if reap_for(Duration::from_millis(2)) || Instant::now() > until {
            return u32::try_from(killed.len()).unwrap_or(u32::MAX);
        }
    }
}

/// Every process below this one; orphans have become our children.
fn descendants() -> Vec<Pid> {
    let mut found = Vec::new();
    let mut open = vec![getpid()];
    while let Some(parent) = open.pop() {
        let number = parent.as_raw_nonzero();
        let Ok(tasks) = std::fs::read_dir(format!("/proc/{number}/task")) else { continue };
        for task in tasks.flatten() {
            let children = std::fs::read_to_string(task.path().join("children"));
            let children: Vec<_> = children
                .unwrap_or_default()
                .split_whitespace()
                .filter_map(|pid| pid.parse().ok().and_then(Pid::from_raw))
                .collect();
            found.extend(&children);
            open.extend(children);
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn beside_each_hidden_thing_its_siblings_are_allowed() {
        let place = tempfile::tempdir().unwrap();
        let base = place.path().canonicalize().unwrap();
        for name in ["a/secret", "a/open", "b"] {
            std::fs::create_dir_all(base.join(name)).unwrap();
        }
        let allowed = all_but(&[base.join("a/secret")]);
        assert!(allowed.contains(&base.join("a/open")) && allowed.contains(&base.join("b")));
        let secret = base.join("a/secret");
        assert!(!allowed.iter().any(|path| secret.starts_with(path)));
        // Positive control: with nothing hidden the top level is enough.
        assert!(all_but(&[]).iter().any(|path| secret.starts_with(path)));
    }
}
