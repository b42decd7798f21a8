//! The ladder: which layers a kernel gives, what remains of the promises, and the one line that
//! says so. The trying is done by [`mod@super::probe`] and [`mod@super::canary`].

use std::io;
use std::path::Path;
use std::sync::Arc;

use super::canary::{self, Found};
use super::codec::Wire;
use super::probe::{LANDLOCK, NEEDED_FOR_NAMESPACES, SECCOMP};
use super::{Escape, Launcher, Layer, LayerState, probe};

/// Which set of layers holds a box.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rung {
    /// Namespaces, own view, seccomp, and Landlock where the kernel has it: every promise.
    Namespaces,
    /// Landlock (ABI 6 or newer) and seccomp without sockets: network off, a weaker kill, modes
    /// and times of files outside and protected paths not held.
    Landlock,
}

impl Wire for Rung {
    fn put(&self, out: &mut Vec<u8>) {
        (*self == Self::Landlock).put(out);
    }
    fn take(input: &mut &[u8]) -> Option<Self> {
        Some(if bool::take(input)? { Self::Landlock } else { Self::Namespaces })
    }
}

/// What holds boxes on this machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Standing {
    /// The rung; `None`: programs are refused with [`Standing::announcement`].
    pub rung: Option<Rung>,
    /// To be said once: what is weaker, or why nothing runs. `None` when every promise is held.
    pub announcement: Option<String>,
}

/// The same with every layer and its state, for `doctor`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Assessment {
    /// Each layer, in a fixed order.
    pub layers: Vec<Layer>,
    /// What they hold together.
    pub standing: Standing,
}

/// Smallest Landlock interface that scopes signals and abstract sockets.
pub(super) const LANDLOCK_SCOPES: u32 = 6;

/// Lets the canary try to leave a full box: one that stands and holds it has every layer, and the
/// first program waits. Only where that fails the layers are tried one by one. `scratch` is as for
/// [`assess`].
pub(crate) fn trial(launcher: &Arc<Launcher>, scratch: &Path) -> io::Result<Standing> {
    match canary::launched(launcher, scratch) {
        Ok(Found { escapes, landlocked }) if escapes.is_empty() => {
            let announcement = (!landlocked).then(|| NO_LANDLOCK.to_owned());
            Ok(Standing { rung: Some(Rung::Namespaces), announcement })
        }
        Ok(Found { escapes, .. }) => Ok(refused(&escaped(&escapes))),
        Err(error) => {
            tracing::info!(%error, "no full box");
            assess(launcher.binary(), scratch).map(|assessment| assessment.standing)
        }
    }
}

/// Tries the layers, takes the best rung and lets the canary try to leave it. `scratch` is an
/// existing directory of the caller's, outside of the home's top, in which a workspace for the
/// canary may be made.
pub fn assess(binary: &Path, scratch: &Path) -> io::Result<Assessment> {
    // The canary tries the best rung while the layers are being tried.
    let (layers, best) = std::thread::scope(|scope| {
        let best = scope.spawn(|| canary::canary(binary, Rung::Namespaces, scratch));
        (probe(binary), best.join())
    });
    let layers = layers?;
    let mut standing = judge(&layers);
    let escapes = match standing.rung {
        Some(Rung::Namespaces) => {
            best.map_err(|_| io::Error::other("the canary panicked"))??.escapes
        }
        Some(Rung::Landlock) => canary::canary(binary, Rung::Landlock, scratch)?.escapes,
        None => Vec::new(),
    };
    if !escapes.is_empty() {
        standing = refused(&escaped(&escapes));
    }
    Ok(Assessment { layers, standing })
}

/// Said where namespaces hold alone.
const NO_LANDLOCK: &str =
    "sandbox: this kernel has no Landlock; namespaces and seccomp confine alone";

/// The rung that these layers allow, and what is said about it.
fn judge(layers: &[Layer]) -> Standing {
    let missing = |name: &str| {
        layers.iter().find(|layer| layer.name == name).and_then(|layer| match &layer.state {
            LayerState::Missing(why) => Some(why.clone()),
            LayerState::Present(_) => None,
        })
    };
    let landlock =
        layers.iter().find(|layer| layer.name == LANDLOCK).map_or(0, |layer| layer.version);
    let broken = NEEDED_FOR_NAMESPACES
        .iter()
        .find_map(|name| missing(name).map(|why| format!("{name}: {why}")));
    let seccomp = missing(SECCOMP);
    let (rung, announcement) = match (broken, seccomp) {
        (_, Some(why)) => return refused(&format!("no seccomp: {why}")),
        (None, None) => (Rung::Namespaces, (landlock == 0).then(|| NO_LANDLOCK.to_owned())),
        (Some(why), None) if landlock >= LANDLOCK_SCOPES => (
            Rung::Landlock,
            Some(format!(
                "sandbox reduced ({why}): network is off; file modes and times outside and \
                 protected paths in the workspace are not guarded; the user can run: quietcontext doctor"
            )),
        ),
        (Some(why), None) => return refused(&why),
    };
    Standing { rung: Some(rung), announcement }
}

/// Nothing is run.
fn refused(why: &str) -> Standing {
    Standing { rung: None, announcement: Some(refusal(why)) }
}

/// The line with which the execution tools refuse.
fn refusal(why: &str) -> String {
    format!("sandbox unavailable: {why}. Nothing is run. The user can run: quietcontext doctor")
}

/// The canary's findings in words.
fn escaped(escapes: &[Escape]) -> String {
    let names: Vec<_> = escapes.iter().map(|escape| escape.name()).collect();
    format!("a trial program could {}", names.join(" and "))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn layers(missing: &[&str], landlock: u32) -> Vec<Layer> {
        NEEDED_FOR_NAMESPACES
            .iter()
            .copied()
            .chain([SECCOMP, LANDLOCK])
            .map(|name| Layer {
                name: name.into(),
                version: if name == LANDLOCK { landlock } else { 0 },
                state: if missing.contains(&name) || (name == LANDLOCK && landlock == 0) {
                    LayerState::Missing("not permitted".into())
                } else {
                    LayerState::Present(String::new())
                },
            })
            .collect()
    }

    #[test]
    fn the_ladder_has_three_rungs_and_says_where_it_stands() {
        let users = NEEDED_FOR_NAMESPACES[0];
        for (missing, landlock, rung, said) in [
            (&[][..], 7, Some(Rung::Namespaces), None),
            (&[], 0, Some(Rung::Namespaces), Some("no Landlock")),
            (&[users], 6, Some(Rung::Landlock), Some("network is off")),
            (&[users], 5, None, Some("sandbox unavailable")),
            (&[users], 0, None, Some("sandbox unavailable")),
            (&[SECCOMP], 7, None, Some("sandbox unavailable")),
        ] {
            let got = judge(&layers(missing, landlock));
            assert_eq!(got.rung, rung, "{missing:?} {landlock}");
            match said {
                None => assert_eq!(got.announcement, None),
                Some(words) => {
                    let line = got.announcement.unwrap();
                    assert!(line.contains(words) && !line.contains('\n'), "{line}");
                }
            }
        }
    }
}
