//! What the tools' own files, variables and folders say: looked at, never run.

use std::{
    ffi::{OsStr, OsString},
    fs,
    path::{Path, PathBuf},
};

use quietcontext_fetch::{HostPort, proxy::Permit};

use super::{
    files, git,
    parse::{self, Form},
    tools::{GIT_FILES, Naming, Place, TOOLS, Tool},
};

/// A host that was found, and where.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Found {
    pub(crate) target: HostPort,
    /// A tool's name, or `git`.
    pub(crate) tool: String,
    /// A file, a variable, a remote: for people.
    pub(crate) origin: String,
    /// The address as it stood there, where it leads to more than a host.
    pub(crate) address: Option<String>,
    pub(crate) permit: Permit,
}

/// Where the user's things are.
#[derive(Debug, Clone, Default)]
pub(crate) struct User {
    pub(crate) home: PathBuf,
    pub(crate) variables: Vec<(OsString, OsString)>,
}

/// Places that programs may write: what lies there is not the user's word.
#[derive(Debug, Clone, Default)]
pub(crate) struct Writable(Vec<PathBuf>);

impl Writable {
    /// These places, and what links in their way lead to.
    pub(crate) fn new<'a>(places: impl IntoIterator<Item = &'a Path>) -> Self {
        Self(places.into_iter().map(real).collect())
    }

    /// Whether a program could have written this path, or made it lead where it leads.
    pub(super) fn holds(&self, path: &Path) -> bool {
        self.0.iter().any(|place| path.starts_with(place) || real(path).starts_with(place))
    }

    /// Whether it holds anything that a row looks at.
    pub(super) fn holds_of(&self, user: &User, tool: &Tool) -> bool {
        let files = tool.files.iter().map(|(place, _)| *place);
        let caches = tool.caches.iter().map(|(place, _)| *place);
        files.chain(caches).any(|place| self.holds(&user.path(place)))
    }
}

/// The path with its links followed, as far as it exists.
fn real(path: &Path) -> PathBuf {
    path.ancestors()
        .find_map(|start| {
            let rest = path.strip_prefix(start).ok()?;
            Some(start.canonicalize().ok()?.join(rest))
        })
        .unwrap_or_else(|| path.to_owned())
}

/// Members of a cache folder that are looked at.
const MOST_MEMBERS: usize = 64;

impl User {
    pub(super) fn variable(&self, name: &str) -> Option<&OsStr> {
        let found = self.variables.iter().find(|(known, _)| known == name);
        found.map(|(_, value)| value.as_os_str()).filter(|value| !value.is_empty())
    }

    /// The path of a place.
    pub(super) fn path(&self, place: Place) -> PathBuf {
        match place {
            Place::Home(rest) => self.home.join(rest),
            Place::System(path) => PathBuf::from(path),
            Place::Moved(variable, folder, rest) => {
                let moved = self.variable(variable).map(PathBuf::from);
                let moved = moved.filter(|moved| moved.is_absolute());
                moved.unwrap_or_else(|| self.home.join(folder)).join(rest)
            }
        }
    }

    fn shown(&self, path: &Path) -> String {
        match path.strip_prefix(&self.home) {
            Ok(rest) => format!("~/{}", rest.display()),
            Err(_) => path.display().to_string(),
        }
    }

    /// The variables of a row that are set.
    pub(super) fn set_variables<'a>(
        &'a self,
        tool: &'a Tool,
    ) -> impl Iterator<Item = (&'a str, &'a OsStr)> {
        let named = self.variables.iter().filter_map(|(name, value)| Some((name.to_str()?, value)));
        named
            .filter(|(name, _)| tool.variables.iter().any(|pattern| fits(name, pattern)))
            .map(|(name, value)| (name, value.as_os_str()))
    }
}

fn fits(name: &str, pattern: &str) -> bool {
    match pattern.split_once('*') {
        Some((start, end)) => {
            let rest = name.strip_prefix(start).and_then(|rest| rest.strip_suffix(end));
            rest.is_some_and(|rest| !rest.is_empty())
        }
        None => name == pattern,
    }
}

/// Everything that the rows of the table find, outside of what programs may write.
pub(crate) fn tools(user: &User, writable: &Writable) -> Vec<Found> {
    let mut all = Vec::new();
    for tool in TOOLS {
        // The user wrote it for this purpose: a company's mirror may be in its own network.
        let mut add = |addresses: Vec<String>, origin: String, permit: Permit| {
            for address in addresses {
                let Some(target) = parse::target(&address) else { continue };
                let (tool, origin) = (tool.name.to_owned(), origin.clone());
                all.push(Found { target, tool, origin, address: Some(address), permit });
            }
        };
        for (name, value) in user.set_variables(tool) {
            add(parse::urls(&value.to_string_lossy()), format!("${name}"), Permit::Private);
        }
        for (place, form) in tool.files {
            let path = user.path(*place);
            if let Some(text) = files::read(&path).filter(|_| !writable.holds(&path)) {
                add(form.find(&text), user.shown(&path), Permit::Private);
            }
        }
        for (place, naming) in tool.caches {
            let path = user.path(*place);
            if writable.holds(&path) {
                continue;
            }
            add(members(&path, *naming), user.shown(&path), Permit::Public);
            if let Naming::HostAndHash = naming {
                add(downloads(&path), user.shown(&path), Permit::Public);
            }
        }
    }
    all
}

/// The remotes of a workspace.
pub(crate) fn remotes(user: &User, root: &Path, writable: &Writable) -> Vec<Found> {
    let files = GIT_FILES.iter().map(|place| user.path(*place));
    let files: Vec<_> = files.filter(|path| !writable.holds(path)).collect();
    let found = git::remotes(root, &files).into_iter();
    found
        .map(|(name, target)| {
            let origin = format!("remote {}", one_word(&name));
            let (tool, permit) = ("git".to_owned(), Permit::Public);
            Found { target, tool, origin, address: None, permit }
        })
        .collect()
}

/// A remote's name is the repository's affair; in a table it is a word.
fn one_word(name: &str) -> String {
    let plain = |c: char| c.is_alphanumeric() || "-_./".contains(c);
    name.chars().filter(|c| plain(*c)).take(40).collect()
}

/// The addresses that the members of a folder are named after.
fn members(folder: &Path, naming: Naming) -> Vec<String> {
    names(folder).iter().filter_map(|name| address(name, naming)).collect()
}

/// Where the indexes that are kept in a folder load their files from.
fn downloads(folder: &Path) -> Vec<String> {
    let indexes = names(folder).into_iter().map(|name| folder.join(name).join("config.json"));
    indexes
        .filter_map(|path| files::read(&path))
        .flat_map(|text| Form::Json("dl").find(&text))
        .collect()
}

fn names(folder: &Path) -> Vec<String> {
    let Ok(entries) = fs::read_dir(folder) else { return Vec::new() };
    let names =
        entries.take(MOST_MEMBERS).filter_map(|entry| entry.ok()?.file_name().into_string().ok());
    let mut names: Vec<_> = names.collect();
    names.sort_unstable();
    names
}

fn address(name: &str, naming: Naming) -> Option<String> {
    let (host, port) = match naming {
        Naming::HostAndHash => {
            let (host, hash) = name.rsplit_once('-')?;
            let hex = hash.len() == 16 && hash.bytes().all(|byte| byte.is_ascii_hexdigit());
            hex.then_some((host, "443"))?
        }
        Naming::HostPercentPort => name.split_once('%')?,
        Naming::Dashes => (name.strip_prefix("https---")?, "443"),
        Naming::Host => (name, "443"),
    };
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b".-".contains(&byte);
    let good = host.contains('.') && host.bytes().all(plain) && port.parse::<u16>().is_ok();
    good.then(|| format!("https://{host}:{port}/"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn members_are_read_by_their_naming() {
        for (name, naming, wanted) in [
            ("i.example-1949cf8c6b5b557f", Naming::HostAndHash, Some("https://i.example:443/")),
            (
                "my-i.example-1949cf8c6b5b557f",
                Naming::HostAndHash,
                Some("https://my-i.example:443/"),
            ),
            ("i.example-xyz", Naming::HostAndHash, None),
            ("github-1949cf8c6b5b557f", Naming::HostAndHash, None),
            ("g.example%443", Naming::HostPercentPort, Some("https://g.example:443/")),
            ("g.example%x", Naming::HostPercentPort, None),
            ("https---c.example", Naming::Dashes, Some("https://c.example:443/")),
            ("s.example", Naming::Host, Some("https://s.example:443/")),
            ("s.example@evil", Naming::Host, None),
            ("lock", Naming::Host, None),
        ] {
            assert_eq!(address(name, naming).as_deref(), wanted, "{name}");
        }
    }

    #[test]
    fn what_programs_may_write_is_not_believed_by_whatever_way_it_is_reached() {
        let place = tempfile::tempdir().unwrap();
        let base = place.path();
        for folder in ["home", "root/.cargo/registry/index/evil.example-0123456789abcdef"] {
            fs::create_dir_all(base.join(folder)).unwrap();
        }
        fs::write(base.join("root/npmrc"), "registry=https://evil.example/\n").unwrap();
        std::os::unix::fs::symlink(base.join("root/npmrc"), base.join("home/.npmrc")).unwrap();
        let variables = vec![("CARGO_HOME".into(), base.join("root/.cargo").into())];
        let user = User { home: base.join("home"), variables };
        let evil = |writable: &Writable| {
            let found = tools(&user, writable).into_iter();
            found.filter(|found| found.target.to_string() == "evil.example:443").count()
        };
        assert_eq!(evil(&Writable::default()), 2, "the control");
        assert_eq!(evil(&Writable::new([base.join("root").as_path()])), 0);
    }

    #[test]
    fn files_variables_and_folders_are_found_where_the_user_moved_them() {
        let home = tempfile::tempdir().unwrap();
        let base = home.path();
        let write = |name: &str, text: &str| {
            let path = base.join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        write(".npmrc", "registry=https://n.example/\n");
        write("moved/config.toml", "[registries.c]\nindex = \"sparse+https://c.example/i/\"\n");
        write(".cargo/config.toml", "[registries.c]\nindex = \"https://no.example\"\n");
        write(".m2/settings.xml", "<mirror><url>http://10.0.0.5:8081/m</url></mirror>");
        fs::create_dir_all(base.join(".gem/specs/g.example%443")).unwrap();
        let variables = [
            ("CARGO_HOME", base.join("moved").into_os_string()),
            ("CARGO_REGISTRIES_X_INDEX", "https://x.example/".into()),
            ("PIP_EXTRA_INDEX_URL", "https://a.example/s https://b.example/s".into()),
            ("UNRELATED", "https://no.example/".into()),
        ];
        let variables = variables.map(|(name, value)| (name.into(), value)).to_vec();
        let user = User { home: base.to_owned(), variables };
        let found: Vec<_> = tools(&user, &Writable::default())
            .iter()
            .filter(|found| !found.origin.starts_with('/') || found.origin.contains("moved"))
            .map(|found| format!("{} {} {:?}", found.tool, found.target, found.permit))
            .collect();
        let wanted = [
            "cargo x.example:443 Private",
            "cargo c.example:443 Private",
            "gem g.example:443 Public",
            "mvn 10.0.0.5:8081 Private",
            "npm n.example:443 Private",
            "pip a.example:443 Private",
            "pip b.example:443 Private",
        ];
        assert_eq!(found, wanted);
    }
}
