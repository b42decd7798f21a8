//! One configuration file: read with its surroundings, replaced as a whole or not at all.

use std::{
    fs::{self, DirBuilder, File, OpenOptions, Permissions},
    io::{ErrorKind, Read as _, Write as _},
    os::unix::fs::{
        DirBuilderExt as _, MetadataExt as _, OpenOptionsExt as _, PermissionsExt as _,
    },
    path::{Path, PathBuf},
};

use anyhow::{Context as _, Result, bail};

use crate::place;

/// Larger files are nobody's configuration.
const MOST_BYTES: u64 = 16 << 20;

/// Private until somebody decides otherwise: such files hold tokens.
const NEW_MODE: u32 = 0o600;

/// A file as it was when it was read.
#[derive(Debug)]
pub(crate) struct Original {
    /// Where it really is; links are followed.
    target: PathBuf,
    /// What it holds; `None` where there is no file.
    pub(crate) text: Option<String>,
    mode: u32,
    owner: Option<(u32, u32)>,
}

/// Reads the file at `path`.
///
/// # Errors
///
/// What is no regular file, is too large, or is no text.
pub(crate) fn read(path: &Path) -> Result<Original> {
    let target = place::real(path);
    let missing = |target| Original { target, text: None, mode: NEW_MODE, owner: None };
    let metadata = match fs::metadata(&target) {
        Ok(metadata) => metadata,
        Err(error) if error.kind() == ErrorKind::NotFound => {
            if fs::symlink_metadata(&target).is_ok() {
                bail!("it is a link that leads nowhere; remove it or make what it leads to");
            }
            return Ok(missing(target));
        }
        Err(error) => return Err(error.into()),
    };
    if !metadata.is_file() {
        bail!("it is not a file");
    }
    let text = contents(&target)?;
    let owner = Some((metadata.uid(), metadata.gid()));
    Ok(Original { target, text: Some(text), mode: metadata.mode() & 0o7777, owner })
}

fn contents(target: &Path) -> Result<String> {
    let mut bytes = Vec::new();
    File::open(target)?.take(MOST_BYTES + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > MOST_BYTES {
        bail!("it is larger than {} MiB", MOST_BYTES >> 20);
    }
    String::from_utf8(bytes)
        .map_err(|error| anyhow::anyhow!("byte {} is not UTF-8", error.utf8_error().valid_up_to()))
}

impl Original {
    /// Puts `text` in its place, with the same mode and owner; a reader sees the one or the other.
    ///
    /// # Errors
    ///
    /// Where the file is no longer what was read, it stays as it is.
    pub(crate) fn replace(&self, text: &str) -> Result<()> {
        let folder = self.target.parent().context("it has no folder")?;
        if self.text.is_none() {
            DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
        }
        let name = self.target.file_name().unwrap_or_default().to_string_lossy();
        let beside = folder.join(format!(".{name}.quietcontext-{}", std::process::id()));
        let outcome = self.write(&beside, text).and_then(|()| {
            self.still_there()?;
            fs::rename(&beside, &self.target)?;
            Ok(())
        });
        if outcome.is_err() {
            let _gone = fs::remove_file(&beside);
        } else if let Ok(folder) = File::open(folder) {
            // The file is there either way; only a loss of power could tell.
            let _synced = folder.sync_all();
        }
        outcome
    }

    fn write(&self, beside: &Path, text: &str) -> Result<()> {
        let mut file =
            OpenOptions::new().write(true).create_new(true).mode(NEW_MODE).open(beside)?;
        file.write_all(text.as_bytes())?;
        if let Some((user, group)) = self.owner {
            let now = file.metadata()?;
            if (now.uid(), now.gid()) != (user, group) {
                std::os::unix::fs::fchown(&file, Some(user), Some(group))
                    .context("it belongs to somebody else")?;
            }
        }
        file.set_permissions(Permissions::from_mode(self.mode))?;
        file.sync_all()?;
        Ok(())
    }

    /// Removes the file, and of the nearest `folders` above it those that are empty then.
    pub(crate) fn remove(&self, folders: usize) -> Result<()> {
        self.still_there()?;
        fs::remove_file(&self.target)?;
        for folder in self.target.ancestors().skip(1).take(folders) {
            if fs::remove_dir(folder).is_err() {
                break;
            }
        }
        Ok(())
    }

    /// How many folders above the file are not there.
    pub(crate) fn missing_folders(&self) -> usize {
        let above = self.target.ancestors().skip(1);
        above.take_while(|folder| folder.symlink_metadata().is_err()).count()
    }

    /// Clients write their files as well, and must not lose what they wrote since.
    fn still_there(&self) -> Result<()> {
        let now = match contents(&self.target) {
            Ok(text) => Some(text),
            Err(_) if !self.target.exists() => None,
            Err(error) => return Err(error),
        };
        if now != self.text {
            bail!("it was changed by somebody else meanwhile; try again");
        }
        Ok(())
    }
}
