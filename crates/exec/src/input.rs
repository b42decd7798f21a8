//! The input file of a run: as standard input, and as text for `FILE_CONTENT`.

use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd as _, OwnedFd};
use std::path::Path;

use rustix::fs::{CWD, Mode, OFlags, openat};

use crate::content::{self, Nul};
use crate::error::ExecError;
use crate::language::Language;
use crate::request::Input;

/// Stages the file's text in a directory when the program names it, and gives the name it has there.
pub(crate) fn stage_content(
    language: Language,
    code: &str,
    input: &Input,
    stage: &Path,
) -> Result<Option<&'static str>, ExecError> {
    /// Its name there.
    const CONTENT: &str = "content";
    let Input::File { file, .. } = input else { return Ok(None) };
    if !language.mentions_content(code) {
        return Ok(None);
    }
    let nul = if language == Language::shell() { Nul::Refused } else { Nul::Allowed };
    content::stage(file, &stage.join(CONTENT), nul)?;
    Ok(Some(CONTENT))
}

/// The standard input of a program: nothing, or the very file, from its first byte.
pub(crate) fn open_input(input: &Input) -> Result<OwnedFd, ExecError> {
    let failed = |source: io::Error| ExecError::Input { step: "open it", source };
    match input {
        Input::Empty => Ok(File::open("/dev/null").map_err(failed)?.into()),
        Input::File { file, .. } => {
            // Through the descriptor, so that it is the file that was checked; opened anew, so
            // that it has an offset of its own.
            let path = format!("/proc/self/fd/{}", file.as_raw_fd());
            let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NOCTTY;
            openat(CWD, path, flags, Mode::empty()).map_err(|error| failed(error.into()))
        }
    }
}
