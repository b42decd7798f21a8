//! The user's own list of hosts: a file of a few lines beside the configuration.
//!
//! Each line is `HOST[:PORT]`, `*.DOMAIN[:PORT]`, or one of these behind `!`, which refuses a host
//! that would be allowed otherwise. It is read anew whenever it has changed, so that a running
//! server follows, and written whole or not at all.

use std::{
    fmt, fs,
    io::{ErrorKind, Write as _},
    os::unix::fs::OpenOptionsExt as _,
    path::{Path, PathBuf},
};

use anyhow::{Context as _, Result, anyhow, bail};
use quietcontext_fetch::{HostPort, proxy::Permit};

/// What a new file begins with.
const HEAD: &str = "\
# Hosts that confined programs may reach beyond those of the user's own tools.
# One HOST[:PORT] or *.DOMAIN[:PORT] a line; without a port 443 is meant; ! before it refuses.
";

/// Hosts of one line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Hosts {
    /// Exactly this.
    One(HostPort),
    /// Every name below this domain.
    Below(HostPort),
}

impl Hosts {
    /// Reads what the user wrote.
    pub(crate) fn parse(text: &str) -> Result<Self> {
        let wrong = || anyhow!("{text:?} must be HOST, HOST:PORT or *.DOMAIN");
        let Some(domain) = text.strip_prefix("*.") else {
            return HostPort::parse(text).map(Self::One).ok_or_else(wrong);
        };
        let domain = HostPort::parse(domain).ok_or_else(wrong)?;
        let name = domain.host().to_string();
        if !name.contains('.') || name.parse::<std::net::IpAddr>().is_ok() {
            bail!(
                "{text:?} is too wide: a domain of at least two parts is needed, such as *.example.com"
            );
        }
        Ok(Self::Below(domain))
    }

    /// Whether some host is named by both.
    pub(crate) fn overlaps(&self, other: &Self) -> bool {
        match other {
            Self::One(host) => self.covers(host),
            Self::Below(domain) => match self {
                Self::One(host) => other.covers(host),
                Self::Below(own) => own == domain || other.covers(own) || self.covers(domain),
            },
        }
    }

    /// Whether it names this host.
    pub(crate) fn covers(&self, target: &HostPort) -> bool {
        match self {
            Self::One(host) => host.covers(target),
            Self::Below(domain) => {
                let (domain, name) = (&domain, target.host().to_string());
                let above = name.strip_suffix(&domain.host().to_string());
                domain.port() == target.port()
                    && above.is_some_and(|above| above.len() > 1 && above.ends_with('.'))
            }
        }
    }

    /// A host that was named may be on this machine; a whole domain was not meant so.
    pub(crate) fn permit(&self) -> Permit {
        match self {
            Self::One(_) => Permit::Named,
            Self::Below(_) => Permit::Public,
        }
    }
}

impl fmt::Display for Hosts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::One(host) => host.fmt(f),
            Self::Below(domain) => write!(f, "*.{domain}"),
        }
    }
}

/// One line of the file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Entry {
    pub(crate) hosts: Hosts,
    /// Whether it refuses instead.
    pub(crate) refused: bool,
}

impl fmt::Display for Entry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", if self.refused { "!" } else { "" }, self.hosts)
    }
}

/// The whole list.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct List {
    pub(crate) entries: Vec<Entry>,
}

impl List {
    fn parse(text: &str) -> Result<Self> {
        let mut entries = Vec::new();
        for (number, line) in text.lines().enumerate() {
            if let Some(entry) = entry(line).with_context(|| format!("line {}", number + 1))? {
                entries.push(entry);
            }
        }
        Ok(Self { entries })
    }

    /// What the list says about a host; `None` when it says nothing. A refusal goes first.
    pub(crate) fn permit(&self, target: &HostPort) -> Option<Permit> {
        let said = |refused: bool| {
            let named = self.entries.iter().filter(move |entry| entry.refused == refused);
            named.filter(|entry| entry.hosts.covers(target)).map(|entry| entry.hosts.permit()).max()
        };
        said(true).map(|_| Permit::No).or_else(|| said(false))
    }

    fn has(&self, wanted: &Entry) -> bool {
        self.entries.contains(wanted)
    }
}

/// The entry of a line; `None` for an empty one and a comment.
fn entry(line: &str) -> Result<Option<Entry>> {
    let text = line.split('#').next().unwrap_or_default().trim();
    if text.is_empty() {
        return Ok(None);
    }
    let (text, refused) = match text.strip_prefix('!') {
        Some(text) => (text.trim(), true),
        None => (text, false),
    };
    Ok(Some(Entry { hosts: Hosts::parse(text)?, refused }))
}

/// The file that holds the list.
#[derive(Debug, Clone)]
pub(crate) struct ListFile {
    path: PathBuf,
}

impl ListFile {
    pub(crate) fn new(path: PathBuf) -> Self {
        Self { path }
    }

    /// The list; empty where there is no file.
    pub(crate) fn read(&self) -> Result<List> {
        List::parse(&self.text()?).with_context(|| self.path.display().to_string())
    }

    fn text(&self) -> Result<String> {
        match fs::read_to_string(&self.path) {
            Ok(text) => Ok(text),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(String::new()),
            Err(error) => Err(error).with_context(|| self.path.display().to_string()),
        }
    }

    /// Takes lines out and adds others at the end; comments and everything else stay. Whether the
    /// file was written: it is not where nothing would change.
    pub(crate) fn change(&self, remove: &[Entry], add: &[Entry]) -> Result<bool> {
        let folder = self.path.parent().ok_or_else(|| anyhow!("the list has no folder"))?;
        fs::create_dir_all(folder).with_context(|| folder.display().to_string())?;
        // Two commands at one time write one after the other.
        let lock = fs::File::open(folder).with_context(|| folder.display().to_string())?;
        rustix::fs::flock(&lock, rustix::fs::FlockOperation::LockExclusive)?;
        let before = self.read()?;
        if !remove.iter().any(|entry| before.has(entry))
            && add.iter().all(|entry| before.has(entry))
        {
            return Ok(false);
        }
        let text = self.text()?;
        let mut lines: Vec<String> = Vec::new();
        for line in text.lines() {
            if !entry(line)?.is_some_and(|entry| remove.contains(&entry)) {
                lines.push(line.to_owned());
            }
        }
        if text.is_empty() {
            lines.extend(HEAD.lines().map(str::to_owned));
        }
        lines.extend(add.iter().filter(|entry| !before.has(entry)).map(ToString::to_string));
        self.write(&(lines.join("\n") + "\n"))?;
        Ok(true)
    }

    fn write(&self, text: &str) -> Result<()> {
        // A list that is a link into a folder of dotfiles stays one.
        let path = self.path.canonicalize().unwrap_or_else(|_| self.path.clone());
        write_whole(&path, text.as_bytes()).with_context(|| path.display().to_string())
    }
}

/// Writes a file of the user's own, readable by nobody else, whole or not at all.
pub(crate) fn write_whole(path: &Path, bytes: &[u8]) -> std::io::Result<()> {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let new = path.with_file_name(format!(".{name}.{}", std::process::id()));
    let write = || {
        let mut options = fs::OpenOptions::new();
        let mut file = options.write(true).create(true).truncate(true).mode(0o600).open(&new)?;
        file.write_all(bytes)?;
        file.sync_all()?;
        fs::rename(&new, path)
    };
    write().inspect_err(|_| {
        // What could not be finished is not left behind.
        let _gone = fs::remove_file(&new);
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn target(text: &str) -> HostPort {
        HostPort::parse(text).unwrap()
    }

    fn list(text: &str) -> List {
        List::parse(text).unwrap()
    }

    #[test]
    fn lines_are_hosts_domains_refusals_and_comments() {
        let list = list(
            "# mine\n\na.example\n localhost:3000 # dev\n*.corp.example:8443\n!b.corp.example:8443\n",
        );
        for (text, wanted) in [
            ("a.example", Some(Permit::Named)),
            ("A.EXAMPLE.:443", Some(Permit::Named)),
            ("a.example:80", None),
            ("x.a.example", None),
            ("localhost:3000", Some(Permit::Named)),
            ("127.0.0.1:3000", Some(Permit::Named)),
            ("a.corp.example:8443", Some(Permit::Public)),
            ("a.b.corp.example:8443", Some(Permit::Public)),
            ("corp.example:8443", None),
            ("xcorp.example:8443", None),
            ("b.corp.example:8443", Some(Permit::No)),
        ] {
            assert_eq!(list.permit(&target(text)), wanted, "{text}");
        }
    }

    #[test]
    fn what_is_no_host_is_named_with_its_line() {
        for (text, wanted) in [
            ("a.example\nhttps://a.example/\n", "line 2: \"https://a.example/\" must be HOST"),
            ("a b", "line 1: \"a b\" must be HOST"),
            ("*", "line 1: \"*\" must be HOST"),
            ("*.example", "line 1: \"*.example\" is too wide"),
            ("*.10.0.0.1", "line 1: \"*.10.0.0.1\" is too wide"),
            ("!", "line 1: \"\" must be HOST"),
            ("a.*.example", "line 1: \"a.*.example\" must be HOST"),
        ] {
            let error = format!("{:#}", List::parse(text).unwrap_err());
            assert!(error.starts_with(wanted), "{text}: {error}");
        }
    }

    #[test]
    fn changing_keeps_what_it_does_not_change() {
        let folder = tempfile::tempdir().unwrap();
        let file = ListFile::new(folder.path().join("new/allowed"));
        let entry = |text: &str| entry(text).unwrap().unwrap();
        assert_eq!(file.read().unwrap(), List::default());
        assert!(file.change(&[], &[entry("a.example")]).unwrap());
        assert!(!file.change(&[entry("!a.example")], &[entry("a.example")]).unwrap());
        let text = file.text().unwrap();
        assert!(text.starts_with("# Hosts") && text.ends_with("\na.example:443\n"), "{text}");
        fs::write(&file.path, "# kept\n\nb.example   # too\na.example\n").unwrap();
        assert!(file.change(&[entry("a.example:443")], &[entry("!c.example")]).unwrap());
        assert_eq!(file.text().unwrap(), "# kept\n\nb.example   # too\n!c.example:443\n");
        let mode = std::os::unix::fs::PermissionsExt::mode(
            &fs::metadata(&file.path).unwrap().permissions(),
        );
        assert_eq!(mode & 0o777, 0o600);
        // A file that cannot be read as a list is not written over.
        fs::write(&file.path, "not a host\n").unwrap();
        assert!(file.change(&[], &[entry("a.example")]).is_err());
        assert_eq!(file.text().unwrap(), "not a host\n");
        assert_eq!(fs::read_dir(folder.path().join("new")).unwrap().count(), 1);
    }

    #[test]
    fn a_link_stays_a_link() {
        let folder = tempfile::tempdir().unwrap();
        let (real, link) = (folder.path().join("dotfiles"), folder.path().join("allowed"));
        fs::write(&real, "").unwrap();
        std::os::unix::fs::symlink(&real, &link).unwrap();
        let wanted = Entry { hosts: Hosts::parse("a.example").unwrap(), refused: false };
        ListFile::new(link.clone()).change(&[], &[wanted]).unwrap();
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
        assert!(fs::read_to_string(&real).unwrap().ends_with("a.example:443\n"));
    }
}
