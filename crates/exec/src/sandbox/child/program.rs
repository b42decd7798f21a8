//! The last process before the program: becomes it, or reports why not.

use std::ffi::{CString, OsString, c_char};
use std::io;
use std::os::unix::ffi::OsStrExt as _;

use rustix::process::setsid;

use super::super::parent::{Action, Specification};
use super::super::report::{Failure, Step};
use super::{canary, descriptors, reader};

/// Becomes the program. Returns only when that failed.
pub(super) fn become_program(
    specification: &Specification,
    additions: &[(OsString, OsString)],
) -> Failure {
    // A session of its own, so that no terminal and no group of ours can be reached by it.
    let _session = setsid();
    if specification.action == Action::Canary {
        return canary::run(specification);
    }
    if specification.action == Action::Read {
        return reader::run();
    }
    if let Err(error) = descriptors::close_from_on_exec(3) {
        return Failure::new(Step::Descriptors, "", error);
    }
    execute(specification, additions)
}

/// Executes the program with its environment and these variables. Returns only when that failed.
pub(super) fn execute(
    specification: &Specification,
    additions: &[(OsString, OsString)],
) -> Failure {
    match Image::new(specification, additions) {
        Ok(image) => image.execute(),
        Err(failure) => failure,
    }
}

/// What is handed to the kernel to become the program.
pub(super) struct Image {
    program: CString,
    arguments: Texts,
    environment: Texts,
}

impl Image {
    /// The program with its environment and these variables.
    pub(super) fn new(
        specification: &Specification,
        additions: &[(OsString, OsString)],
    ) -> Result<Self, Failure> {
        let own =
            |(name, _): &&(OsString, OsString)| additions.iter().all(|(other, _)| other != name);
        let inherited = specification.profile.environment.iter().filter(own);
        let environment: io::Result<Vec<_>> = inherited.chain(additions).map(assignment).collect();
        let program = CString::new(specification.program.as_os_str().as_bytes());
        let arguments: Result<Vec<_>, _> =
            specification.arguments.iter().map(|text| CString::new(text.as_bytes())).collect();
        let (Ok(program), Ok(arguments), Ok(environment)) = (program, arguments, environment)
        else {
            let error = io::Error::from_raw_os_error(libc::EINVAL);
            return Err(Failure::new(
                Step::Execute,
                specification.program.to_string_lossy(),
                error,
            ));
        };
        Ok(Self { program, arguments: Texts::new(arguments), environment: Texts::new(environment) })
    }

    /// `execve`, and not `execvp` as the standard library's: that one hands a file which is no
    /// program to a shell. Returns only when that failed.
    pub(super) fn execute(&self) -> Failure {
        #[expect(unsafe_code, reason = "the pointers lead into texts that outlive the calls")]
        unsafe {
            // The runtime of Rust ignores it.
            libc::signal(libc::SIGPIPE, libc::SIG_DFL);
            // A reaper takes none.
            let mut none = std::mem::zeroed::<libc::sigset_t>();
            libc::sigemptyset(&raw mut none);
            libc::sigprocmask(libc::SIG_SETMASK, &raw const none, std::ptr::null_mut());
            let (arguments, environment) = (&self.arguments, &self.environment);
            libc::execve(
                self.program.as_ptr(),
                arguments.pointers.as_ptr(),
                environment.pointers.as_ptr(),
            );
        }
        let error = io::Error::last_os_error();
        Failure::new(Step::Execute, self.program.to_string_lossy(), error)
    }
}

/// Texts as the kernel takes them: pointers, the last of them null.
struct Texts {
    pointers: Vec<*const c_char>,
    /// Where they lead.
    _texts: Vec<CString>,
}

impl Texts {
    fn new(texts: Vec<CString>) -> Self {
        let pointers = texts.iter().map(|text| text.as_ptr()).chain([std::ptr::null()]).collect();
        Self { pointers, _texts: texts }
    }
}

/// `NAME=value`.
fn assignment((name, value): &(OsString, OsString)) -> io::Result<CString> {
    CString::new([name.as_bytes(), b"=", value.as_bytes()].concat()).map_err(io::Error::other)
}

/// Variables that the box itself decides: home, temporary directory, proxy.
pub(super) fn additions(
    specification: &Specification,
    temporary: OsString,
    proxy_port: Option<u16>,
) -> Vec<(OsString, OsString)> {
    let mut variables = vec![
        (OsString::from("HOME"), specification.profile.home.clone().into_os_string()),
        (OsString::from("TMPDIR"), temporary),
    ];
    if let Some(port) = proxy_port {
        let proxy = OsString::from(format!("http://127.0.0.1:{port}"));
        for name in ["http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"] {
            variables.push((name.into(), proxy.clone()));
        }
        for name in ["no_proxy", "NO_PROXY"] {
            variables.push((name.into(), "localhost,127.0.0.1,::1".into()));
        }
        // Runtimes that heed the variables only when told so.
        variables.push(("NODE_USE_ENV_PROXY".into(), "1".into()));
    }
    variables
}
