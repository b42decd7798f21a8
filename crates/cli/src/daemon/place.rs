//! The daemon's folder in the data directory: its token, its lock, its state.
//!
//! Who runs is told by a lock that the kernel holds for the process and gives back however it ends,
//! so that nothing can be stale. Programs in boxes do not see the data directory.

use std::{
    fs,
    io::{ErrorKind, Read as _, Write as _},
    os::unix::fs::{DirBuilderExt as _, MetadataExt as _, OpenOptionsExt as _},
    path::{Path, PathBuf},
};

use anyhow::{Context as _, Result, bail};
use rustix::{
    fs::{FlockOperation, OFlags},
    process::{Flock, FlockType, Pid},
};
use serde_json::{Value, json};

use crate::network::write_whole;

/// Random bytes of a token.
const TOKEN_BYTES: usize = 32;

/// The folder.
#[derive(Debug, Clone)]
pub(crate) struct Place {
    folder: PathBuf,
}

/// Held by the daemon for as long as it runs.
#[derive(Debug)]
pub(crate) struct Lock(#[expect(dead_code, reason = "closing it is what releases it")] fs::File);

/// What a running daemon says of itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct State {
    /// Its process.
    pub(crate) pid: i32,
    /// Its port on 127.0.0.1.
    pub(crate) port: u16,
}

impl Place {
    /// The folder in this data directory; it need not be there yet.
    pub(crate) fn new(data_dir: &Path) -> Self {
        Self { folder: data_dir.join("daemon") }
    }

    /// Makes the folder, for nobody else to look into.
    pub(crate) fn make(&self) -> Result<()> {
        let made = fs::DirBuilder::new().recursive(true).mode(0o700).create(&self.folder);
        made.with_context(|| self.folder.display().to_string())
    }

    /// The file that holds the token.
    pub(crate) fn token_file(&self) -> PathBuf {
        self.folder.join("token")
    }

    /// The file to which a daemon in the background logs.
    pub(crate) fn log_file(&self) -> PathBuf {
        self.folder.join("log")
    }

    fn lock_file(&self) -> PathBuf {
        self.folder.join("lock")
    }

    fn state_file(&self) -> PathBuf {
        self.folder.join("state.json")
    }

    /// The token, made at its first use.
    ///
    /// # Errors
    ///
    /// When its file could be read or was written by somebody else, with the command that mends it.
    pub(crate) fn token(&self) -> Result<String> {
        let path = self.token_file();
        if let Some(token) = read_token(&path)? {
            return Ok(token);
        }
        self.make()?;
        let mut random = [0; TOKEN_BYTES];
        fs::File::open("/dev/urandom")
            .and_then(|mut source| source.read_exact(&mut random))
            .context("no random numbers for a token")?;
        let mut token = String::new();
        for byte in random {
            token.push_str(&format!("{byte:02x}"));
        }
        // Made aside and linked: whoever comes second finds the first one's, and nobody half of one.
        let new = self.folder.join(format!(".token.{}", std::process::id()));
        let made = fs::OpenOptions::new()
            .write(true)
            .create_new(true)
            .mode(0o600)
            .open(&new)
            .and_then(|mut file| writeln!(file, "{token}").and_then(|()| file.sync_all()))
            .and_then(|()| match fs::hard_link(&new, &path) {
                Err(error) if error.kind() != ErrorKind::AlreadyExists => Err(error),
                _ => Ok(()),
            });
        let _gone = fs::remove_file(&new);
        made.with_context(|| path.display().to_string())?;
        match read_token(&path)? {
            Some(token) => Ok(token),
            None => bail!("the token file {} vanished", path.display()),
        }
    }

    /// Becomes the one daemon of this folder; else the process that is.
    pub(crate) fn lock(&self) -> Result<Result<Lock, i32>> {
        self.make()?;
        let path = self.lock_file();
        let file = fs::OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .mode(0o600)
            .open(&path)
            .with_context(|| path.display().to_string())?;
        match rustix::fs::fcntl_lock(&file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => Ok(Ok(Lock(file))),
            Err(_) => Ok(Err(holder(&file)?.map_or(0, number))),
        }
    }

    /// The process of the daemon that runs.
    pub(crate) fn pid(&self) -> Result<Option<Pid>> {
        let path = self.lock_file();
        match fs::File::open(&path) {
            Ok(file) => holder(&file),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error).with_context(|| path.display().to_string()),
        }
    }

    /// Writes what others need to find the daemon.
    pub(crate) fn write(&self, state: &State) -> Result<()> {
        let path = self.state_file();
        let text = json!({ "pid": state.pid, "port": state.port }).to_string() + "\n";
        write_whole(&path, text.as_bytes()).with_context(|| path.display().to_string())
    }

    /// Takes that back.
    pub(crate) fn clear(&self) {
        let _gone = fs::remove_file(self.state_file());
    }

    /// The state of the daemon that runs; `None` when none does, or has not come so far.
    pub(crate) fn state(&self) -> Result<Option<State>> {
        let Some(pid) = self.pid()? else { return Ok(None) };
        let text = fs::read_to_string(self.state_file()).unwrap_or_default();
        let state: Value = serde_json::from_str(&text).unwrap_or_default();
        let port = state["port"].as_u64().and_then(|port| u16::try_from(port).ok());
        let pid = number(pid);
        // A file that another daemon left says nothing of this one.
        let port = port.filter(|_| state["pid"].as_i64() == Some(pid.into()));
        Ok(port.map(|port| State { pid, port }))
    }
}

fn number(pid: Pid) -> i32 {
    pid.as_raw_nonzero().get()
}

/// The process that holds the lock.
fn holder(file: &fs::File) -> Result<Option<Pid>> {
    let held = rustix::process::fcntl_getlk(file, &Flock::from(FlockType::WriteLock));
    Ok(held.context("the daemon's lock cannot be looked at")?.and_then(|held| held.pid))
}

/// The token in a file that nobody else could have read or written; `None` where there is no file.
fn read_token(path: &Path) -> Result<Option<String>> {
    let shown = path.display();
    let opened = fs::OpenOptions::new()
        .read(true)
        .custom_flags((OFlags::NOFOLLOW | OFlags::NONBLOCK).bits() as i32)
        .open(path);
    let file = match opened {
        Ok(file) => file,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        Err(error) if error.raw_os_error() == Some(rustix::io::Errno::LOOP.raw_os_error()) => {
            bail!("the token file {shown} is a link; repair: rm {shown}")
        }
        Err(error) => return Err(error).with_context(|| format!("the token file {shown}")),
    };
    let found = file.metadata()?;
    let (owner, own) = (found.uid(), rustix::process::geteuid().as_raw());
    if !found.is_file() || owner != own {
        bail!(
            "the token file {shown} is not a file of user {own} (it belongs to {owner}); repair: rm -r {shown}"
        );
    }
    let mode = found.mode() & 0o7777;
    if mode != 0o600 {
        bail!(
            "the token file {shown} has mode {mode:04o}, others may have read it; repair: chmod 600 {shown}, \
             or for a new token: rm {shown}"
        );
    }
    let mut text = String::new();
    let _some = (&file).take(4096).read_to_string(&mut text);
    let token = text.trim_end();
    if token.len() != 2 * TOKEN_BYTES || !token.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        bail!("the token file {shown} holds no token; repair: rm {shown}");
    }
    Ok(Some(token.to_owned()))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{PermissionsExt as _, symlink};

    use super::*;

    #[test]
    fn a_token_is_made_once_and_for_its_owner_alone() {
        let folder = tempfile::tempdir().unwrap();
        let place = Place::new(&folder.path().join("data"));
        let token = place.token().unwrap();
        assert_eq!(token.len(), 64);
        assert_eq!(place.token().unwrap(), token);
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o7777;
        assert_eq!(mode(&place.token_file()), 0o600);
        assert_eq!(mode(&place.folder), 0o700);
        let other = Place::new(&folder.path().join("other"));
        assert_ne!(other.token().unwrap(), token);
        let names: Vec<_> = fs::read_dir(&place.folder).unwrap().flatten().collect();
        assert_eq!(names.len(), 1, "{names:?}");
    }

    #[test]
    fn a_token_file_that_is_not_ours_alone_is_refused_with_what_repairs_it() {
        let folder = tempfile::tempdir().unwrap();
        let place = Place::new(folder.path());
        place.token().unwrap();
        let file = place.token_file();
        for mode in [0o644, 0o640, 0o604, 0o620, 0o400, 0o700, 0o4600] {
            fs::set_permissions(&file, fs::Permissions::from_mode(mode)).unwrap();
            let error = place.token().unwrap_err().to_string();
            assert!(error.contains(&format!("chmod 600 {}", file.display())), "{error}");
            assert!(error.contains(&format!("{mode:04o}")), "{error}");
        }
        fs::set_permissions(&file, fs::Permissions::from_mode(0o600)).unwrap();
        assert!(place.token().is_ok());
        for text in ["", "short\n", &"g".repeat(64)] {
            fs::write(&file, text).unwrap();
            let error = place.token().unwrap_err().to_string();
            assert!(error.ends_with(&format!("rm {}", file.display())), "{error}");
        }
        fs::rename(&file, folder.path().join("elsewhere")).unwrap();
        symlink(folder.path().join("elsewhere"), &file).unwrap();
        assert!(place.token().unwrap_err().to_string().contains("is a link"));
        fs::remove_file(&file).unwrap();
        fs::create_dir(&file).unwrap();
        assert!(place.token().unwrap_err().to_string().contains("is not a file of user"));
    }

    #[test]
    fn nothing_runs_where_nothing_holds_the_lock() {
        let folder = tempfile::tempdir().unwrap();
        let place = Place::new(folder.path());
        assert_eq!(place.pid().unwrap(), None);
        place.make().unwrap();
        // What a daemon leaves that was killed.
        fs::write(place.lock_file(), "").unwrap();
        place.write(&State { pid: 1, port: 1 }).unwrap();
        assert_eq!(place.state().unwrap(), None);
        assert!(place.lock().unwrap().is_ok());
    }
}
