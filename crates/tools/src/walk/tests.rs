//! F-042: which files a walk finds, compared with what git itself says of them.

use std::collections::BTreeSet;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::json;

use super::*;
use crate::args::index::{Request, parse};

fn git(folder: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new("git");
    command.current_dir(folder).args(arguments);
    command
}

fn init(folder: &Path) {
    std::fs::create_dir_all(folder).unwrap();
    assert!(git(folder, &["init", "-q"]).status().unwrap().success());
}

fn write(root: &Path, path: &str, text: &str) {
    let path = root.join(path);
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, text).unwrap();
}

/// What a walk below `relative` finds, and what it skips.
fn found(root: &Path, relative: &str) -> (BTreeSet<PathBuf>, Skipped) {
    let arguments = json!({"path": relative});
    let request = parse(arguments.as_object().unwrap().clone()).unwrap();
    let Request::Path(arguments) = request else { panic!("no path") };
    let filters = Filters::new(&arguments).unwrap();
    let mut walk = Walk::new(root, Path::new(relative.trim_start_matches('.')), &filters);
    let mut paths = BTreeSet::new();
    for found in walk.by_ref() {
        paths.insert(found.path.strip_prefix(root).unwrap().to_owned());
    }
    (paths, walk.finish())
}

/// All files below a folder, without git's own.
fn files(root: &Path, folder: &Path, into: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).unwrap().flatten() {
        let kind = entry.file_type().unwrap();
        if kind.is_dir() && entry.file_name() != ".git" {
            files(root, &entry.path(), into);
        } else if kind.is_file() && entry.file_name() != ".git" {
            into.push(entry.path().strip_prefix(root).unwrap().to_owned());
        }
    }
}

/// Of some paths those that git's rules ignore, whether tracked or not.
fn ignored(repository: &Path, paths: &[PathBuf]) -> BTreeSet<PathBuf> {
    let mut child = git(repository, &["check-ignore", "--no-index", "-z", "--stdin"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut input = child.stdin.take().unwrap();
    let list: Vec<u8> = paths
        .iter()
        .flat_map(|path| [path.as_os_str().as_encoded_bytes(), b"\0"].concat())
        .collect();
    let writer = std::thread::spawn(move || input.write_all(&list).unwrap());
    let output = child.wait_with_output().unwrap();
    writer.join().unwrap();
    assert!(output.status.code().is_some_and(|code| code < 2), "{output:?}");
    let names = output.stdout.split(|byte| *byte == 0).filter(|name| !name.is_empty());
    names.map(|name| PathBuf::from(String::from_utf8(name.to_vec()).unwrap())).collect()
}

/// A repository with rules of every kind.
fn nasty(root: &Path) {
    init(root);
    write(
        root,
        ".gitignore",
        "# a comment\n\n*.tmp\n!keep.tmp\n/only-here.txt\nsub/gen/\n**/deep/**/x.txt\n\\#odd.txt\n\
         trailing.txt   \nspace\\ .txt\na?c.txt\n[xyz]1.txt\n[!a-c]2.txt\nlogs/*\n!logs/kept.txt\n\
         foo/**\n**/bar.txt\nnest/*/mid.txt\nfolder\n*.CASE\n!\nü*.txt\n",
    );
    write(root, ".git/info/exclude", "private/\n*.mine\n");
    write(root, "sub/.gitignore", "!back.tmp\n/local.txt\n*.md\n!README.md\n");
    write(root, "sub/below/.gitignore", "*\n!*.rs\n!.gitignore\n");
    for path in [
        "a.tmp",
        "keep.tmp",
        "only-here.txt",
        "sub/only-here.txt",
        "sub/gen/a.txt",
        "gen/a.txt",
        "deep/x.txt",
        "deep/1/2/x.txt",
        "p/deep/q/x.txt",
        "deep/1/y.txt",
        "#odd.txt",
        "trailing.txt",
        "space .txt",
        "abc.txt",
        "ac.txt",
        "a/c.txt",
        "x1.txt",
        "w1.txt",
        "a2.txt",
        "d2.txt",
        "logs/one.txt",
        "logs/kept.txt",
        "logs/in/one.txt",
        "foo/a.txt",
        "foo/b/c.txt",
        "p/foo/a.txt",
        "bar.txt",
        "p/q/bar.txt",
        "nest/1/mid.txt",
        "nest/1/2/mid.txt",
        "folder/a.txt",
        "p/folder/a.txt",
        "q/folder",
        "up.CASE",
        "low.case",
        "über.txt",
        "uber.txt",
        "private/a.txt",
        "p/private/a.txt",
        "a.mine",
        "sub/back.tmp",
        "sub/x.tmp",
        "sub/local.txt",
        "sub/in/local.txt",
        "sub/notes.md",
        "sub/README.md",
        "sub/below/a.rs",
        "sub/below/a.txt",
        "sub/below/in/a.rs",
        "plain.txt",
    ] {
        write(root, path, "text\n");
    }
}

#[test]
fn a_walk_finds_what_git_does_not_ignore() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().canonicalize().unwrap();
    nasty(&root);
    let mut all = Vec::new();
    files(&root, &root, &mut all);
    let ignored = ignored(&root, &all);
    assert!(ignored.len() > 15 && all.len() - ignored.len() > 15, "{ignored:?}");
    let expected: BTreeSet<PathBuf> =
        all.iter().filter(|path| !ignored.contains(*path)).cloned().collect();
    let (paths, skipped) = found(&root, ".");
    assert_eq!(paths, expected);
    // Counted is what lies in a folder that is not ignored itself; a folder is one.
    let mut entries = all.clone();
    entries.extend(all.iter().flat_map(|path| path.ancestors().skip(1)).map(Path::to_owned));
    entries.retain(|path| !path.as_os_str().is_empty());
    let ignored = self::ignored(&root, &entries);
    let outermost = ignored.iter().filter(|path| !ignored.contains(path.parent().unwrap()));
    let counts: Vec<_> = skipped.reasons().collect();
    assert_eq!(counts, [("ignored by git", outermost.count() as u64)], "{ignored:?}");
    // Rules above the start hold below it.
    let (paths, _) = found(&root, "sub");
    let below: BTreeSet<PathBuf> =
        expected.iter().filter(|path| path.starts_with("sub")).cloned().collect();
    assert_eq!(paths, below);
}

#[test]
fn repositories_within_and_beside_each_other_have_their_own_rules() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().canonicalize().unwrap();
    for (repository, rules) in [("one", "*.txt\n"), ("two", "*.rs\n"), ("one/child", "*.md\n")] {
        init(&root.join(repository));
        write(&root, &format!("{repository}/.gitignore"), rules);
        for name in ["a.txt", "a.rs", "a.md", "in/a.md"] {
            write(&root, &format!("{repository}/{name}"), "text\n");
        }
    }
    let (paths, _) = found(&root, ".");
    for repository in ["one", "two", "one/child"] {
        let top = root.join(repository);
        let mut all = Vec::new();
        files(&top, &top, &mut all);
        all.retain(|path| repository != "one" || !path.starts_with("child"));
        let ignored = ignored(&top, &all);
        for path in all {
            let name = Path::new(repository).join(&path);
            assert_eq!(paths.contains(&name), !ignored.contains(&path), "{}", name.display());
        }
    }
}

#[test]
fn this_repository_is_walked_as_git_sees_it() {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let root = here.ancestors().nth(2).unwrap().canonicalize().unwrap();
    if !root.join(".git").exists() {
        // From an archive: nothing to compare with.
        return;
    }
    let (paths, _) = found(&root, ".");
    let list: Vec<PathBuf> = paths.iter().cloned().collect();
    assert!(ignored(&root, &list).is_empty());
    let tracked = git(&root, &["ls-files", "-z", "*.rs"]).output().unwrap().stdout;
    let names = tracked.split(|byte| *byte == 0).filter(|name| !name.is_empty());
    for name in names {
        let name = PathBuf::from(String::from_utf8(name.to_vec()).unwrap());
        assert!(paths.contains(&name) || !root.join(&name).exists(), "{}", name.display());
    }
}
