//! The workspace root of a call. On stdio it is the session's: chosen by the operator, else by where
//! we were started. Over HTTP each request names its own, among those that the user registered.

use std::{
    ffi::OsStr,
    fmt,
    os::unix::ffi::OsStrExt as _,
    path::{Path, PathBuf},
    sync::Arc,
};

use hyper::http::request::Parts;
use rmcp::{RoleServer, service::RequestContext};
use tokio::{sync::Mutex, time::timeout};
use url::Url;

/// How long the client may take to name its roots.
const CLIENT_ANSWER: std::time::Duration = std::time::Duration::from_secs(1);

/// The header in which a request over HTTP names its root.
const HEADER: &str = "x-quietcontext-root";

/// What a request without a usable header is told.
const UNNAMED: &str = "error: no workspace root: the client's configuration must send the header \
                       X-QuietContext-Root with the absolute path of the project, once";

/// Tells the canonical root that a named path means, or in one line why it means none. May block for
/// as long as the disk does.
pub type Registered = Box<dyn Fn(&Path) -> Result<PathBuf, String> + Send + Sync>;

/// Where calls work.
#[derive(Debug)]
pub struct Root(How);

enum How {
    Session(Session),
    Named(Arc<Registered>),
}

impl fmt::Debug for How {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Session(session) => session.fmt(formatter),
            Self::Named(_) => formatter.write_str("Named"),
        }
    }
}

/// The root of all calls of one session.
#[derive(Debug)]
struct Session {
    start: PathBuf,
    /// Whether the client's first root is preferred to `start`.
    ask: bool,
    client: Mutex<Client>,
}

#[derive(Debug, Default)]
enum Client {
    #[default]
    NotAsked,
    /// It named nothing of use; it is asked again when it says that its roots have changed.
    Without,
    With(PathBuf),
}

impl Root {
    /// This directory and no other; a canonical path.
    pub fn fixed(root: PathBuf) -> Self {
        Self(How::Session(Session { start: root, ask: false, client: Mutex::default() }))
    }

    /// The client's first root if it declares roots and names one in time, else this directory:
    /// for a server started where nobody works (`/` or the home directory).
    pub fn of_client_or(root: PathBuf) -> Self {
        Self(How::Session(Session { start: root, ask: true, client: Mutex::default() }))
    }

    /// What each request names in its header `X-QuietContext-Root`, as far as it is registered.
    pub fn named(registered: Registered) -> Self {
        Self(How::Named(Arc::new(registered)))
    }

    /// The root of the call with this context; else a line that says why there is none.
    pub(crate) async fn resolve(
        &self,
        context: &RequestContext<RoleServer>,
    ) -> Result<PathBuf, String> {
        let registered = match &self.0 {
            How::Session(session) => return Ok(session.resolve(context).await),
            How::Named(registered) => Arc::clone(registered),
        };
        let parts = context.extensions.get::<Parts>();
        let mut values = parts.into_iter().flat_map(|parts| parts.headers.get_all(HEADER));
        let (Some(value), None) = (values.next(), values.next()) else {
            return Err(UNNAMED.to_owned());
        };
        let path = named(value.as_bytes()).ok_or_else(|| UNNAMED.to_owned())?;
        // At once, in this thread: it takes microseconds. Where a disk does not answer, another thread
        // takes over what this one had to do.
        tokio::task::block_in_place(|| registered(&path))
    }

    /// The client says that its roots have changed.
    pub(crate) async fn roots_changed(&self) {
        if let How::Session(session) = &self.0 {
            session.roots_changed().await;
        }
    }
}

impl Session {
    async fn resolve(&self, context: &RequestContext<RoleServer>) -> PathBuf {
        let declared =
            || context.client_capabilities().is_some_and(|client| client.roots.is_some());
        if !self.ask || !declared() {
            return self.start.clone();
        }
        let mut client = self.client.lock().await;
        if matches!(*client, Client::NotAsked) {
            *client = match first_root(context).await {
                Some(root) => Client::With(root),
                None => Client::Without,
            };
        }
        match &*client {
            Client::With(root) => root.clone(),
            Client::NotAsked | Client::Without => self.start.clone(),
        }
    }

    async fn roots_changed(&self) {
        let mut client = self.client.lock().await;
        // A root that was in use stays: its references and jobs must not vanish in mid-session.
        if matches!(*client, Client::Without) {
            *client = Client::NotAsked;
        }
    }
}

#[expect(deprecated, reason = "roots are how clients up to 2025-11-25 name their folder")]
async fn first_root(context: &RequestContext<RoleServer>) -> Option<PathBuf> {
    let asked = timeout(CLIENT_ANSWER, context.peer.list_roots()).await;
    let root = match asked {
        Ok(Ok(answer)) => answer.roots.into_iter().next()?,
        Ok(Err(error)) => {
            tracing::debug!(%error, "the client named no roots");
            return None;
        }
        Err(_) => {
            tracing::debug!("the client did not name its roots in time");
            return None;
        }
    };
    let root = directory(&root.uri)?;
    tracing::debug!(root = %root.display(), "root of the client");
    Some(root)
}

/// The absolute path that a header names: as it is, or as a `file:` URI, for clients that can write
/// only ASCII into one.
fn named(value: &[u8]) -> Option<PathBuf> {
    let path = if value.starts_with(b"file:") {
        Url::parse(std::str::from_utf8(value).ok()?).ok()?.to_file_path().ok()?
    } else {
        PathBuf::from(OsStr::from_bytes(value))
    };
    path.is_absolute().then_some(path)
}

/// The canonical directory that a `file:` URI names.
fn directory(uri: &str) -> Option<PathBuf> {
    let path = Url::parse(uri).ok()?.to_file_path().ok()?;
    path.canonicalize().ok().filter(|path| Path::is_dir(path))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_header_names_an_absolute_path_or_a_file_uri() {
        for (value, wanted) in [
            (&b"/home/ada/my project"[..], Some("/home/ada/my project")),
            (b"file:///home/ada/my%20project", Some("/home/ada/my project")),
            (b"file:///home/ada/caf%C3%A9", Some("/home/ada/caf\u{e9}")),
            ("/home/ada/caf\u{e9}".as_bytes(), Some("/home/ada/caf\u{e9}")),
            (b"project", None),
            (b"./project", None),
            (b"~/project", None),
            (b"https://example.com/", None),
            (b"file://elsewhere/x", None),
            (b"", None),
        ] {
            assert_eq!(named(value), wanted.map(PathBuf::from), "{}", value.escape_ascii());
        }
    }

    #[test]
    fn a_root_is_an_existing_directory_named_by_a_file_uri() {
        let home = tempfile::tempdir().unwrap();
        let folder = home.path().join("my project");
        std::fs::create_dir(&folder).unwrap();
        std::fs::write(home.path().join("file"), "").unwrap();
        std::os::unix::fs::symlink(&folder, home.path().join("link")).unwrap();
        let base = home.path().display();
        let real = folder.canonicalize().unwrap();
        for (uri, wanted) in [
            (format!("file://{base}/my%20project"), Some(&real)),
            (format!("file://{base}/my%20project/"), Some(&real)),
            (format!("file://localhost{base}/my%20project"), Some(&real)),
            (format!("file://{base}/link"), Some(&real)),
            (format!("file://{base}/file"), None),
            (format!("file://{base}/missing"), None),
            (format!("{base}/my project"), None),
            ("https://example.com/".to_owned(), None),
            (String::new(), None),
        ] {
            assert_eq!(directory(&uri).as_ref(), wanted, "{uri}");
        }
    }
}
