//! The daemon: whether it runs and answers, and whether its token is the user's alone.

use std::{fs, os::unix::fs::MetadataExt as _};

use super::{Check, Patient};
use crate::{
    daemon::{client, place::Place},
    setup::{self, clients::CLIENTS},
};

/// It need not run, unless a client asks it.
pub(super) fn check(patient: &Patient) -> Check {
    let place = Place::new(&patient.data_dir);
    let token = place.token_file();
    if let Ok(metadata) = fs::metadata(&token) {
        let mine = metadata.uid() == rustix::process::getuid().as_raw();
        if !mine || metadata.mode() & 0o077 != 0 {
            let token = token.display();
            return Check::bad("daemon", format!("{token} can be read by others"))
                .means("the daemon does not start, and others may have the token")
                .repaired_by(format!("rm {token}; the daemon makes another at its next start"));
        }
    }
    let waiting: Vec<_> = CLIENTS
        .iter()
        .filter(|client| {
            let status = setup::status(client, &patient.surroundings);
            let entry = status.ok().and_then(|status| status.entry.ok().flatten());
            entry.is_some_and(|entry| ["url", "httpUrl"].iter().any(|key| entry.get(key).is_some()))
        })
        .map(|client| client.title)
        .collect();
    match client::find(&place) {
        Err(error) => Check::bad("daemon", format!("{error:#}")),
        Ok(None) if waiting.is_empty() => {
            Check::good("daemon", "not running, and no client asks it")
        }
        Ok(None) => Check::bad("daemon", "not running")
            .means(format!("{} cannot reach the tools", waiting.join(", ")))
            .repaired_by("quietcontext daemon start"),
        Ok(Some(running)) => {
            let at = format!("process {}, port {}", running.state.pid, running.state.port);
            match running.answer {
                Err(error) => Check::bad("daemon", format!("{at} does not answer: {error:#}"))
                    .repaired_by("quietcontext daemon stop && quietcontext daemon start"),
                Ok(answer) if answer["version"] == env!("CARGO_PKG_VERSION") => {
                    Check::good("daemon", format!("running: {at}"))
                }
                Ok(answer) => Check::missing(
                    "daemon",
                    format!("running: {at}, version {}", answer["version"]),
                )
                .means("it is of another version than this program")
                .repaired_by("quietcontext daemon stop && quietcontext daemon start"),
            }
        }
    }
}
