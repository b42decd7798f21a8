//! The hosts of a workspace's git remotes: the one thing that is read of a workspace.
//!
//! The configuration is the repository's own file, which programs in the box cannot write; a `.git`
//! file leads to it only when the repository names the workspace in turn.

use std::path::{Path, PathBuf};

use quietcontext_fetch::HostPort;

use super::{files, parse};

/// A remote's name and host.
pub(super) type Remote = (String, HostPort);

/// The remotes of `root`, rewritten as the user's `url.*.insteadOf` says.
pub(super) fn remotes(root: &Path, user_files: &[PathBuf]) -> Vec<Remote> {
    let Some(own) = config_of(root).and_then(|path| files::read(&path)) else { return Vec::new() };
    let own = values(&own);
    let mut rewrites = Vec::new();
    let users = user_files.iter().filter_map(|path| files::read(path)).map(|text| values(&text));
    for value in users.flatten().chain(own.iter().cloned()) {
        if value.section == "url" && value.key == "insteadof" {
            rewrites.push((value.text, value.name));
        }
    }
    let wanted = own.iter().filter(|value| {
        value.section == "remote" && matches!(value.key.as_str(), "url" | "pushurl")
    });
    let mut found: Vec<Remote> = Vec::new();
    for value in wanted {
        let remote =
            host(&rewritten(&value.text, &rewrites)).map(|host| (value.name.clone(), host));
        found.extend(remote.filter(|remote| !found.contains(remote)));
    }
    found
}

/// Where the configuration of the repository at `root` lies.
fn config_of(root: &Path) -> Option<PathBuf> {
    let git = root.join(".git");
    let kind = std::fs::symlink_metadata(&git).ok()?;
    if kind.is_dir() {
        return Some(git.join("config"));
    }
    let named = files::read(&git)?;
    let folder = root.join(named.strip_prefix("gitdir:")?.trim()).canonicalize().ok()?;
    let back = files::read(&folder.join("gitdir"))?;
    let genuine = folder.join(back.trim()).canonicalize().ok()? == git.canonicalize().ok()?;
    let common = files::read(&folder.join("commondir"))?;
    genuine.then(|| folder.join(common.trim()).join("config"))
}

/// One value of a configuration.
#[derive(Debug, Clone)]
struct Value {
    section: String,
    name: String,
    key: String,
    text: String,
}

/// The values of a git configuration; what cannot be read is left out.
fn values(text: &str) -> Vec<Value> {
    let (mut section, mut name) = (String::new(), String::new());
    let mut found = Vec::new();
    for line in text.lines().map(str::trim) {
        if let Some(head) = line.strip_prefix('[').and_then(|line| line.split(']').next()) {
            let (kind, quoted) = head.split_once(' ').unwrap_or((head, ""));
            section = kind.to_ascii_lowercase();
            quoted.trim().trim_matches('"').clone_into(&mut name);
        } else if let Some((key, text)) = line.split_once('=')
            && !line.starts_with(['#', ';'])
        {
            let text = text.split([';', '#']).next().unwrap_or_default().trim();
            found.push(Value {
                section: section.clone(),
                name: name.clone(),
                key: key.trim().to_ascii_lowercase(),
                text: text.trim_matches('"').to_owned(),
            });
        }
    }
    found
}

/// The address after the longest `insteadOf` that fits.
fn rewritten(address: &str, rewrites: &[(String, String)]) -> String {
    let fitting = rewrites.iter().filter(|(from, _)| !from.is_empty() && address.starts_with(from));
    match fitting.max_by_key(|(from, _)| from.len()) {
        Some((from, to)) => format!("{to}{}", address.strip_prefix(from).unwrap_or_default()),
        None => address.to_owned(),
    }
}

/// The host that answers over https for an address: its own, or that of an ssh address.
fn host(address: &str) -> Option<HostPort> {
    if let Some(target) = parse::target(address) {
        return Some(target);
    }
    let rest = match address.split_once("://") {
        Some(("ssh" | "git" | "git+ssh" | "ssh+git", rest)) => rest.split(['/', ':']).next()?,
        Some(_) => return None,
        // `user@host:path`; a path on this machine has a slash before its first colon, or none.
        None => address.split_once(':').map(|(host, _)| host).filter(|host| !host.contains('/'))?,
    };
    let name = rest.rsplit('@').next().filter(|name| name.contains('.'))?;
    HostPort::parse(name)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn shown(root: &Path, user: &[PathBuf]) -> Vec<String> {
        remotes(root, user).iter().map(|(name, host)| format!("{name} {host}")).collect()
    }

    #[test]
    fn remotes_are_read_in_every_form_and_rewritten() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        assert_eq!(shown(root, &[]), [""; 0]);
        fs::create_dir(root.join(".git")).unwrap();
        let config = "[core]\n\tbare = false\n[remote \"origin\"]\n\turl = git@g.example:o/r.git\n\
            \tpushurl = https://u:p@push.example:8443/o/r\n[remote \"ssh\"]\n\turl = ssh://git@s.example:2222/r\n\
            [remote \"file\"]\n\turl = /srv/r.git\n\turl = ../r.git\n\turl = file:///srv/r\n\
            [remote \"short\"]\n\turl = \"corp:o/r\" ; comment\n[branch \"main\"]\n\turl = https://no.example\n\
            [remote \"http\"]\n\turl = http://h.example/r\n";
        fs::write(root.join(".git/config"), config).unwrap();
        let user = root.join("gitconfig");
        fs::write(&user, "[url \"https://mirror.example/\"]\n\tinsteadOf = corp:\n").unwrap();
        let wanted = [
            "origin g.example:443",
            "origin push.example:8443",
            "ssh s.example:443",
            "short mirror.example:443",
            "http h.example:80",
        ];
        assert_eq!(shown(root, &[user]), wanted);
    }

    #[test]
    fn a_linked_worktree_has_the_remotes_of_its_repository_and_a_claim_alone_has_none() {
        let folder = tempfile::tempdir().unwrap();
        let base = folder.path().canonicalize().unwrap();
        let (tree, admin) = (base.join("tree"), base.join("main/.git/worktrees/tree"));
        fs::create_dir_all(&admin).unwrap();
        fs::create_dir(&tree).unwrap();
        fs::write(base.join("main/.git/config"), "[remote \"o\"]\nurl = https://g.example/r\n")
            .unwrap();
        fs::write(tree.join(".git"), format!("gitdir: {}\n", admin.display())).unwrap();
        fs::write(admin.join("commondir"), "../..\n").unwrap();
        assert_eq!(shown(&tree, &[]), [""; 0], "the repository does not name it yet");
        fs::write(admin.join("gitdir"), format!("{}\n", tree.join(".git").display())).unwrap();
        assert_eq!(shown(&tree, &[]), ["o g.example:443"]);
    }
}
