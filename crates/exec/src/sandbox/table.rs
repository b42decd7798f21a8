//! The tables of the box: what of the home comes back, what is hidden, what is protected.

use std::path::{Path, PathBuf};

/// How a row of [`TOOLCHAINS`] comes back into the hidden home.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Show {
    /// Bound read-only.
    ReadOnly,
    /// A copy without credential fields.
    Cleaned,
    /// A cache that tools write: read-only, with a writable layer over it.
    Layered,
}

/// Toolchains and configuration of the home that a program may see, relative to the home.
/// Whatever is not here does not exist in the box; credential stores are never here.
pub const TOOLCHAINS: &[(&str, Show)] = &[
    (".asdf", Show::ReadOnly),
    (".bun/bin", Show::ReadOnly),
    (".cabal/bin", Show::ReadOnly),
    (".cabal/packages", Show::ReadOnly),
    (".cargo/bin", Show::ReadOnly),
    (".cargo/config", Show::Cleaned),
    (".cargo/config.toml", Show::Cleaned),
    (".cargo/env", Show::ReadOnly),
    (".cargo/git", Show::Layered),
    (".cargo/registry", Show::Layered),
    (".condarc", Show::Cleaned),
    (".config/composer/vendor", Show::ReadOnly),
    (".config/git/attributes", Show::ReadOnly),
    (".config/git/config", Show::Cleaned),
    (".config/git/ignore", Show::ReadOnly),
    (".config/go/env", Show::Cleaned),
    (".config/pip/pip.conf", Show::Cleaned),
    (".config/uv/uv.toml", Show::Cleaned),
    (".deno/bin", Show::ReadOnly),
    (".dotnet", Show::ReadOnly),
    (".elan", Show::ReadOnly),
    (".fnm", Show::ReadOnly),
    (".gem/ruby", Show::ReadOnly),
    (".gemrc", Show::Cleaned),
    (".ghcup", Show::ReadOnly),
    (".gitconfig", Show::Cleaned),
    (".goenv", Show::ReadOnly),
    (".gradle/caches", Show::Layered),
    (".gradle/wrapper", Show::ReadOnly),
    (".hex/packages", Show::ReadOnly),
    (".jenv", Show::ReadOnly),
    (".julia/packages", Show::ReadOnly),
    (".juliaup", Show::ReadOnly),
    (".local/bin", Show::ReadOnly),
    (".local/lib", Show::ReadOnly),
    (".local/pipx", Show::ReadOnly),
    (".local/share/fnm", Show::ReadOnly),
    (".local/share/gem", Show::ReadOnly),
    (".local/share/mise", Show::ReadOnly),
    (".local/share/pipx", Show::ReadOnly),
    (".local/share/pnpm", Show::Layered),
    (".local/share/uv", Show::ReadOnly),
    (".local/state/nix", Show::ReadOnly),
    (".m2/repository", Show::Layered),
    (".mix", Show::ReadOnly),
    (".nix-profile", Show::ReadOnly),
    (".npm-global", Show::ReadOnly),
    (".npm/_cacache", Show::Layered),
    (".npmrc", Show::Cleaned),
    (".nuget/packages", Show::Layered),
    (".nvm", Show::ReadOnly),
    (".opam", Show::ReadOnly),
    (".pip/pip.conf", Show::Cleaned),
    (".pyenv", Show::ReadOnly),
    (".rbenv", Show::ReadOnly),
    (".rustup", Show::ReadOnly),
    (".rvm", Show::ReadOnly),
    (".sdkman/candidates", Show::ReadOnly),
    (".stack/programs", Show::ReadOnly),
    (".swiftly", Show::ReadOnly),
    (".volta", Show::ReadOnly),
    ("R", Show::ReadOnly),
    ("anaconda3", Show::ReadOnly),
    ("go/bin", Show::ReadOnly),
    ("go/pkg/mod", Show::Layered),
    ("go/src", Show::ReadOnly),
    ("miniconda3", Show::ReadOnly),
    ("miniforge3", Show::ReadOnly),
    ("perl5", Show::ReadOnly),
    ("sdk", Show::ReadOnly),
];

/// Where a program sees the run's own directory ([`super::Profile::scratch`]): in an emptied place.
pub const STAGE: &str = "/run/code";

/// Where the workspace's own caches are, relative to the home.
pub(super) const CACHE_DIRECTORY: &str = ".cache";

/// Variables that lead tools into [`CACHE_DIRECTORY`]: name, place in it, and the row of
/// [`TOOLCHAINS`] whose layer makes it unnecessary where that is there.
pub(super) const CACHES: &[(&str, &str, &str)] = &[
    ("BUN_INSTALL_CACHE_DIR", "bun", ""),
    ("GOCACHE", "go-build", ""),
    ("GOMODCACHE", "go-mod", "go/pkg/mod"),
    ("NUGET_PACKAGES", "nuget", ".nuget/packages"),
    ("PIP_CACHE_DIR", "pip", ""),
    ("UV_CACHE_DIR", "uv", ""),
    ("XDG_CACHE_HOME", "", ""),
    ("npm_config_cache", "npm", ".npm/_cacache"),
];

/// Read-only inside the workspace, relative to it: what other programs run or obey later, outside
/// the box. One that does not exist cannot be created. `.git` is treated apart: its repository's
/// configuration and hooks are protected, the rest stays writable.
pub const PROTECTED: &[&str] = &[".claude", ".codex", ".mcp.json", ".vscode"];

/// Directories that are empty and private in every box, beside the home.
pub(super) const EMPTIED: &[&str] = &["/tmp", "/var/tmp", "/run"];

/// Whether a directory lies in one that a box hides, and is not that one itself.
pub(crate) fn hides(directory: &Path, homes: &[&PathBuf]) -> bool {
    let hidden = EMPTIED.iter().map(Path::new).chain(homes.iter().map(|home| home.as_path()));
    let within = |place: &Path| directory.starts_with(place) && directory != place;
    let mut above = homes.iter().filter(|home| home.starts_with(directory));
    hidden.into_iter().any(within) && above.next().is_none()
}

/// What comes back of [`EMPTIED`]: systems whose programs live there.
pub(super) const SHOWN: &[&str] = &["/run/current-system", "/run/opengl-driver"];

/// Taken out of the view of a box that runs as root, which could read them.
pub(super) const ROOT_SECRETS: &[&str] = &[
    "/etc/shadow",
    "/etc/shadow-",
    "/etc/gshadow",
    "/etc/gshadow-",
    "/etc/sudoers",
    "/etc/sudoers.d",
    "/etc/ssl/private",
    "/etc/pki/tls/private",
    "/etc/wireguard",
    "/etc/NetworkManager/system-connections",
    "/etc/ssh/ssh_host_dsa_key",
    "/etc/ssh/ssh_host_ecdsa_key",
    "/etc/ssh/ssh_host_ed25519_key",
    "/etc/ssh/ssh_host_rsa_key",
    "/var/spool/cron",
    "/root",
];

/// Devices of the box, bound from the host.
pub(super) const DEVICES: &[&str] = &["null", "zero", "full", "random", "urandom"];

/// Symbolic links of the box's `/dev`.
pub(super) const DEVICE_LINKS: &[(&str, &str)] = &[
    ("fd", "/proc/self/fd"),
    ("stdin", "/proc/self/fd/0"),
    ("stdout", "/proc/self/fd/1"),
    ("stderr", "/proc/self/fd/2"),
    ("ptmx", "pts/ptmx"),
];

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn rows_are_sorted_unique_relative_and_do_not_nest() {
        let names: Vec<_> = TOOLCHAINS.iter().map(|(name, _)| *name).collect();
        assert!(names.is_sorted());
        assert!(CACHES.is_sorted());
        for (_, _, row) in CACHES {
            assert!(row.is_empty() || TOOLCHAINS.contains(&(row, Show::Layered)), "{row}");
        }
        assert_eq!(names.iter().collect::<BTreeSet<_>>().len(), names.len());
        assert!(PROTECTED.is_sorted());
        for name in names.iter().chain(PROTECTED) {
            assert!(Path::new(name).is_relative(), "{name}");
            let nested = names.iter().any(|o| o != name && Path::new(name).starts_with(o));
            assert!(!nested, "{name}");
        }
    }

    #[test]
    fn no_row_shows_a_credential_store() {
        let stores = [
            ".ssh",
            ".aws",
            ".gnupg",
            ".kube",
            ".docker",
            ".netrc",
            ".git-credentials",
            ".azure",
            ".config/gh",
            ".config/gcloud",
            ".config/git/credentials",
            ".cargo/credentials",
            ".cargo/credentials.toml",
            ".pypirc",
            ".mozilla",
            ".bash_history",
            ".password-store",
            ".gem/credentials",
            ".m2/settings.xml",
            ".hex/hex.config",
            ".sops",
            ".terraformrc",
            ".config/google-chrome",
            ".local/share/keyrings",
            ".claude",
            ".codex",
            ".npm",
            ".local/share/quietcontext",
            ".config/quietcontext",
            ".composer/auth.json",
        ];
        for store in stores {
            for (name, show) in TOOLCHAINS {
                let exposes = *show != Show::Cleaned && Path::new(store).starts_with(name);
                assert!(!exposes && store != *name, "{name} shows {store}");
            }
        }
    }
}
