//! What was refused, and the words for it.
//!
//! The words go to a program, and from there perhaps to a model or into a person's shell: they hold
//! nothing that the program chose but a host name of letters, digits, dots, hyphens and underscores,
//! and a port.

use std::{
    fmt::Write as _,
    sync::{Mutex, PoisonError},
};

use url::Host;

use crate::{HostPort, guard::Class};

/// Refusals that are kept of one box.
const MOST_KEPT: usize = 16;

/// Refusals that are told by name in one text.
const MOST_TOLD: usize = 4;

/// Something that was refused.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Denial {
    /// What was asked for.
    pub target: HostPort,
    /// Why it was refused.
    pub why: Why,
}

/// Why something was refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Why {
    /// The user's policy does not have it.
    NotAllowed,
    /// It is, or resolves to, an address of this class.
    Address(Class),
    /// A TLS handshake in the tunnel asked for another host than the tunnel's.
    OtherName,
}

impl Denial {
    /// What was blocked, as one line without a line end.
    pub(super) fn what(&self) -> String {
        let Self { target, why } = self;
        match why {
            Why::NotAllowed => format!("{target} is not on the allowlist"),
            Why::Address(class) => {
                let verb = match target.host() {
                    Host::Domain(_) => "resolves to",
                    Host::Ipv4(_) | Host::Ipv6(_) => "is",
                };
                format!("{target} {verb} {}", class.describe())
            }
            Why::OtherName => format!("the TLS name in the tunnel to {target} is another host's"),
        }
    }

    /// What the user would have to name with `quietcontext allow`, if naming it helps.
    pub fn remedy(&self) -> Option<String> {
        let helps = match self.why {
            Why::NotAllowed => true,
            Why::Address(class) => super::Permit::Named.covers(class),
            Why::OtherName => false,
        };
        let text = self.target.to_string();
        // Without a port 443 is meant; an address with colons keeps its brackets.
        helps.then(|| text.strip_suffix(":443").map_or(text.clone(), str::to_owned))
    }
}

/// What was blocked, what is allowed and what the user can do, in at most three lines; `None` when
/// nothing was blocked.
pub fn explain(denials: &[Denial]) -> Option<String> {
    let (first, more) = denials.split_first()?;
    let mut text = format!("blocked by sandbox: network: {}", first.what());
    for denial in more.iter().take(MOST_TOLD - 1) {
        // A text in memory takes every line.
        let _written = write!(text, "; {}", denial.what());
    }
    if denials.len() > MOST_TOLD {
        let _written = write!(text, "; and {} more", denials.len() - MOST_TOLD);
    }
    text.push_str("\nallowed: the hosts that the user sees with quietcontext allowed");
    let mut names: Vec<String> = Vec::new();
    for name in denials.iter().filter_map(Denial::remedy) {
        if !names.contains(&name) && names.len() < MOST_TOLD {
            names.push(name);
        }
    }
    if !names.is_empty() {
        let _written =
            write!(text, "\nto allow more the user runs: quietcontext allow {}", names.join(" "));
    }
    Some(text)
}

/// The refusals of one box.
#[derive(Debug, Default)]
pub(super) struct Denied(Mutex<Vec<Denial>>);

impl Denied {
    pub(super) fn add(&self, denial: &Denial) {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if kept.len() < MOST_KEPT && !kept.contains(denial) {
            kept.push(denial.clone());
        }
    }

    pub(super) fn list(&self) -> Vec<Denial> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn denial(target: &str, why: Why) -> Denial {
        Denial { target: HostPort::parse(target).unwrap(), why }
    }

    #[test]
    fn three_lines_say_what_was_blocked_what_is_allowed_and_what_the_user_can_do() {
        assert_eq!(explain(&[]), None);
        let one = explain(&[denial("api.example", Why::NotAllowed)]).unwrap();
        assert_eq!(
            one,
            "blocked by sandbox: network: api.example:443 is not on the allowlist\n\
             allowed: the hosts that the user sees with quietcontext allowed\n\
             to allow more the user runs: quietcontext allow api.example"
        );
        let never = explain(&[denial("169.254.169.254:80", Why::Address(Class::Metadata))]);
        assert_eq!(
            never.unwrap(),
            "blocked by sandbox: network: 169.254.169.254:80 is a cloud metadata address\n\
             allowed: the hosts that the user sees with quietcontext allowed"
        );
        let local = explain(&[
            denial("localhost:3000", Why::Address(Class::Loopback)),
            denial("[::1]:443", Why::NotAllowed),
        ]);
        assert_eq!(
            local.unwrap().lines().last().unwrap(),
            "to allow more the user runs: quietcontext allow localhost:3000 [::1]"
        );
        let many: Vec<_> =
            (0..9).map(|n| denial(&format!("h{n}.example"), Why::NotAllowed)).collect();
        let many = explain(&many).unwrap();
        assert!(many.contains("h3.example") && !many.contains("h4.example"), "{many}");
        assert!(many.contains("and 5 more") && many.lines().count() == 3, "{many}");
    }

    #[test]
    fn refusals_are_kept_once_in_order_and_not_without_end() {
        let denied = Denied::default();
        for n in [0, 1, 0, 2] {
            denied.add(&denial(&format!("h{n}.example"), Why::NotAllowed));
        }
        let kept: Vec<_> = denied.list().iter().map(|kept| kept.target.to_string()).collect();
        assert_eq!(kept, ["h0.example:443", "h1.example:443", "h2.example:443"]);
        for n in 0..1000 {
            denied.add(&denial(&format!("h{n}.example"), Why::NotAllowed));
        }
        assert_eq!(denied.list().len(), MOST_KEPT);
    }
}
