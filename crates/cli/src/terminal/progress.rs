//! How far work is, on one line of standard error that is gone when the work is done.

use std::{
    io::{self, Write as _},
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, Instant},
};

use super::{
    look::{Look, Style},
    text,
};

/// How often the line is drawn anew at most.
const EVERY: Duration = Duration::from_millis(100);
/// Work that is done by then shows nothing.
const PATIENCE: Duration = Duration::from_millis(400);

/// A line about work under way.
#[derive(Debug)]
pub(crate) struct ProgressLine {
    look: Look,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    started: Instant,
    drawn: Option<Instant>,
    ended: bool,
}

impl ProgressLine {
    /// A line, where a person looks at a terminal that can be drawn on.
    pub(crate) fn start() -> Option<Arc<Self>> {
        let look = Look::stderr();
        let state = Mutex::new(State { started: Instant::now(), drawn: None, ended: false });
        (look.person && look.drawable).then(|| Arc::new(Self { look, state }))
    }

    /// Says how far the work is.
    pub(crate) fn tell(&self, done: f64, total: Option<f64>, what: &str) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let now = Instant::now();
        let early = now.duration_since(state.started) < PATIENCE;
        if state.ended
            || early
            || state.drawn.is_some_and(|drawn| now.duration_since(drawn) < EVERY)
        {
            return;
        }
        state.drawn = Some(now);
        let line = line(done, total, what, state.started.elapsed(), self.look);
        // Where the terminal is gone there is nobody to tell.
        let _unseen = write!(io::stderr().lock(), "\r\u{1b}[K{line}");
    }

    /// Removes the line for good, whoever may still tell something.
    pub(crate) fn end(&self) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.ended = true;
        if state.drawn.is_some() {
            let _unseen = write!(io::stderr().lock(), "\r\u{1b}[K");
        }
    }
}

/// `████░░░░ 3/8 cargo test`, or `1,200 indexed · 3 s` where nobody knows how much it will be.
fn line(done: f64, total: Option<f64>, what: &str, elapsed: Duration, look: Look) -> String {
    const CELLS: usize = 24;
    let what = text::one_line(what);
    let Some(total) = total.filter(|total| *total > 0.0) else {
        // A run says its seconds itself.
        let text = if what.starts_with("running") {
            what
        } else {
            format!("{} {what} · {} s", text::grouped(done as u64), elapsed.as_secs())
        };
        return look.paint(Style::Dim, &text::cut(&text, look.width - 1));
    };
    let full = ((done / total).clamp(0.0, 1.0) * CELLS as f64) as usize;
    let (block, blank) = if look.unicode { ("█", "░") } else { ("#", "-") };
    let bar = format!("{}{}", block.repeat(full), blank.repeat(CELLS - full));
    let rest = text::cut(&format!("{done}/{total} {what}"), look.width.saturating_sub(CELLS + 3));
    format!("{} {rest}", look.paint(Style::Place, &bar))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_known_is_shown_on_one_line_that_fits() {
        let look = Look { person: true, drawable: true, colour: false, unicode: true, width: 48 };
        let second = Duration::from_secs(3);
        let shown = |done, total, what| line(done, total, what, second, look);
        assert_eq!(shown(1_200.0, None, "indexed"), "1,200 indexed · 3 s");
        assert_eq!(shown(4.0, None, "running for 4 s"), "running for 4 s");
        assert_eq!(
            shown(3.0, Some(8.0), "a\u{1b}[2J name that is rather long"),
            "█████████░░░░░░░░░░░░░░░ 3/8 a\u{fffd}[2J name that …"
        );
        let plain = Look { unicode: false, ..look };
        assert_eq!(line(8.0, Some(8.0), "x", second, plain), "######################## 8/8 x");
    }
}
