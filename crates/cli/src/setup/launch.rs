//! What a client is told to start: this very program, by a path that lasts.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};

use super::client::Launch;
use crate::config::{Flags, Surroundings};

/// This program, with the flags that were given here.
///
/// # Errors
///
/// A path that is no text: most files cannot hold another.
pub(crate) fn launch(flags: &Flags, surroundings: &Surroundings) -> Result<Launch> {
    let own = std::env::current_exe().context("the path of this program is not known")?;
    let command = text(&lasting(own, surroundings))?;
    let mut arguments = vec!["serve".to_owned()];
    for (name, folder) in [("--root", &flags.root), ("--data-dir", &flags.data_dir)] {
        if let Some(folder) = folder {
            arguments.extend([name.to_owned(), text(&std::path::absolute(folder)?)?]);
        }
    }
    for (name, word) in [("--log", &flags.log), ("--sandbox", &flags.sandbox)] {
        if let Some(word) = word {
            arguments.extend([name.to_owned(), word.clone()]);
        }
    }
    Ok(Launch { command, arguments, daemon: None })
}

/// Whether `file` is this very program, also by a link.
pub(crate) fn is_this_program(file: &Path) -> bool {
    let own = std::env::current_exe().and_then(|own| own.canonicalize());
    own.is_ok_and(|own| file.canonicalize().is_ok_and(|file| file == own))
}

/// Why the program may soon be gone from where it is.
pub(crate) fn passing(launch: &Launch) -> Option<&'static str> {
    const SIGNS: [(&str, &str); 5] = [
        ("/_npx/", "npx's cache"),
        ("/.cache/uv/", "uvx's cache"),
        ("/target/debug/", "a build folder"),
        ("/target/release/", "a build folder"),
        ("/tmp/", "the temporary folder"),
    ];
    SIGNS.iter().find(|(sign, _)| launch.command.contains(sign)).map(|(_, what)| *what)
}

/// The name on the search path where it leads here: packages replace what a link leads to.
fn lasting(own: PathBuf, surroundings: &Surroundings) -> PathBuf {
    let real = own.canonicalize().unwrap_or(own);
    let folders = surroundings.variable("PATH").map(std::env::split_paths).into_iter().flatten();
    let named =
        folders.filter(|folder| folder.is_absolute()).map(|folder| folder.join("quietcontext"));
    let mut same = named.filter(|path| path.canonicalize().is_ok_and(|path| path == real));
    same.next().unwrap_or(real)
}

fn text(path: &Path) -> Result<String> {
    let text = path.to_str().with_context(|| format!("{} is not UTF-8", path.display()))?;
    Ok(text.to_owned())
}
