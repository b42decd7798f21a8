//! The workspace root of a stdio session: chosen by the operator, else by where we were started.

use std::path::{Path, PathBuf};

use rmcp::{RoleServer, service::RequestContext};
use tokio::{sync::Mutex, time::timeout};
use url::Url;

/// How long the client may take to name its roots.
const CLIENT_ANSWER: std::time::Duration = std::time::Duration::from_secs(1);

/// Where the calls of a session work.
#[derive(Debug)]
pub struct Root {
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
        Self { start: root, ask: false, client: Mutex::default() }
    }

    /// The client's first root if it declares roots and names one in time, else this directory:
    /// for a server started where nobody works (`/` or the home directory).
    pub fn of_client_or(root: PathBuf) -> Self {
        Self { start: root, ask: true, client: Mutex::default() }
    }

    /// The root of the call with this context.
    pub(crate) async fn resolve(&self, context: &RequestContext<RoleServer>) -> PathBuf {
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

    /// The client says that its roots have changed.
    pub(crate) async fn roots_changed(&self) {
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

/// The canonical directory that a `file:` URI names.
fn directory(uri: &str) -> Option<PathBuf> {
    let path = Url::parse(uri).ok()?.to_file_path().ok()?;
    path.canonicalize().ok().filter(|path| Path::is_dir(path))
}

#[cfg(test)]
mod tests {
    use super::*;

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
