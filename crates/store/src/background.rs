//! Work nobody waits for: missing full-text rows, removal in steps, retention, upkeep. One thread, which
//! ends when there is nothing left to do.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use rusqlite::OptionalExtension as _;

use crate::Result;
use crate::core::Core;
use crate::label;
use crate::pending;
use crate::retention::used_bytes;
use crate::row::DocumentRow;

/// Left between two transactions: time for another process to get its turn.
const GAP: Duration = Duration::from_millis(2);

/// A larger store is not looked through unasked: that would take more than a moment.
const CHECKED_BYTES: u64 = 64 << 20;

/// Whether the thread runs, and whether it should.
#[derive(Debug, Default)]
pub(crate) struct Background {
    state: Mutex<State>,
    stop: AtomicBool,
}

#[derive(Debug, Default)]
struct State {
    running: bool,
    /// There may be something new since the thread last looked.
    again: bool,
}

/// Starts the thread unless it runs.
pub(crate) fn kick(core: &Arc<Core>) {
    {
        let mut state = core.background.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.again = true;
        if state.running || core.background.stop.load(Ordering::Relaxed) {
            return;
        }
        state.running = true;
    }
    let core = Arc::clone(core);
    let started = thread::Builder::new().name(String::from("store")).spawn({
        let core = Arc::clone(&core);
        move || core.work()
    });
    if let Err(error) = started {
        tracing::warn!(%error, "no background thread; searches finish what they need");
        core.background.state.lock().unwrap_or_else(PoisonError::into_inner).running = false;
    }
}

impl Background {
    /// Ends the thread after its present transaction, for good.
    pub(crate) fn stop(&self) {
        self.stop.store(true, Ordering::Relaxed);
    }
}

impl Core {
    fn work(&self) {
        loop {
            {
                let mut state =
                    self.background.state.lock().unwrap_or_else(PoisonError::into_inner);
                if !std::mem::take(&mut state.again) {
                    state.running = false;
                    return;
                }
            }
            if let Err(error) = self.work_all() {
                // Nothing is lost: the rows say what is missing, and a search finds it.
                tracing::warn!(%error, "background work was put off");
            }
        }
    }

    fn work_all(&self) -> Result<()> {
        self.check_once()?;
        self.adopt()?;
        // What is too much goes first: it needs no full-text rows any more.
        while self.expire_some()?.is_some() || self.work_once()? || self.upkeep()? {
            if self.background.stop.load(Ordering::Relaxed) {
                return Ok(());
            }
            thread::sleep(GAP);
        }
        self.forget_sketches()?;
        self.tidy()
    }

    /// Drops the sketches of blocks that other processes indexed, or that are gone.
    fn forget_sketches(&self) -> Result<()> {
        let pending = self.pool.read(pending::all)?;
        let ranges: Vec<(u64, u64)> = pending.iter().map(|one| (one.next, one.last)).collect();
        self.sketches.keep(&ranges);
        Ok(())
    }

    /// After an end that may not have been clean, a small store is looked through once.
    fn check_once(&self) -> Result<()> {
        let Some(seat) = self.pool.unclean() else { return Ok(()) };
        let sound = self.pool.read_afresh(|connection| {
            if used_bytes(connection)? > CHECKED_BYTES {
                return Ok(true);
            }
            let answer: String =
                connection.query_row("PRAGMA quick_check(1)", (), |row| row.get(0))?;
            if answer != "ok" {
                tracing::error!(answer, "the store is damaged");
            }
            Ok(answer == "ok")
        })?;
        if !sound {
            self.pool.set_aside(seat)?;
        }
        Ok(())
    }

    /// One document's rows, or one step of removing another; `false` when nothing is left.
    fn work_once(&self) -> Result<bool> {
        let turn = self.indexing.take(None);
        for pending in self.pool.read(pending::all)? {
            if !self.is_taken(&pending)? {
                let goes_on = || {
                    self.courtesy.give_way();
                    !self.background.stop.load(Ordering::Relaxed)
                };
                self.index_document(&pending, &goes_on, false)?;
                return Ok(true);
            }
        }
        drop(turn);
        self.reap_some()
    }

    /// Removes some rows of dead documents; `false` when there are none.
    pub(crate) fn reap_some(&self) -> Result<bool> {
        let dead = self.pool.read(|connection| {
            Ok(connection
                .prepare_cached("SELECT id FROM documents WHERE state = 3 LIMIT 1")?
                .query_row((), |row| row.get::<_, i64>(0))
                .optional()?)
        })?;
        let Some(dead) = dead else { return Ok(false) };
        self.write(|transaction| label::reap(transaction, dead as u64))?;
        Ok(true)
    }

    /// Takes over what processes that ended have left unfinished: half-written documents are
    /// removed, growing ones end where they are.
    fn adopt(&self) -> Result<()> {
        let unfinished: Vec<(i64, i64, Option<String>)> = self.pool.read(|connection| {
            let mut statement = connection
                .prepare_cached("SELECT id, state, owner FROM documents WHERE state IN (0, 2)")?;
            let rows =
                statement.query_map((), |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))?;
            Ok(rows.collect::<rusqlite::Result<_>>()?)
        })?;
        for (id, state, owner) in unfinished {
            if owner.is_some_and(|owner| self.is_alive(&owner)) {
                continue;
            }
            self.write(|transaction| {
                if state == 2 {
                    crate::growing::end_abandoned(transaction, id as u64)
                } else if let Some(row) = DocumentRow::by_id(transaction, id as u64)? {
                    label::bury_unfinished(transaction, &row)
                } else {
                    Ok(())
                }
            })?;
        }
        Ok(())
    }
}
