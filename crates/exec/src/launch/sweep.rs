//! The second line: finding a tree by its session when its supervisor was killed by somebody else.

use std::fs;

use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};

/// Rounds of looking; a process that forks while it is looked for is found in the next round.
const ROUNDS: usize = 20;

/// Kills every process of the session. Processes that made a session of their own and lost their
/// supervisor cannot be told from others and are not found; the main process has its own
/// parent-death signal.
pub(super) fn kill_session(leader: Pid) {
    let leader = leader.as_raw_nonzero().get();
    for _ in 0..ROUNDS {
        let mut found = false;
        let Ok(entries) = fs::read_dir("/proc") else { return };
        for entry in entries.flatten() {
            let name = entry.file_name();
            let Some(pid) = name.to_str().and_then(|name| name.parse::<i32>().ok()) else {
                continue;
            };
            if pid == leader || session_of(pid) != Some(leader) {
                continue;
            }
            let Some(target) = Pid::from_raw(pid) else { continue };
            // The descriptor pins the process; looked at again, the number cannot have changed.
            let Ok(pidfd) = pidfd_open(target, PidfdFlags::empty()) else { continue };
            if session_of(pid) == Some(leader) {
                found |= pidfd_send_signal(&pidfd, Signal::KILL).is_ok();
            }
        }
        if !found {
            return;
        }
    }
}

/// Session of a live process; `None` for a zombie, which is dead already.
fn session_of(pid: i32) -> Option<i32> {
    parse_session(&fs::read_to_string(format!("/proc/{pid}/stat")).ok()?)
}

/// The command name comes second, in brackets, and may contain anything, brackets included.
fn parse_session(stat: &str) -> Option<i32> {
    let (_, rest) = stat.rsplit_once(") ")?;
    let mut fields = rest.split(' ');
    let state = fields.next()?;
    if matches!(state, "Z" | "X") {
        return None;
    }
    fields.nth(2)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_name_with_brackets_and_blanks_does_not_shift_the_fields() {
        assert_eq!(parse_session("7 (a) S (b)) S 1 2 42 0 -1"), Some(42));
        assert_eq!(parse_session("7 (x) Z 1 2 42 0 -1"), None);
        assert_eq!(parse_session("nonsense"), None);
    }

    #[test]
    fn a_session_is_found_by_the_number_of_its_leader() {
        use std::os::unix::process::CommandExt as _;
        // A session of its own: the one of this process may be led from outside its namespace,
        // where it has no number (`getsid` answers 0).
        let mut command = std::process::Command::new("sleep");
        command.arg("60");
        // SAFETY: setsid is async-signal-safe and touches no memory of this process.
        #[expect(unsafe_code, reason = "a session can only be made in the child itself")]
        unsafe {
            command.pre_exec(|| {
                rustix::process::setsid()?;
                Ok(())
            });
        }
        let mut child = command.spawn().unwrap();
        let pid = i32::try_from(child.id()).unwrap();
        let session = session_of(pid);
        child.kill().unwrap();
        child.wait().unwrap();
        assert_eq!(session, Some(pid));
    }
}
