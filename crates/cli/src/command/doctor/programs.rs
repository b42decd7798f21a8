//! This program, and those that run the languages.

use quietcontext_exec::{ExecError, Executor, Language};

use super::{Check, Patient, State, version};
use crate::setup;

/// This binary: its version, and whether typing its name starts it.
pub(super) fn own(patient: &Patient) -> Check {
    const VERSION: &str = env!("CARGO_PKG_VERSION");
    let flags = crate::config::Flags::default();
    let launch = match setup::launch(&flags, &patient.surroundings) {
        Ok(launch) => launch,
        Err(error) => return Check::bad("quietcontext", format!("{error:#}")),
    };
    let here = Check::good("quietcontext", format!("{VERSION}, {}", launch.command));
    let path = patient.surroundings.variable("PATH").unwrap_or_default();
    let named = std::env::split_paths(path).map(|folder| folder.join("quietcontext"));
    match named
        .filter(|file| file.is_file())
        .map(|file| (setup::is_this_program(&file), file))
        .next()
    {
        Some((false, other)) => Check { state: State::Missing, ..here }
            .means(format!("its name starts another one: {}", other.display())),
        _ => match setup::passing(&launch) {
            Some(what) => {
                here.means(format!("it is in {what} and may go away; clients would lose it"))
            }
            None => here,
        },
    }
}

/// Each language: its runtime and the version of that.
pub(super) fn languages(executor: &Executor, patient: &Patient) -> Vec<Check> {
    let found: Vec<_> =
        Language::all().map(|language| (language, executor.runtime(language))).collect();
    let runtimes =
        found.iter().filter_map(|(_, runtime)| Some(runtime.as_ref().ok()?.path.clone()));
    let versions = version::of(&runtimes.collect::<Vec<_>>(), patient);
    let check = |(language, runtime): &(Language, Result<_, ExecError>)| {
        let name = language.name();
        match runtime {
            Ok(quietcontext_exec::Runtime { path, .. }) => {
                let version = versions.get(path);
                let path = path.display();
                Check::good(
                    name,
                    version.map_or_else(
                        || format!("{path}, which did not tell its version in time"),
                        |version| format!("{version}, {path}"),
                    ),
                )
            }
            Err(ExecError::MissingRuntime { hint, .. }) => {
                Check::missing(name, "no runtime on the path")
                    .means(format!("programs in {name} are refused"))
                    .repaired_by(*hint)
            }
            Err(error) => Check::bad(name, error.to_string()),
        }
    };
    found.iter().map(check).collect()
}
