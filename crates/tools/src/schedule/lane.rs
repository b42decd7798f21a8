//! One kind of work: so many do it at a time, and of those who wait the one goes first whose root had least
//! lately. Told the time, starts nothing.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// After so long, half of what a root has taken is forgotten.
const HALF: Duration = Duration::from_secs(2);

/// What a second of waiting outweighs, in seconds taken: whoever waits goes first in the end, however many
/// come who had nothing.
const PATIENCE: f64 = 0.1;

/// What a turn counts for when it begins, in seconds: two of one root are more than one of each of two.
const BEGUN: f64 = 0.001;

/// A root is quiet beside another one that has had so many times as much lately, and so many seconds more.
const QUIET: f64 = 4.0;
const MARGIN: f64 = 0.05;

/// While a turn of a quiet root is younger, no turn of a busy one begins, of whatever kind. Who is held so
/// is a busy one for some seconds only, since what it has had is forgotten.
pub(super) const HEAD_START: Duration = Duration::from_millis(25);

/// Turns of one root while no other one asks.
const ALONE: usize = 16;

/// How much the calls of one root have taken lately.
#[derive(Debug, Default)]
pub(crate) struct Account(Mutex<Option<(f64, Instant)>>);

impl Account {
    /// Seconds that were taken, the older the less.
    fn taken(&self, now: Instant) -> f64 {
        let taken = *self.0.lock().unwrap_or_else(PoisonError::into_inner);
        taken.map_or(0.0, |(seconds, at)| seconds * faded(now.saturating_duration_since(at)))
    }

    /// Whether what this root asks is little beside what the other one does.
    fn is_quiet_beside(&self, other: &Self, now: Instant) -> bool {
        self.taken(now) * QUIET + MARGIN < other.taken(now)
    }

    pub(super) fn charge(&self, spent: Duration, now: Instant) {
        let mut taken = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let before =
            taken.map_or(0.0, |(seconds, at)| seconds * faded(now.saturating_duration_since(at)));
        *taken = Some((before + spent.as_secs_f64(), now));
    }
}

fn faded(age: Duration) -> f64 {
    (-age.as_secs_f64() / HALF.as_secs_f64()).exp2()
}

/// A turn that somebody has.
#[derive(Debug)]
struct Taken {
    ticket: u64,
    account: Arc<Account>,
    since: Instant,
}

/// Somebody who waits for a turn.
#[derive(Debug)]
struct Waiting<W> {
    account: Arc<Account>,
    since: Instant,
    wake: W,
}

/// The turns of one kind of work; `W` is what wakes a waiting one.
#[derive(Debug)]
pub(super) struct Lane<W> {
    slots: usize,
    /// After so long a turn counts no more, so that nobody waits for what is long.
    lapse: Duration,
    taken: Vec<Taken>,
    waiting: Vec<Waiting<W>>,
}

impl<W> Lane<W> {
    pub(super) fn new(slots: usize, lapse: Duration) -> Self {
        Self { slots, lapse, taken: Vec::new(), waiting: Vec::new() }
    }

    /// Whether this root can have a turn at once: nobody waits, or only who is busier by far.
    pub(super) fn is_free(&self, account: &Arc<Account>, now: Instant) -> bool {
        let passes = |waiting: &Waiting<W>| account.is_quiet_beside(&waiting.account, now);
        self.waiting.iter().all(passes) && self.taken.len() < self.room(account, now)
    }

    /// How many turns there may be if this root gets another one. While nobody else asks, it keeps nobody
    /// from theirs; and where busy ones have taken all, there is one more for who is quiet.
    fn room(&self, account: &Arc<Account>, now: Instant) -> usize {
        let others = |other: &Arc<Account>| !Arc::ptr_eq(other, account);
        let shared = self.taken.iter().any(|taken| others(&taken.account))
            || self.waiting.iter().any(|waiting| others(&waiting.account));
        if !shared {
            return ALONE.max(self.slots);
        }
        let quiet = self.taken.iter().all(|taken| account.is_quiet_beside(&taken.account, now));
        self.slots + usize::from(quiet)
    }

    /// The roots whose turns have only begun.
    pub(super) fn started(&self, now: Instant) -> impl Iterator<Item = &Arc<Account>> {
        let young = move |taken: &&Taken| now < taken.since + HEAD_START;
        self.taken.iter().filter(young).map(|taken| &taken.account)
    }

    pub(super) fn is_wanted(&self) -> bool {
        !self.waiting.is_empty()
    }

    pub(super) fn wait(&mut self, account: &Arc<Account>, now: Instant, wake: W) {
        self.waiting.push(Waiting { account: Arc::clone(account), since: now, wake });
    }

    pub(super) fn begin(&mut self, ticket: u64, account: &Arc<Account>, now: Instant) {
        self.taken.push(Taken { ticket, account: Arc::clone(account), since: now });
    }

    /// Ends a turn; nothing for one that has lapsed.
    pub(super) fn end(&mut self, ticket: u64, now: Instant) {
        if let Some(at) = self.taken.iter().position(|taken| taken.ticket == ticket) {
            let taken = self.taken.swap_remove(at);
            taken.account.charge(now.saturating_duration_since(taken.since), now);
        }
    }

    /// Ends the turns that have lasted too long.
    pub(super) fn lapse(&mut self, now: Instant) {
        while let Some(taken) = self.taken.iter().find(|taken| now >= taken.since + self.lapse) {
            self.end(taken.ticket, now);
        }
    }

    /// When the next turn lapses, or has no head start any more.
    pub(super) fn next_lapse(&self, now: Instant) -> Option<Instant> {
        let ends = |taken: &Taken| [taken.since + HEAD_START, taken.since + self.lapse];
        self.taken.iter().flat_map(ends).filter(|end| *end > now).min()
    }

    /// Whose turn it is, if a slot is free; who is held back by those that have only `started` waits on.
    pub(super) fn next(
        &mut self,
        started: &[Arc<Account>],
        now: Instant,
    ) -> Option<(Arc<Account>, W)> {
        let waiting = self.waiting.iter().enumerate();
        let (first, waiting) =
            waiting.filter(|(_, waiting)| !is_held(&waiting.account, started, now)).min_by(
                |(_, one), (_, other)| self.claim(one, now).total_cmp(&self.claim(other, now)),
            )?;
        if self.taken.len() >= self.room(&waiting.account, now) {
            return None;
        }
        let waiting = self.waiting.remove(first);
        Some((waiting.account, waiting.wake))
    }

    /// The less, the sooner: what the root has taken and takes now, less its patience.
    fn claim(&self, waiting: &Waiting<W>, now: Instant) -> f64 {
        let own = self.taken.iter().filter(|taken| Arc::ptr_eq(&taken.account, &waiting.account));
        let held: f64 =
            own.map(|taken| now.saturating_duration_since(taken.since).as_secs_f64() + BEGUN).sum();
        let waited = now.saturating_duration_since(waiting.since).as_secs_f64();
        waiting.account.taken(now) + held - waited * PATIENCE
    }
}

/// Whether a root waits until a quiet one has had its head start.
pub(super) fn is_held(account: &Account, started: &[Arc<Account>], now: Instant) -> bool {
    started.iter().any(|quiet| quiet.is_quiet_beside(account, now))
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Duration = Duration::from_millis(1);

    /// A lane of named waiting ones and a clock that is moved by hand.
    struct Table {
        lane: Lane<&'static str>,
        now: Instant,
        tickets: u64,
    }

    impl Table {
        fn new(slots: usize) -> Self {
            Self { lane: Lane::new(slots, 100 * MS), now: Instant::now(), tickets: 0 }
        }

        fn wait(&mut self, account: &Arc<Account>, name: &'static str) {
            self.lane.wait(account, self.now, name);
        }

        /// Begins the next turn.
        fn next(&mut self) -> Option<(u64, &'static str)> {
            let (account, name) = self.lane.next(&[], self.now)?;
            self.tickets += 1;
            self.lane.begin(self.tickets, &account, self.now);
            Some((self.tickets, name))
        }

        /// Serves everybody who waits, each for `spent`; the names in their order.
        fn serve(&mut self, spent: Duration) -> Vec<&'static str> {
            let mut order = Vec::new();
            while let Some((ticket, name)) = self.next() {
                self.now += spent;
                self.lane.end(ticket, self.now);
                order.push(name);
            }
            order
        }
    }

    fn accounts<const N: usize>() -> [Arc<Account>; N] {
        std::array::from_fn(|_| Arc::default())
    }

    #[test]
    fn a_root_that_was_quiet_goes_before_those_that_were_not() {
        let (mut table, [busy, quiet]) = (Table::new(1), accounts());
        table.wait(&busy, "b1");
        let (first, _) = table.next().unwrap();
        table.now += 5 * MS;
        for (account, name) in [(&busy, "b2"), (&busy, "b3"), (&quiet, "q")] {
            table.wait(account, name);
        }
        assert!(table.next().is_none(), "one at a time");
        table.lane.end(first, table.now);
        assert_eq!(table.serve(5 * MS), ["q", "b2", "b3"]);
    }

    #[test]
    fn roots_take_turns_whatever_the_number_of_their_calls() {
        let (mut table, [many, few]) = (Table::new(1), accounts());
        for name in ["m1", "m2", "m3", "m4"] {
            table.wait(&many, name);
        }
        table.wait(&few, "f1");
        table.wait(&few, "f2");
        assert_eq!(table.serve(5 * MS), ["m1", "f1", "m2", "f2", "m3", "m4"]);
    }

    #[test]
    fn a_turn_under_way_counts() {
        let (mut table, [one, other]) = (Table::new(2), accounts());
        table.wait(&one, "o1");
        table.wait(&one, "o2");
        table.wait(&other, "x");
        assert_eq!(table.next().unwrap().1, "o1");
        assert_eq!(table.next().unwrap().1, "x");
    }

    #[test]
    fn a_root_that_is_alone_waits_for_nobody() {
        let (mut table, [one, other]) = (Table::new(2), accounts());
        for _ in 0..=ALONE {
            table.wait(&one, "one");
        }
        let taken: Vec<u64> =
            std::iter::from_fn(|| table.next()).map(|(ticket, _)| ticket).collect();
        assert_eq!(taken.len(), ALONE);
        assert!(!table.lane.is_free(&one, table.now) && !table.lane.is_free(&other, table.now));
        table.wait(&other, "other");
        for ticket in &taken[..ALONE - 1] {
            assert!(table.next().is_none(), "two at a time");
            table.lane.end(*ticket, table.now);
        }
        assert_eq!(table.next().unwrap().1, "other");
        assert!(table.next().is_none());
    }

    /// `busy` has had half a second, `quiet` nothing.
    fn busy_and_quiet(now: Instant) -> [Arc<Account>; 2] {
        let all = accounts();
        all[0].charge(Duration::from_millis(500), now);
        all
    }

    #[test]
    fn where_busy_ones_have_all_turns_there_is_one_more_for_who_is_quiet() {
        let mut table = Table::new(1);
        let [busy, quiet] = busy_and_quiet(table.now);
        table.wait(&busy, "b1");
        table.wait(&busy, "b2");
        table.lane.begin(0, &Arc::clone(&busy), table.now);
        assert!(table.lane.is_free(&quiet, table.now), "only busy ones wait");
        for name in ["q1", "q2"] {
            table.wait(&quiet, name);
        }
        assert_eq!(table.next().unwrap().1, "q1");
        assert!(table.next().is_none(), "one more, not any number");
        assert!(!table.lane.is_free(&quiet, table.now));
    }

    #[test]
    fn who_is_busy_waits_until_a_quiet_one_has_had_its_head_start() {
        let mut table = Table::new(2);
        let [busy, quiet] = busy_and_quiet(table.now);
        table.lane.begin(0, &quiet, table.now);
        table.wait(&busy, "busy");
        let started = |lane: &Lane<_>, now| lane.started(now).cloned().collect::<Vec<_>>();
        let held = started(&table.lane, table.now);
        assert!(table.lane.next(&held, table.now).is_none());
        assert!(!is_held(&quiet, &held, table.now), "nobody is held by their like");
        assert_eq!(table.lane.next_lapse(table.now), Some(table.now + HEAD_START));
        table.now += HEAD_START;
        let held = started(&table.lane, table.now);
        assert_eq!(table.lane.next(&held, table.now).unwrap().1, "busy");
    }

    #[test]
    fn what_is_equal_goes_in_its_order() {
        let (mut table, all) = (Table::new(1), accounts::<3>());
        for (account, name) in all.iter().zip(["a", "b", "c"]) {
            table.wait(account, name);
        }
        assert_eq!(table.serve(MS), ["a", "b", "c"]);
    }

    /// For ever somebody comes who had nothing; the busy root still gets its turn.
    #[test]
    fn nothing_starves() {
        let (mut table, [busy]) = (Table::new(1), accounts());
        table.lane.begin(0, &busy, table.now);
        table.now += 90 * MS;
        table.lane.end(0, table.now);
        table.wait(&busy, "busy");
        let mut others = 0;
        loop {
            table.wait(&Arc::default(), "new");
            let (ticket, name) = table.next().unwrap();
            table.now += 5 * MS;
            table.lane.end(ticket, table.now);
            if name == "busy" {
                break;
            }
            others += 1;
            assert!(others < 400, "starved");
        }
        assert!(others > 10, "the control: others went first, {others}");
    }

    /// For ever somebody quiet has only begun; the busy root is held for some seconds, not for ever.
    #[test]
    fn nobody_is_held_for_ever() {
        let began = Instant::now();
        let [busy, quiet] = busy_and_quiet(began);
        let started = [quiet];
        let held = |seconds| is_held(&busy, &started, began + Duration::from_secs(seconds));
        assert!(held(0) && held(5), "the control");
        assert!(!held(8));
    }

    #[test]
    fn what_was_taken_is_forgotten() {
        let account = Account::default();
        let began = Instant::now();
        account.charge(Duration::from_secs(4), began);
        assert!((account.taken(began) - 4.0).abs() < 1e-9);
        assert!((account.taken(began + HALF) - 2.0).abs() < 1e-9);
        account.charge(Duration::from_secs(1), began + HALF);
        assert!((account.taken(began + 2 * HALF) - 1.5).abs() < 1e-9);
    }

    #[test]
    fn a_long_turn_lapses_and_its_end_changes_nothing_more() {
        let (mut table, [long, other]) = (Table::new(1), accounts());
        table.wait(&long, "long");
        let (ticket, _) = table.next().unwrap();
        table.wait(&other, "other");
        assert_eq!(table.lane.next_lapse(table.now + HEAD_START), Some(table.now + 100 * MS));
        table.now += 99 * MS;
        table.lane.lapse(table.now);
        assert!(table.next().is_none());
        table.now += MS;
        table.lane.lapse(table.now);
        assert_eq!(table.next().unwrap().1, "other");
        let taken = long.taken(table.now);
        assert!((taken - 0.1).abs() < 1e-6, "{taken}");
        table.lane.end(ticket, table.now + MS);
        assert!(table.lane.next_lapse(table.now).is_some(), "the other one's turn goes on");
        assert!(long.taken(table.now) <= taken);
    }
}
