//! The ladder: which layers a kernel gives, what remains of the promises, and the one line that
//! says so. Nothing here tries anything; [`mod@super::probe`] and [`mod@super::canary`] do.

use std::io;
use std::path::Path;

use super::codec::Wire;
use super::probe::{LANDLOCK, NEEDED_FOR_NAMESPACES, SECCOMP};
use super::{Escape, Layer, LayerState, canary, probe};

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

/// What this machine can hold.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Assessment {
    /// Every layer with its state, for `doctor`.
    pub layers: Vec<Layer>,
    /// The rung; `None`: programs are refused with [`Assessment::announcement`].
    pub rung: Option<Rung>,
    /// To be said once: what is weaker, or why nothing runs. `None` when every promise is held.
    pub announcement: Option<String>,
}

/// Smallest Landlock interface that scopes signals and abstract sockets.
pub(super) const LANDLOCK_SCOPES: u32 = 6;

/// Tries the layers, takes the best rung and lets the canary try to leave it. `scratch` is an
/// existing directory of the caller's, outside of the home's top, in which a workspace for the
/// canary may be made.
pub fn assess(binary: &Path, scratch: &Path) -> io::Result<Assessment> {
    // The canary tries the best rung while the layers are being tried: the first program waits.
    let (layers, best) = std::thread::scope(|scope| {
        let best = scope.spawn(|| canary(binary, Rung::Namespaces, scratch));
        (probe(binary), best.join())
    });
    let mut assessment = judge(layers?);
    let escapes = match assessment.rung {
        Some(Rung::Namespaces) => best.map_err(|_| io::Error::other("the canary panicked"))??,
        Some(Rung::Landlock) => canary(binary, Rung::Landlock, scratch)?,
        None => Vec::new(),
    };
    if !escapes.is_empty() {
        assessment.rung = None;
        assessment.announcement = Some(refusal(&escaped(&escapes)));
    }
    Ok(assessment)
}

/// The rung that these layers allow, and what is said about it.
pub(super) fn judge(layers: Vec<Layer>) -> Assessment {
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
        (_, Some(why)) => (None, Some(refusal(&format!("no seccomp: {why}")))),
        (None, None) if landlock == 0 => (
            Some(Rung::Namespaces),
            Some(
                "sandbox: this kernel has no Landlock; namespaces and seccomp confine alone".into(),
            ),
        ),
        (None, None) => (Some(Rung::Namespaces), None),
        (Some(why), None) if landlock >= LANDLOCK_SCOPES => (
            Some(Rung::Landlock),
            Some(format!(
                "sandbox reduced ({why}): network is off; file modes and times outside and \
                 protected paths in the workspace are not guarded; the user can run: quietcontext doctor"
            )),
        ),
        (Some(why), None) => (None, Some(refusal(&why))),
    };
    Assessment { layers, rung, announcement }
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
            let got = judge(layers(missing, landlock));
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
