//! Landlock: the second layer for files, signals and abstract sockets.
//!
//! Its rights on TCP ports are left alone: they would forbid loopback inside the box, and MPTCP
//! goes round them.

use std::path::{Path, PathBuf};

use landlock::{
    ABI, Access as _, AccessFs, BitFlags, CompatLevel, Compatible as _, LandlockStatus,
    PathBeneath, PathFd, Ruleset, RulesetAttr as _, RulesetCreated, RulesetCreatedAttr as _,
    RulesetStatus, Scope,
};

use super::super::report::{Failure, Step};

/// Newest interface whose rights are known and wanted; on older kernels fewer are handled.
const NEWEST: ABI = ABI::V9;

/// What a program may do where.
#[derive(Debug, Default)]
pub(super) struct Rules {
    /// Read, list and run.
    pub(super) readable: Vec<PathBuf>,
    /// Everything.
    pub(super) writable: Vec<PathBuf>,
}

/// Confines this process and all it starts. Returns the interface version in force: 0 where the
/// kernel has no Landlock, which the caller judges.
pub(super) fn restrict(rules: &Rules) -> Result<u32, Failure> {
    build(rules)
        .and_then(|ruleset| ruleset.restrict_self().map_err(|error| error.to_string()))
        .map_err(|detail| Failure::plain(Step::Landlock, detail))
        .and_then(|status| {
            let version = match status.landlock {
                LandlockStatus::Available { effective_abi, .. } => effective_abi as u32,
                _ => return Ok(0),
            };
            // A ruleset that silently did nothing must not pass for one.
            if status.ruleset == RulesetStatus::NotEnforced || !status.no_new_privs {
                return Err(Failure::plain(Step::Landlock, "not enforced"));
            }
            Ok(version)
        })
}

fn build(rules: &Rules) -> Result<RulesetCreated, String> {
    let all = AccessFs::from_all(NEWEST);
    let read = AccessFs::from_read(NEWEST);
    let mut ruleset = Ruleset::default()
        .set_compatibility(CompatLevel::BestEffort)
        .handle_access(all)
        .and_then(|ruleset| ruleset.scope(Scope::from_all(NEWEST)))
        .and_then(Ruleset::create)
        .map_err(|error| error.to_string())?;
    for (paths, access) in [(&rules.readable, read), (&rules.writable, all)] {
        for path in paths {
            ruleset = add(ruleset, path, access)?;
        }
    }
    Ok(ruleset)
}

fn add(
    ruleset: RulesetCreated,
    path: &Path,
    access: BitFlags<AccessFs>,
) -> Result<RulesetCreated, String> {
    // What is not there needs no rule.
    let Ok(place) = PathFd::new(path) else { return Ok(ruleset) };
    let access = if path.is_dir() { access } else { access & AccessFs::from_file(NEWEST) };
    if access.is_empty() {
        return Ok(ruleset);
    }
    ruleset
        .add_rule(PathBeneath::new(place, access))
        .map_err(|error| format!("{}: {error}", path.display()))
}
