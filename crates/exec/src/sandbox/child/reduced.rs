//! The reduced box, where the kernel gives no user namespaces: Landlock and seccomp around the
//! program, this process as the reaper of all it leaves behind.

use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use rustix::process::{Pid, PidfdFlags, getpid, pidfd_open};

use super::super::ladder::LANDLOCK_SCOPES;
use super::super::profile::{Mode, Profile};
use super::super::report::{Failure, InStep as _, Message, Step};
use super::super::table::{DEVICES, EMPTIED, ROOT_SECRETS, Show, TOOLCHAINS};
use super::caches;
use super::cgroup::Group;
use super::namespaces::{self, Gate, Identity, Side};
use super::reaper::Reaper;
use super::view::system_directory;
use super::{Order, SETUP_FAILED, admit, home, init, landlock, limits, privileges, program};
use super::{protect, seccomp};

/// Runs the program under the layers that remain.
pub(super) fn supervise(order: &Order<'_>) -> Result<(), Failure> {
    let profile = &order.specification.profile;
    let reaper = Reaper::new()?;
    let supervisor = pidfd_open(getpid(), PidfdFlags::empty()).step(Step::Supervise, "")?;
    let gate = Gate::new().step(Step::Limits, "gate")?;
    let temporary = make_temporary()?;
    let group = Group::create(&profile.limits);
    let watched = start(order, group.as_ref(), &gate, &temporary, &supervisor).and_then(|main| {
        admit(group.as_ref(), &gate, main)?;
        reaper.watch(order, main)
    });
    if let Some(group) = group {
        group.remove();
    }
    std::fs::remove_dir_all(&temporary).ok();
    watched.map(|ended| order.channel.tell(&Message::Ended(ended), &[]))
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
