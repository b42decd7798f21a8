//! What keeps a store quick and its log small, in steps that others hardly notice: parts of the index
//! and lists of words are merged, the log is moved into the file.
//!
//! Whoever commits used to do this on the way, and everybody else waited.

use std::sync::atomic::Ordering;

use crate::Result;
use crate::core::Core;
use crate::error::StoreError;
use crate::search;

/// Size of the log at which it is moved into the file.
const LOG_BYTES: u64 = 8 << 20;

impl Core {
    /// One step of whatever is due; `false` when nothing is.
    pub(crate) fn upkeep(&self) -> Result<bool> {
        self.carry_over()?;
        let words = self.merge_words()?;
        self.pool.let_pass();
        let parts = self.write(|transaction| Ok(search::merge_some(transaction)?))?;
        Ok(words || parts)
    }

    /// Makes one list of words of eight, outside of any transaction but to put it in their place.
    fn merge_words(&self) -> Result<bool> {
        let Some(ripe) = self.pool.read(|connection| Ok(search::ripe(connection)?))? else {
            return Ok(false);
        };
        self.pool.let_pass();
        let replaced = self.write(|transaction| {
            // Undone as a whole where another process was faster.
            if ripe.replace(transaction)? { Ok(()) } else { Err(StoreError::Missing) }
        });
        match replaced {
            Ok(()) => Ok(true),
            Err(StoreError::Missing) => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Moves a long log into the file. Others read and write meanwhile.
    pub(crate) fn carry_over(&self) -> Result<()> {
        let log = format!("{}-wal", self.path().display());
        let length = std::fs::metadata(log).map_or(0, |log| log.len());
        if length < LOG_BYTES {
            self.carried.store(0, Ordering::Relaxed);
            return Ok(());
        }
        // Its file stays as long until the next transaction, and grows on while a reader needs it.
        let carried = self.carried.load(Ordering::Relaxed);
        if (carried..carried + LOG_BYTES / 2).contains(&length) {
            return Ok(());
        }
        self.move_log()?;
        // The log begins anew with a transaction that finds nothing left in it: what was written during the
        // long pass is moved by a short one, while nobody writes.
        self.pool.let_pass();
        self.pool.write(|_| self.move_log())?;
        self.carried.store(length, Ordering::Relaxed);
        Ok(())
    }

    /// Moves what is in the log now.
    fn move_log(&self) -> Result<()> {
        self.pool.aside(|connection| {
            Ok(connection.query_row("PRAGMA wal_checkpoint(PASSIVE)", (), |_| Ok(()))?)
        })
    }
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use super::*;
    use crate::document::{Label, NewDocument, Origin};
    use crate::steps::TRANSACTION_BYTES;
    use std::sync::Arc;

    fn ask(core: &Core, sql: &str) -> i64 {
        core.pool.read(|connection| Ok(connection.query_row(sql, (), |row| row.get(0))?)).unwrap()
    }

    /// Text with words of its own.
    fn text(seed: u64, bytes: usize) -> String {
        let mut text = String::new();
        let mut number = seed;
        while text.len() < bytes {
            number = number.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695);
            let word: String =
                (0..7).map(|at| char::from(b'a' + (number >> (20 + at * 5)) as u8 % 26)).collect();
            text.push_str(&word);
            text.push(if text.len() % 60 < 8 { '\n' } else { ' ' });
        }
        text
    }

    /// Stores such a text under its own name.
    fn add(core: &Arc<Core>, seed: u64, bytes: usize) {
        let label = format!("{seed}");
        let new = NewDocument::new(Label::Fixed(&label), Origin::Content);
        core.add(&new, &mut text(seed, bytes).as_bytes(), None).unwrap();
    }

    const PARTS: &str = "SELECT count(DISTINCT segid) FROM words_idx";
    const FULL: &str = "SELECT count(*) FROM
        (SELECT 1 FROM word_lists GROUP BY level HAVING count(*) >= 8)";

    #[test]
    fn a_commit_merges_nothing_and_upkeep_does_in_steps() {
        let folder = tempfile::tempdir().unwrap();
        let core = Core::beneath(folder.path());
        for seed in 0..30 {
            add(&core, seed, 40_000);
        }
        assert_eq!(ask(&core, PARTS), 30);
        assert_eq!(ask(&core, "SELECT count(*) FROM word_lists"), 30);
        let newest = "SELECT max(id) FROM word_lists";
        let (mut steps, before) = (0, ask(&core, newest));
        while core.upkeep().unwrap() {
            steps += 1;
        }
        // What a process remembers of the words is still true.
        assert_eq!(ask(&core, newest), before);
        assert!(steps > 3, "{steps}");
        assert!(ask(&core, PARTS) < 16);
        assert_eq!(ask(&core, FULL), 0);
        assert_eq!(core.check().unwrap(), Vec::<String>::new());
    }

    /// A connection that had searched remembered parts that were merged since: it took the file for damaged,
    /// and a sound store was set aside.
    #[test]
    fn a_store_that_was_searched_before_a_merge_is_found_sound_after_it() {
        let folder = tempfile::tempdir().unwrap();
        let core = Core::beneath(folder.path());
        for seed in 0..20 {
            add(&core, seed, 40_000);
        }
        assert!(ask(&core, "SELECT count(*) FROM words WHERE words MATCH 'a*'") > 0);
        while core.upkeep().unwrap() {}
        assert_eq!(core.check().unwrap(), Vec::<String>::new());
    }

    #[test]
    fn transactions_of_bulk_work_hold_little_text() {
        let folder = tempfile::tempdir().unwrap();
        let core = Core::beneath(folder.path());
        let mut writer = crate::writer::Writer::new(&core).unwrap();
        let mut bytes = 0;
        for seed in 0..60 {
            let text = text(seed, 20_000);
            bytes += text.len() as u64;
            let label = format!("{seed}");
            let new = NewDocument::new(Label::Fixed(&label), Origin::File);
            writer.add(new, &mut text.as_bytes(), None).unwrap();
        }
        writer.finish().unwrap();
        let lists = ask(&core, "SELECT seq FROM sqlite_sequence WHERE name = 'word_lists'");
        // Each transaction leaves a list.
        assert!(lists >= (bytes / TRANSACTION_BYTES) as i64, "{lists} of {bytes}");
        core.background.stop();
    }

    #[test]
    fn words_that_were_purged_meanwhile_do_not_come_back() {
        let folder = tempfile::tempdir().unwrap();
        let core = Core::beneath(folder.path());
        for seed in 0..8 {
            add(&core, seed, 4_000);
        }
        let ripe = core.pool.read(|connection| Ok(search::ripe(connection)?)).unwrap().unwrap();
        core.purge(crate::store::Purge::All).unwrap();
        assert!(!core.write(|transaction| Ok(ripe.replace(transaction)?)).unwrap());
        assert!(core.finish_pending(None, Instant::now()).unwrap());
    }

    /// Another connection writes while the log is moved, as other processes do.
    #[test]
    fn the_log_begins_anew_although_somebody_writes_meanwhile() {
        let folder = tempfile::tempdir().unwrap();
        let (core, other) = (Core::beneath(folder.path()), Core::beneath(folder.path()));
        let log = std::path::PathBuf::from(format!("{}-wal", core.path().display()));
        let length = || std::fs::metadata(&log).map_or(0, |log| log.len());
        let (mut longest, mut anew, mut seed) = (0, 0, 0);
        while anew < 3 {
            seed += 1;
            add(&core, seed, 250_000);
            let before = length();
            longest = before.max(longest);
            let moved = std::sync::atomic::AtomicBool::new(false);
            std::thread::scope(|scope| {
                scope.spawn(|| {
                    let new = NewDocument::new(Label::Fixed("note"), Origin::Content);
                    let mut number = 0;
                    while !moved.load(Ordering::Relaxed) {
                        number += 1;
                        other.add(&new, &mut text(number, 200).as_bytes(), None).unwrap();
                    }
                });
                core.carry_over().unwrap();
                moved.store(true, Ordering::Relaxed);
            });
            anew += u64::from(length() < before);
            assert!(longest < 4 * LOG_BYTES, "{longest} after {seed}, {anew} times anew");
        }
    }

    #[test]
    fn a_long_log_is_moved_into_the_file() {
        let folder = tempfile::tempdir().unwrap();
        let core = Core::beneath(folder.path());
        let log = std::path::PathBuf::from(format!("{}-wal", core.path().display()));
        let length = || std::fs::metadata(&log).unwrap().len();
        let mut seed = 0;
        while seed == 0 || length() < LOG_BYTES {
            add(&core, seed, 250_000);
            seed += 1;
        }
        core.carry_over().unwrap();
        let new = NewDocument::new(Label::Fixed("after"), Origin::Content);
        core.add(&new, &mut text(seed, 4_000).as_bytes(), None).unwrap();
        assert!(length() < LOG_BYTES / 2, "{}", length());
    }
}
