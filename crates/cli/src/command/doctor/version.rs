//! The versions of programs: all are asked at once, and those that do not answer in time are not
//! waited for.

use std::{
    collections::HashMap,
    os::unix::process::CommandExt as _,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    sync::mpsc,
    thread,
    time::Instant,
};

use rustix::process::{Pid, Signal, kill_process_group};

use super::Patient;

/// What each program says its version is.
pub(super) fn of(programs: &[PathBuf], patient: &Patient) -> HashMap<PathBuf, String> {
    let mut asked: Vec<&PathBuf> = programs.iter().collect();
    asked.sort();
    asked.dedup();
    let (say, said) = mpsc::channel();
    let mut groups = HashMap::new();
    for program in asked {
        let Ok(child) = ask(program, patient) else { continue };
        groups.insert(program.clone(), child.id());
        let (say, program) = (say.clone(), program.clone());
        thread::spawn(move || {
            let answer = child.wait_with_output().ok().and_then(|output| {
                // Some say it on the one, some on the other.
                let both = [output.stdout, output.stderr].concat();
                number(&String::from_utf8_lossy(&both))
            });
            let _too_late = say.send((program, answer));
        });
    }
    let mut versions = HashMap::new();
    while !groups.is_empty() {
        let left = patient.deadline.saturating_duration_since(Instant::now());
        let Ok((program, version)) = said.recv_timeout(left) else { break };
        groups.remove(&program);
        versions.extend(version.map(|version| (program, version)));
    }
    for group in groups.into_values() {
        if let Some(group) = i32::try_from(group).ok().and_then(Pid::from_raw) {
            let _gone = kill_process_group(group, Signal::KILL);
        }
    }
    versions
}

/// Starts it in a folder in which no version is pinned, with no more variables than it needs.
fn ask(program: &Path, patient: &Patient) -> std::io::Result<Child> {
    let argument =
        if program.file_name().is_some_and(|name| name == "go") { "version" } else { "--version" };
    let mut command = Command::new(program);
    command.arg(argument).current_dir("/").env_clear().process_group(0);
    for name in ["HOME", "PATH", "RUSTUP_HOME", "CARGO_HOME", "PYENV_ROOT", "NVM_DIR"] {
        if let Some(value) = patient.surroundings.variable(name) {
            command.env(name, value);
        }
    }
    command
        .env("LANG", "C.UTF-8")
        .env("DOTNET_NOLOGO", "1")
        .env("DOTNET_CLI_TELEMETRY_OPTOUT", "1");
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn()
}

/// The first number with a dot in it.
fn number(text: &str) -> Option<String> {
    text.split(|it: char| !it.is_ascii_alphanumeric() && !matches!(it, '.' | '-' | '+'))
        .map(|word| word.trim_start_matches(|it: char| it.is_ascii_alphabetic()))
        .find(|word| {
            let mut parts = word.split('.');
            let is_number = |part: Option<&str>| {
                part.is_some_and(|part| part.starts_with(|it: char| it.is_ascii_digit()))
            };
            is_number(parts.next()) && is_number(parts.next())
        })
        .map(|word| word.trim_end_matches(['.', '-', '+']).to_owned())
}

#[cfg(test)]
mod tests {
    use super::number;

    #[test]
    fn versions_are_found_in_what_programs_say() {
        for (said, wanted) in [
            ("Python 3.12.4\n", Some("3.12.4")),
            ("v22.6.0\n", Some("22.6.0")),
            ("go version go1.22.1 linux/amd64\n", Some("1.22.1")),
            ("rustc 1.92.0-nightly (abc 2025-01-01)\n", Some("1.92.0-nightly")),
            ("GNU bash, version 5.2.15(1)-release (x86_64-pc-linux-gnu)\n", Some("5.2.15")),
            ("This is perl 5, version 38, subversion 2 (v5.38.2) built for x\n", Some("5.38.2")),
            ("Mono C# compiler version 6.8.0.105\n", Some("6.8.0.105")),
            ("Erlang/OTP 25 [erts-13.1.5]\n\nElixir 1.14.0 (compiled)\n", Some("1.14.0")),
            ("quietcontext 0.1.0\n", Some("0.1.0")),
            ("no idea\n", None),
            ("", None),
        ] {
            assert_eq!(number(said).as_deref(), wanted, "{said}");
        }
    }
}
