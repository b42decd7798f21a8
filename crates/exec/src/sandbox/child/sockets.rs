//! Sockets of the host's services that have a name in the file system: a network namespace does
//! not hold them, so the view must not show them.

use std::path::{Path, PathBuf};

use super::super::profile::Profile;
use super::super::table::EMPTIED;

/// More than this many are not hidden one by one.
const MOST: usize = 512;

/// Named sockets that exist now and that no hidden directory covers. Sockets of other boxes are in
/// other network namespaces and do not appear.
pub(super) fn visible(profile: &Profile) -> Vec<PathBuf> {
    let table = std::fs::read_to_string("/proc/net/unix").unwrap_or_default();
    let mut paths: Vec<_> = names(&table)
        .filter(|path| !covered(path, profile))
        .filter_map(|path| path.canonicalize().ok())
        .filter(|path| !covered(path, profile))
        .take(MOST)
        .collect();
    paths.sort_unstable();
    paths.dedup();
    paths
}

/// Whether a hidden directory covers the path and nothing shows it again.
fn covered(path: &Path, profile: &Profile) -> bool {
    let hidden = EMPTIED.iter().map(Path::new).chain(profile.homes().map(PathBuf::as_path));
    let mut shown = [&profile.root].into_iter().chain(&profile.readable).chain(&profile.writable);
    hidden.into_iter().any(|place| path.starts_with(place))
        && !shown.any(|place| path.starts_with(place))
}

/// Absolute names in the kernel's table: the eighth column, blanks included.
fn names(table: &str) -> impl Iterator<Item = PathBuf> + '_ {
    table.lines().skip(1).filter_map(|line| {
        let mut rest = line;
        for _ in 0..7 {
            rest = rest.trim_start();
            rest = rest.split_once(char::is_whitespace)?.1;
        }
        let name = rest.trim_start();
        name.starts_with('/').then(|| PathBuf::from(name))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_from_the_kernels_table() {
        let table = "Num       RefCount Protocol Flags    Type St Inode Path\n\
            0000000000000000: 00000002 00000000 00010000 0001 01 13532 /run/a b.sock\n\
            0000000000000000: 00000002 00000000 00010000 0001 01 13533 @abstract\n\
            0000000000000000: 00000003 00000000 00000000 0001 03 13534\n\
            0000000000000000: 00000002 00000000 00010000 0001 01   135 /srv/db.sock\n";
        let got: Vec<_> = names(table).collect();
        assert_eq!(got, [PathBuf::from("/run/a b.sock"), PathBuf::from("/srv/db.sock")]);
    }

    #[test]
    fn hidden_directories_cover_what_nothing_shows_again() {
        let profile = Profile::new(PathBuf::from("/tmp/root"), PathBuf::from("/home/u"));
        for (path, want) in [
            ("/run/docker.sock", true),
            ("/home/u/.gnupg/agent", true),
            ("/srv/db.sock", false),
            ("/tmp/root/db.sock", false),
            ("/tmp/other.sock", true),
        ] {
            assert_eq!(covered(Path::new(path), &profile), want, "{path}");
        }
    }
}
