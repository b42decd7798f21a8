//! A control group for one box, where the machine lets us make one: the bound on the memory of the
//! whole box, and a second one on its tasks.

use std::fs::File;
use std::io::Write as _;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use rustix::process::Pid;

use super::super::profile::Limits;
use super::super::report::{Failure, Step};
use super::limits::pid_max_is_per_namespace;

/// The group's directories, one for each controller in the old layout.
#[derive(Debug)]
pub(super) struct Group {
    places: Vec<Member>,
}

/// One directory, and how a process gets into it.
#[derive(Debug)]
struct Member {
    directory: PathBuf,
    door: OwnedFd,
    layout: Layout,
}

/// Which way a process is moved in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Layout {
    /// By itself, alone, through `tasks`: the kernel need not wait for anybody.
    Old,
    /// From outside, through `cgroup.procs`.
    Unified,
}

/// Bounds in one layout: controller, file, value.
type Bound = (&'static str, &'static str, u64);

impl Group {
    /// Makes a group with the limits, or `None` where this user cannot: the other bounds stand.
    pub(super) fn create(limits: &Limits) -> Option<Self> {
        let own = std::fs::read_to_string("/proc/self/cgroup").ok()?;
        let mut places = Vec::new();
        for parent in parents(&own) {
            let (directory, layout, bounds) = match &parent {
                Parent::Old { controller, directory } => {
                    let bounds: &[Bound] = &[
                        ("memory", "memory.limit_in_bytes", limits.memory_bytes),
                        ("pids", "pids.max", limits.tasks),
                    ];
                    let own = bounds.iter().filter(|bound| bound.0 == *controller).copied();
                    (directory, Layout::Old, own.collect::<Vec<_>>())
                }
                Parent::Unified { directory } => {
                    let given = std::fs::read_to_string(directory.join("cgroup.subtree_control"))
                        .unwrap_or_default();
                    let bounds: &[Bound] = &[
                        ("memory", "memory.max", limits.memory_bytes),
                        ("pids", "pids.max", limits.tasks),
                    ];
                    let has = |b: &&Bound| given.split_whitespace().any(|name| name == b.0);
                    let own = bounds.iter().filter(has).copied();
                    (directory, Layout::Unified, own.collect())
                }
            };
            // Where every process namespace has its own bound, a group for tasks adds nothing.
            let needed = |bound: &Bound| bound.0 != "pids" || !pid_max_is_per_namespace();
            let bounds: Vec<_> =
                bounds.into_iter().filter(|bound| bound.2 != 0 && needed(bound)).collect();
            if let Some(place) = make(directory, layout, &bounds) {
                places.push(place);
            }
        }
        (!places.is_empty()).then_some(Self { places })
    }

    /// Moves this process, which has one thread, and so all it starts from then on, into the parts
    /// of the group that a process enters by itself.
    pub(super) fn enter(&self) -> Result<(), Failure> {
        self.write(Layout::Old, "0")
    }

    /// Moves a process into the other parts. Slow: the kernel waits for every processor, so it is
    /// done from outside while the process prepares itself.
    pub(super) fn admit(&self, process: Pid) -> Result<(), Failure> {
        self.write(Layout::Unified, &process.as_raw_nonzero().get().to_string())
    }

    fn write(&self, layout: Layout, number: &str) -> Result<(), Failure> {
        for member in self.places.iter().filter(|member| member.layout == layout) {
            match rustix::io::write(&member.door, number.as_bytes()) {
                // It has ended already and has told why.
                Ok(_) | Err(rustix::io::Errno::SRCH) => {}
                Err(error) => {
                    let place = member.directory.display().to_string();
                    return Err(Failure::new(Step::Limits, place, error));
                }
            }
        }
        Ok(())
    }

    /// Removes the group; nothing is in it any more.
    pub(super) fn remove(self) {
        for member in self.places {
            std::fs::remove_dir(member.directory).ok();
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
fn make(parent: &Path, layout: Layout, bounds: &[Bound]) -> Option<Member> {
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
    let name = match layout {
        Layout::Old => "tasks",
        Layout::Unified => "cgroup.procs",
    };
    let door = set.and_then(|()| File::options().write(true).open(place.join(name)));
    if let Ok(door) = door {
        return Some(Member { directory: place, door: door.into(), layout });
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
