//! The built-in escape attempts, run in the program's place after every layer is in force. Whether
//! one succeeded is judged outside, where that is possible.

use std::io::Write as _;
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::time::Duration;

use super::super::Rung;
use super::super::parent::Specification;
use super::super::report::Failure;

/// Set in every exit status: the canary ran.
pub(in crate::sandbox) const RAN: i32 = 16;
/// Set when the workspace could be written, as it must be: the control of the attempts.
pub(in crate::sandbox) const WORKSPACE_WRITTEN: i32 = 1;
/// Set when a process of the host could be seen or looked into.
pub(in crate::sandbox) const PROCESS_SEEN: i32 = 2;
/// Set when a system call that the filter refuses was made.
pub(in crate::sandbox) const CALL_MADE: i32 = 4;
/// Set where the kernel has Landlock, which then holds the box: it would not stand otherwise.
pub(in crate::sandbox) const LANDLOCKED: i32 = 8;
/// Name of the file written in the workspace.
pub(in crate::sandbox) const CONTROL: &str = "control";
/// What is written everywhere.
pub(in crate::sandbox) const TRACE: &[u8] = b"the canary was here";

/// How long a connection is tried; inside the box it is refused at once.
const CONNECT: Duration = Duration::from_millis(500);

/// Tries everything and ends the process.
pub(super) fn run(specification: &Specification) -> Failure {
    let mut status = RAN;
    for path in &specification.outside {
        if let Ok(mut file) = std::fs::File::options().create(true).append(true).open(path) {
            file.write_all(TRACE).ok();
        }
    }
    let address = SocketAddr::from((Ipv4Addr::LOCALHOST, specification.port));
    if let Ok(mut stream) = TcpStream::connect_timeout(&address, CONNECT) {
        stream.write_all(TRACE).ok();
    }
    let seen = match specification.rung {
        // Pid 1 and ourselves are all there is.
        Rung::Namespaces => processes() > 2,
        Rung::Landlock => std::fs::read(format!("/proc/{}/environ", specification.server)).is_ok(),
    };
    if seen {
        status |= PROCESS_SEEN;
    }
    if call_made() {
        status |= CALL_MADE;
    }
    if landlock_version() > 0 {
        status |= LANDLOCKED;
    }
    if std::fs::write(specification.profile.root.join(CONTROL), TRACE).is_ok() {
        status |= WORKSPACE_WRITTEN;
    }
    super::init::leave(status)
}

/// Whether the kernel looked at a call that the filter answers with "unknown".
fn call_made() -> bool {
    #[expect(unsafe_code, reason = "a call without arguments, which the kernel refuses")]
    // SAFETY: no memory is given.
    let done =
        unsafe { libc::syscall(libc::SYS_clone3, std::ptr::null::<libc::c_void>(), 0_usize) };
    done != -1 || std::io::Error::last_os_error().raw_os_error() != Some(libc::ENOSYS)
}

/// Version of the kernel's Landlock; not above 0 where there is none.
fn landlock_version() -> libc::c_long {
    const ASK_VERSION: libc::c_uint = 1;
    let none = std::ptr::null::<libc::c_void>();
    #[expect(unsafe_code, reason = "a question without memory")]
    // SAFETY: no memory is given.
    unsafe {
        libc::syscall(libc::SYS_landlock_create_ruleset, none, 0_usize, ASK_VERSION)
    }
}

fn processes() -> usize {
    std::fs::read_dir("/proc").map_or(0, |entries| {
        let numbers = entries
            .flatten()
            .filter(|e| e.file_name().to_str().is_some_and(|name| name.parse::<u32>().is_ok()));
        numbers.count()
    })
}
