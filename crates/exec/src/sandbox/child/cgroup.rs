//! A control group for one box, where the machine lets us make one: the bound on the memory of the
//! whole box, and a second one on its tasks.

use std::fs::File;
use std::io::Write as _;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use rustix::process::Pid;

use super::super::profile::Limits;
use super::super::report::{Failure, Step};

/// The group's directories (one for each controller in the old layout) and their `cgroup.procs`.
#[derive(Debug)]
pub(super) struct Group {
    places: Vec<(PathBuf, OwnedFd)>,
}

/// Bounds in one layout: controller, file, value.
type Bound = (&'static str, &'static str, u64);

impl Group {
    /// Makes a group with the limits, or `None` where this user cannot: the other bounds stand.
    pub(super) fn create(limits: &Limits) -> Option<Self> {
        let own = std::fs::read_to_string("/proc/self/cgroup").ok()?;
        let mut places = Vec::new();
        for parent in parents(&own) {
            let (directory, bounds) = match &parent {
                Parent::Old { controller, directory } => {
                    let bounds: &[Bound] = &[
                        ("memory", "memory.limit_in_bytes", limits.memory_bytes),
                        ("pids", "pids.max", limits.tasks),
                    ];
                    (directory, bounds.iter().filter(|b| b.0 == *controller).copied().collect())
                }
                Parent::Unified { directory } => {
                    let given = std::fs::read_to_string(directory.join("cgroup.subtree_control"))
                        .unwrap_or_default();
                    let bounds: &[Bound] = &[
                        ("memory", "memory.max", limits.memory_bytes),
                        ("pids", "pids.max", limits.tasks),
                    ];
                    let has = |b: &&Bound| given.split_whitespace().any(|name| name == b.0);
                    (directory, bounds.iter().filter(has).copied().collect::<Vec<_>>())
                }
            };
            let bounds: Vec<_> = bounds.into_iter().filter(|bound| bound.2 != 0).collect();
            if let Some(place) = make(directory, &bounds) {
                places.push(place);
            }
        }
        (!places.is_empty()).then_some(Self { places })
    }

    /// Moves a process, and so all it starts from then on, into the group. Slow: the kernel waits
    /// for every processor, so it is done from outside while the process prepares itself.
    pub(super) fn admit(&self, process: Pid) -> Result<(), Failure> {
        let number = process.as_raw_nonzero().get().to_string();
        for (place, procs) in &self.places {
            match rustix::io::write(procs, number.as_bytes()) {
                // It has ended already and has told why.
                Ok(_) | Err(rustix::io::Errno::SRCH) => {}
                Err(error) => {
                    return Err(Failure::new(Step::Limits, place.display().to_string(), error));
                }
            }
        }
        Ok(())
    }

    /// Removes the group; nothing is in it any more.
    pub(super) fn remove(self) {
        for (place, _) in self.places {
            std::fs::remove_dir(place).ok();
        }
    }
}

/// A directory in which a group can be made.
#[derive(Debug, PartialEq, Eq)]
enum Parent {
    /// One controller of the old layout.
    Old { controller: &'static str, directory: PathBuf },
    /// The unified layout: beside our own group, since one with processes cannot divide.
    Unified { directory: PathBuf },
}

/// Where groups could be made, from the lines of `/proc/self/cgroup`.
fn parents(own: &str) -> Vec<Parent> {
    let mut found = Vec::new();
    for line in own.lines() {
        let mut fields = line.splitn(3, ':').skip(1);
        let (Some(controllers), Some(path)) = (fields.next(), fields.next()) else { continue };
        let below = path.trim_start_matches('/');
        if controllers.is_empty() {
            let Some(parent) = Path::new(below).parent() else { continue };
            found.push(Parent::Unified { directory: Path::new("/sys/fs/cgroup").join(parent) });
        }
        for controller in ["memory", "pids"] {
            if controllers.split(',').any(|name| name == controller) {
                let directory = Path::new("/sys/fs/cgroup").join(controller).join(below);
                found.push(Parent::Old { controller, directory });
            }
        }
    }
    found
}

/// Names of groups; the process id of the supervisor follows.
const PREFIX: &str = "quietcontext-";

/// Removes groups whose supervisor was killed before it could; also one of our own number, which
/// has come round again.
fn sweep(parent: &Path) {
    let Ok(entries) = std::fs::read_dir(parent) else { return };
    for entry in entries.flatten() {
        let name = entry.file_name();
        let number = name.to_str().and_then(|name| name.strip_prefix(PREFIX)?.parse::<u32>().ok());
        let Some(number) = number else { continue };
        let ours = number == std::process::id();
        if ours || !Path::new("/proc").join(number.to_string()).exists() {
            std::fs::remove_dir(entry.path()).ok();
        }
    }
}

/// Makes one directory with its bounds. Everything or nothing.
fn make(parent: &Path, bounds: &[Bound]) -> Option<(PathBuf, OwnedFd)> {
    if bounds.is_empty() {
        return None;
    }
    let place = parent.join(format!("{PREFIX}{}", std::process::id()));
    sweep(parent);
    std::fs::create_dir(&place).ok()?;
    let set = bounds.iter().try_for_each(|(_, file, value)| {
        let mut file = File::options().write(true).open(place.join(file))?;
        file.write_all(value.to_string().as_bytes())
    });
    let procs = set.and_then(|()| File::options().write(true).open(place.join("cgroup.procs")));
    if let Ok(procs) = procs {
        return Some((place, procs.into()));
    }
    std::fs::remove_dir(&place).ok();
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_are_made_below_ours_or_beside_it() {
        let old = "5:memory:/user/x\n4:pids:/\n3:cpu,cpuacct:/\n1:name=systemd:/\n";
        let got = parents(old);
        let directory = |text: &str| PathBuf::from(text);
        assert_eq!(
            got,
            [
                Parent::Old {
                    controller: "memory",
                    directory: directory("/sys/fs/cgroup/memory/user/x")
                },
                Parent::Old { controller: "pids", directory: directory("/sys/fs/cgroup/pids/") },
            ]
        );
        assert_eq!(
            parents("0::/user.slice/session.scope\n"),
            [Parent::Unified { directory: directory("/sys/fs/cgroup/user.slice") }]
        );
        assert_eq!(parents("0::/\n"), []);
    }
}
