//! Programs remembered for reuse by `[s:ref]`: in memory only, first in first out, fail closed.

use std::collections::VecDeque;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use quietcontext_exec::Language;
use sha2::{Digest as _, Sha256};

use crate::limits;

/// A program: its language and its text.
#[derive(Debug, Clone)]
pub(crate) struct Script {
    pub language: Language,
    pub code: Arc<str>,
}

/// SHA-256 over language, NUL, code; shown as its first 16 hex digits.
#[derive(Clone, PartialEq, Eq)]
struct Fingerprint([u8; 32]);

impl Fingerprint {
    fn of(script: &Script) -> Self {
        let mut hash = Sha256::new();
        hash.update(script.language.name());
        hash.update([0]);
        hash.update(script.code.as_bytes());
        Self(hash.finalize().into())
    }

    fn hex(&self, digits: usize) -> String {
        let nibbles = self.0.iter().flat_map(|byte| [byte >> 4, byte & 15]);
        nibbles.take(digits).filter_map(|nibble| char::from_digit(nibble.into(), 16)).collect()
    }
}

impl fmt::Debug for Fingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.hex(16))
    }
}

/// Hex digits of a reference, and of a full digest.
const SHORT: usize = 16;
const FULL: usize = 64;

/// The programs of one root.
#[derive(Debug, Default)]
pub(crate) struct Scripts {
    remembered: Mutex<VecDeque<(Fingerprint, Script)>>,
}

impl Scripts {
    /// Whether nothing is remembered.
    pub(crate) fn is_empty(&self) -> bool {
        self.remembered.lock().unwrap_or_else(PoisonError::into_inner).is_empty()
    }

    /// Remembers a program of 256 bytes or more and returns its reference, `s:<16 hex>`.
    ///
    /// Sending a program again neither doubles it nor makes it younger. Where two programs share the
    /// short form, the later one gets the full digest.
    pub(crate) fn remember(&self, script: &Script) -> Option<String> {
        if script.code.len() < limits::SCRIPT_BYTES {
            return None;
        }
        let print = Fingerprint::of(script);
        let mut remembered = self.remembered.lock().unwrap_or_else(PoisonError::into_inner);
        if !remembered.iter().any(|(known, _)| *known == print) {
            remembered.push_back((print.clone(), script.clone()));
            evict(&mut remembered);
        }
        let digits = reference_digits(&remembered, &print);
        Some(format!("s:{}", print.hex(digits)))
    }

    /// The program behind `reference`, which may stand in brackets or without its `s:`.
    ///
    /// # Errors
    /// One line that says how to mend it: not such a reference, ambiguous, or not remembered.
    pub(crate) fn find(&self, reference: &str) -> Result<Script, String> {
        const FORM: &str =
            "script_ref must be s: and 16 hex digits, as given in an answer's last line";
        let bare = reference.trim().trim_start_matches('[').trim_end_matches(']').trim();
        let bare = bare.to_ascii_lowercase();
        // The digits alone can mean nothing else.
        let digits = bare.strip_prefix("s:").unwrap_or(&bare);
        let hex = digits.bytes().all(|b| b.is_ascii_hexdigit());
        if !hex || !matches!(digits.len(), SHORT | FULL) {
            return Err(FORM.to_owned());
        }
        let remembered = self.remembered.lock().unwrap_or_else(PoisonError::into_inner);
        let mut matching = remembered.iter().filter(|(print, _)| print.hex(digits.len()) == digits);
        match (matching.next(), matching.next()) {
            (Some((_, script)), None) => Ok(script.clone()),
            (None, _) => Err(format!(
                "script_ref s:{digits} is unknown: the server keeps the last {} programs until it ends; send code again",
                limits::SCRIPTS
            )),
            (Some(_), Some(_)) => {
                Err(format!("script_ref s:{digits} is ambiguous; give all 64 hex digits"))
            }
        }
    }
}

fn evict(remembered: &mut VecDeque<(Fingerprint, Script)>) {
    let total = |all: &VecDeque<(Fingerprint, Script)>| -> usize {
        all.iter().map(|(_, script)| script.code.len()).sum()
    };
    while remembered.len() > limits::SCRIPTS
        || (remembered.len() > 1 && total(remembered) > limits::SCRIPTS_TOTAL_BYTES)
    {
        remembered.pop_front();
    }
}

fn reference_digits(all: &VecDeque<(Fingerprint, Script)>, print: &Fingerprint) -> usize {
    let short = print.hex(SHORT);
    let same = all.iter().filter(|(other, _)| other.hex(SHORT) == short).count();
    if same > 1 { FULL } else { SHORT }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn script(code: &str) -> Script {
        Script { language: Language::parse("python").unwrap(), code: code.into() }
    }

    fn long(seed: usize) -> Script {
        script(&format!("# {seed}\n{}", "x".repeat(limits::SCRIPT_BYTES)))
    }

    #[test]
    fn a_program_is_remembered_from_256_bytes_of_utf8_on() {
        let scripts = Scripts::default();
        assert_eq!(scripts.remember(&script(&"é".repeat(127))), None);
        let reference = scripts.remember(&script(&"é".repeat(128))).unwrap();
        assert_eq!(reference.len(), "s:".len() + SHORT);
        for spelled in [reference.clone(), format!("[{reference}]"), reference.to_uppercase()] {
            assert_eq!(scripts.find(&spelled).unwrap().code.len(), 256);
        }
    }

    #[test]
    fn the_language_is_part_of_the_reference() {
        let scripts = Scripts::default();
        let code = "x".repeat(300);
        let python = scripts.remember(&script(&code)).unwrap();
        let shell = Script { language: Language::parse("shell").unwrap(), code: code.into() };
        assert_ne!(scripts.remember(&shell).unwrap(), python);
    }

    #[test]
    fn the_oldest_goes_first_and_use_does_not_refresh() {
        let scripts = Scripts::default();
        let first = scripts.remember(&long(0)).unwrap();
        for seed in 1..limits::SCRIPTS {
            scripts.remember(&long(seed)).unwrap();
        }
        scripts.find(&first).unwrap();
        assert_eq!(scripts.remember(&long(0)).unwrap(), first, "sent again: still the oldest");
        scripts.remember(&long(limits::SCRIPTS)).unwrap();
        assert!(scripts.find(&first).unwrap_err().contains("send code again"));
    }

    #[test]
    fn all_programs_together_stay_below_the_total() {
        let scripts = Scripts::default();
        let big = "x".repeat(limits::PROGRAM_BYTES - 10);
        let first = scripts.remember(&script(&format!("{big}0"))).unwrap();
        for seed in 1..5 {
            scripts.remember(&script(&format!("{big}{seed}"))).unwrap();
        }
        assert!(scripts.find(&first).is_err());
    }

    #[test]
    fn what_is_no_reference_is_told_from_what_is_unknown() {
        let scripts = Scripts::default();
        for bad in ["", "s:nonsense", "r:123", "0123", "s:0123"] {
            assert!(scripts.find(bad).unwrap_err().contains("must be s:"), "{bad}");
        }
        for unknown in ["s:0123456789abcdef", "0123456789ABCDEF"] {
            assert!(scripts.find(unknown).unwrap_err().contains("unknown"), "{unknown}");
        }
    }

    #[test]
    fn programs_that_share_the_short_form_are_told_apart() {
        let mut all = VecDeque::new();
        let (mut a, mut b) = ([7u8; 32], [7u8; 32]);
        (a[31], b[31]) = (1, 2);
        all.push_back((Fingerprint(a), script("a")));
        all.push_back((Fingerprint(b), script("b")));
        let scripts = Scripts { remembered: Mutex::new(all) };
        assert!(scripts.find("s:0707070707070707").unwrap_err().contains("ambiguous"));
        let full = format!("s:{}", Fingerprint(b).hex(FULL));
        assert_eq!(&*scripts.find(&full).unwrap().code, "b");
    }
}
