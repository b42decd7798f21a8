//! What searches of one store keep between calls: the vocabulary, and what the index said of words.

use std::sync::{Arc, Mutex};

use rusqlite::Connection;

use super::lexicon::Lexicon;
use super::shared::Shared;
use super::word_lists::{State, state};
use crate::pool::lock;

/// Belongs to whoever owns the store's connections.
#[derive(Debug, Default)]
pub(crate) struct Memory {
    lexicon: Mutex<Arc<Lexicon>>,
    shared: Mutex<(State, Arc<Shared>)>,
}

impl Memory {
    /// Gives its memory back.
    pub(crate) fn rest(&self) {
        *lock(&self.lexicon) = Arc::default();
        *lock(&self.shared) = <(State, Arc<Shared>)>::default();
    }

    /// The vocabulary as the connection sees it now.
    pub(super) fn lexicon(&self, connection: &Connection) -> rusqlite::Result<Arc<Lexicon>> {
        let known = Arc::clone(&lock(&self.lexicon));
        let Some(fresh) = known.renewed(connection, state(connection)?)? else { return Ok(known) };
        let fresh = Arc::new(fresh);
        *lock(&self.lexicon) = Arc::clone(&fresh);
        Ok(fresh)
    }

    /// Answers of the index for searches of everything, as long as nothing is added or removed.
    pub(super) fn shared(&self, connection: &Connection) -> rusqlite::Result<Arc<Shared>> {
        let now = state(connection)?;
        let mut kept = lock(&self.shared);
        if kept.0 != now {
            *kept = (now, Arc::default());
        }
        Ok(Arc::clone(&kept.1))
    }
}
