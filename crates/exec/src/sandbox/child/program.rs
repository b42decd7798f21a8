//! The last process before the program: becomes it, or reports why not.

use std::ffi::OsString;
use std::os::unix::process::CommandExt as _;
use std::process::Command;

use rustix::process::setsid;

use super::super::parent::{Action, Specification};
use super::super::report::{Failure, Step};
use super::{canary, descriptors};

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
    if let Err(error) = descriptors::close_from_on_exec(3) {
        return Failure::new(Step::Descriptors, "", error);
    }
    let mut arguments = specification.arguments.iter();
    let mut command = Command::new(&specification.program);
    if let Some(zeroth) = arguments.next() {
        command.arg0(zeroth);
    }
    // `exec` also gives SIGPIPE back its default action, which the runtime of Rust changes.
    let error = command
        .args(arguments)
        .env_clear()
        .envs(specification.profile.environment.iter().map(|(key, value)| (key, value)))
        .envs(additions.iter().map(|(key, value)| (key, value)))
        .exec();
    Failure::new(Step::Execute, specification.program.to_string_lossy(), error)
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
