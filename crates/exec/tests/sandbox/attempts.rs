//! Escape attempts: each does one thing and prints `done` or `refused <errno>`. The same attempt
//! outside the box is the control.

use std::ffi::{CString, OsString};
use std::io::{self, Read as _, Write as _};
use std::mem::size_of;
use std::net::{Ipv4Addr, TcpStream, UdpSocket};
use std::os::fd::{AsRawFd as _, FromRawFd as _, OwnedFd};
use std::os::linux::net::SocketAddrExt as _;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::os::unix::net::{SocketAddr, UnixStream};
use std::path::Path;
use std::process::ExitCode;

use rustix::fs::{AtFlags, CWD, Mode, RenameFlags, Timespec, Timestamps, XattrFlags};

pub(crate) fn run(arguments: &[OsString]) -> ExitCode {
    let text = |at: usize| arguments[at].to_str().unwrap();
    let path = |at: usize| Path::new(&arguments[at]);
    let number = |at: usize| text(at).parse::<i64>().unwrap();
    let done = match text(0) {
        "append" => std::fs::File::options()
            .append(true)
            .create(true)
            .open(path(1))
            .and_then(|mut file| file.write_all(b"x")),
        "mkdir" => std::fs::create_dir(path(1)),
        "unlink" => std::fs::remove_file(path(1)),
        "rmdir" => std::fs::remove_dir(path(1)),
        "truncate" => std::fs::File::options().write(true).truncate(true).open(path(1)).map(drop),
        "read" => std::fs::File::open(path(1)).and_then(|mut f| f.read(&mut [0; 1])).map(drop),
        "list" => std::fs::read_dir(path(1)).map(drop),
        "chmod" => rustix::fs::chmod(path(1), Mode::from_raw_mode(0o777)).map_err(Into::into),
        "chown" => {
            std::os::unix::fs::chown(path(1), None, Some(rustix::process::getgid().as_raw()))
        }
        "utime" => {
            let time = Timespec { tv_sec: 1, tv_nsec: 0 };
            let times = Timestamps { last_access: time, last_modification: time };
            rustix::fs::utimensat(CWD, path(1), &times, AtFlags::empty()).map_err(Into::into)
        }
        "xattr" => {
            rustix::fs::setxattr(path(1), "user.lab", b"x", XattrFlags::empty()).map_err(Into::into)
        }
        "link" => std::fs::hard_link(path(1), path(2)),
        "symlink" => std::os::unix::fs::symlink(path(1), path(2)),
        "rename" => std::fs::rename(path(1), path(2)),
        "exchange" => rustix::fs::renameat_with(CWD, path(1), CWD, path(2), RenameFlags::EXCHANGE)
            .map_err(Into::into),
        "fifo" => std::fs::File::options()
            .write(true)
            .custom_flags(libc::O_NONBLOCK)
            .open(path(1))
            .map(drop),
        "tcp" => TcpStream::connect((Ipv4Addr::LOCALHOST, number(1) as u16)).and_then(hello),
        "mptcp" => mptcp(number(1) as u16).and_then(hello),
        "udp" => UdpSocket::bind("127.0.0.1:0").and_then(|socket| {
            socket.send_to(b"escaped", (Ipv4Addr::LOCALHOST, number(1) as u16)).map(drop)
        }),
        "abstract" => SocketAddr::from_abstract_name(text(1))
            .and_then(|address| UnixStream::connect_addr(&address))
            .and_then(|mut stream| stream.write_all(b"escaped")),
        "unix" => UnixStream::connect(path(1)).and_then(|mut s| s.write_all(b"escaped")),
        "family" => raw(libc::SYS_socket, [number(1), libc::SOCK_DGRAM.into(), 0]).map(drop),
        "io-uring" => io_uring(),
        "unshare" => raw(libc::SYS_unshare, [libc::CLONE_NEWUSER.into()]).map(drop),
        "clone-user" => clone_user(),
        "clone3" => raw(libc::SYS_clone3, [0, 0]).map(drop),
        "setns" => std::fs::File::open("/proc/self/ns/user")
            .and_then(|file| raw(libc::SYS_setns, [file.as_raw_fd().into(), 0]).map(drop)),
        "keyring" => raw(libc::SYS_keyctl, [0, -3, 1]).map(drop),
        "ptrace" => raw(libc::SYS_ptrace, [16, number(1)]).map(drop),
        "ptrace-me" => raw(libc::SYS_ptrace, [0]).map(drop),
        "reach" => {
            let address = text(1).parse().unwrap();
            TcpStream::connect_timeout(&address, std::time::Duration::from_secs(3)).map(drop)
        }
        "peek" => peek(number(1)),
        "steal" => raw(libc::SYS_pidfd_open, [number(1), 0])
            .and_then(|pidfd| raw(libc::SYS_pidfd_getfd, [pidfd, 0, 0]).map(drop)),
        "signal" => raw(libc::SYS_kill, [number(1), 0]).map(drop),
        "bpf" => raw(libc::SYS_bpf, [0, 0, 0]).map(drop),
        "perf" => raw(libc::SYS_perf_event_open, [0, 0, -1, -1, 0]).map(drop),
        "mount" => {
            let target = CString::new(path(1).as_os_str().as_bytes()).unwrap();
            let kind = c"tmpfs".as_ptr() as i64;
            raw(libc::SYS_mount, [kind, target.as_ptr() as i64, kind, 0, 0]).map(drop)
        }
        "umount" => {
            let target = CString::new(path(1).as_os_str().as_bytes()).unwrap();
            raw(libc::SYS_umount2, [target.as_ptr() as i64, libc::MNT_DETACH.into()]).map(drop)
        }
        "chroot" => std::os::unix::fs::chroot("/"),
        "x32" => raw(0x4000_0000 | libc::SYS_getpid, []).map(drop),
        "i386" => return i386(),
        "tiocsti" => tiocsti(number(1)),
        "descriptors" => return descriptors(),
        "forks" => return forks(number(1)),
        "memory" => return memory(number(1) as usize, &arguments[2..]),
        "fill" => fill(path(1), number(2)),
        "loopback" => loopback(),
        other => panic!("unknown attempt {other}"),
    };
    match done {
        Ok(()) => println!("done"),
        Err(error) => println!("refused {}", error.raw_os_error().unwrap_or(0)),
    }
    ExitCode::SUCCESS
}

/// A system call by number.
fn raw<const N: usize>(number: libc::c_long, arguments: [i64; N]) -> io::Result<i64> {
    let mut all = [0; 6];
    all[..N].copy_from_slice(&arguments);
    let [first, second, third, fourth, fifth, sixth] = all;
    #[expect(unsafe_code, reason = "attempts go by number, as an attacker would")]
    // SAFETY: callers pass numbers, or pointers to what they keep alive; this process is expendable.
    let result = unsafe { libc::syscall(number, first, second, third, fourth, fifth, sixth) };
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(result) }
}

fn owned(descriptor: i64) -> OwnedFd {
    #[expect(unsafe_code, reason = "the number has just come from the kernel")]
    // SAFETY: nobody else owns it.
    unsafe {
        OwnedFd::from_raw_fd(descriptor as i32)
    }
}

fn hello(mut stream: TcpStream) -> io::Result<()> {
    stream.write_all(b"escaped")
}

fn mptcp(port: u16) -> io::Result<TcpStream> {
    const MPTCP: i64 = 262;
    let socket =
        owned(raw(libc::SYS_socket, [libc::AF_INET.into(), libc::SOCK_STREAM.into(), MPTCP])?);
    rustix::net::connect(&socket, &std::net::SocketAddrV4::new(Ipv4Addr::LOCALHOST, port))?;
    Ok(socket.into())
}

fn io_uring() -> io::Result<()> {
    let mut parameters = [0_u8; 120];
    raw(libc::SYS_io_uring_setup, [1, parameters.as_mut_ptr() as i64]).map(drop)
}

/// A new user namespace by `clone`; the child only ends.
fn clone_user() -> io::Result<()> {
    let flags = libc::CLONE_NEWUSER | libc::SIGCHLD;
    if raw(libc::SYS_clone, [flags.into()])? == 0 {
        std::process::exit(0);
    }
    Ok(())
}

/// Reads the memory of another process: the first mapped page that `maps` shows.
fn peek(pid: i64) -> io::Result<()> {
    let maps = std::fs::read_to_string(format!("/proc/{pid}/maps"))?;
    let start = maps.split('-').next().map(|text| i64::from_str_radix(text, 16));
    let Some(Ok(start)) = start else { return Err(io::ErrorKind::NotFound.into()) };
    let mut byte = 0_u8;
    let local = [(&raw mut byte) as i64, 1];
    let remote = [start, 1];
    let [local, remote] = [local.as_ptr() as i64, remote.as_ptr() as i64];
    raw(libc::SYS_process_vm_readv, [pid, local, 1, remote, 1, 0]).map(drop)
}

/// Types a character into an own terminal; `high` goes into the upper half of the request.
fn tiocsti(high: i64) -> io::Result<()> {
    let terminal = std::fs::File::options().read(true).write(true).open("/dev/ptmx")?;
    let unlocked = 0_i32;
    let control = i64::from(terminal.as_raw_fd());
    let pointer = (&raw const unlocked) as i64;
    raw(libc::SYS_ioctl, [control, libc::TIOCSPTLCK as i64, pointer])?;
    let _session = rustix::process::setsid();
    let inner = raw(libc::SYS_ioctl, [control, libc::TIOCGPTPEER as i64, libc::O_RDWR.into()])?;
    let inner = owned(inner);
    raw(libc::SYS_ioctl, [inner.as_raw_fd().into(), libc::TIOCSCTTY as i64, 0])?;
    let character = b'x';
    let request = (high << 32) | i64::try_from(libc::TIOCSTI).unwrap();
    let typed =
        raw(libc::SYS_ioctl, [inner.as_raw_fd().into(), request, (&raw const character) as i64]);
    // Closing the terminal would hang us up before we can say how it went.
    std::mem::forget((terminal, inner));
    typed.map(drop)
}

/// The second system call table of the processor: `getpid` by interrupt.
fn i386() -> ExitCode {
    #[cfg(target_arch = "x86_64")]
    {
        let mut result: i64 = 20;
        #[expect(unsafe_code, reason = "the call in question has no other way")]
        // SAFETY: `getpid` takes nothing and touches no memory.
        unsafe {
            std::arch::asm!("int 0x80", inout("rax") result);
        }
        println!("{}", if result > 0 { "done" } else { "refused 38" });
    }
    ExitCode::SUCCESS
}

/// Prints the open descriptors above the standard ones, but the one that lists them.
fn descriptors() -> ExitCode {
    let mut open = Vec::new();
    for number in 3..1024 {
        if raw(libc::SYS_fcntl, [number, libc::F_GETFD.into()]).is_ok() {
            open.push(number.to_string());
        }
    }
    println!("open [{}]", open.join(" "));
    ExitCode::SUCCESS
}

/// Forks until it fails or `most` sleep; prints how many.
fn forks(most: i64) -> ExitCode {
    let mut made = 0;
    while made < most {
        match raw(libc::SYS_clone, [libc::SIGCHLD.into()]) {
            Ok(0) => loop {
                std::thread::sleep(std::time::Duration::from_mins(1));
            },
            Ok(_) => made += 1,
            Err(_) => break,
        }
    }
    println!("made {made}");
    ExitCode::SUCCESS
}

/// Takes memory by the megabyte and writes to it, keeps it while the rest of the command line runs, if
/// there is one, and prints how much there was.
fn memory(bytes: usize, meanwhile: &[OsString]) -> ExitCode {
    const STEP: usize = 1 << 20;
    let mut taken: Vec<Vec<u8>> = Vec::new();
    while taken.len() * STEP < bytes {
        let mut block = Vec::new();
        if block.try_reserve_exact(STEP).is_err() {
            break;
        }
        block.resize(STEP, 1);
        taken.push(block);
    }
    if let Some((program, arguments)) = meanwhile.split_first() {
        std::process::Command::new(program).args(arguments).status().unwrap();
    }
    println!("took {}", taken.len() * STEP);
    ExitCode::SUCCESS
}

/// Writes zeros until it fails or `bytes` are written.
fn fill(path: &Path, bytes: i64) -> io::Result<()> {
    // The signal of a file that grew too large would end us before we can say so.
    let ignore = libc::SIG_IGN as i64;
    let action = [ignore, 0, 0, 0];
    raw(libc::SYS_rt_sigaction, [libc::SIGXFSZ.into(), action.as_ptr() as i64, 0, 8])?;
    let mut file = std::fs::File::create(path)?;
    let block = vec![0_u8; 1 << 20];
    for _ in 0..bytes >> 20 {
        file.write_all(&block)?;
    }
    Ok(())
}

/// A server and its client within one program.
fn loopback() -> io::Result<()> {
    for address in ["127.0.0.1:0", "[::1]:0"] {
        let listener = std::net::TcpListener::bind(address)?;
        let mut client = TcpStream::connect(listener.local_addr()?)?;
        let (mut server, _) = listener.accept()?;
        server.write_all(b"x")?;
        client.read_exact(&mut [0; 1])?;
    }
    assert!(size_of::<usize>() == 8, "arguments are 64 bits wide");
    Ok(())
}
