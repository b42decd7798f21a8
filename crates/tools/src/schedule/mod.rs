//! Which of the calls goes first when many want the same processors: few at a time of what takes some, and
//! of those who wait the one whose root had least lately.
//!
//! Threads that all run at once share the processors evenly: then a search that takes a millisecond waits as
//! long as what indexes a megabyte, and each of twenty-four sessions makes the calls of all others slower.

mod lane;

use std::sync::mpsc::{self, RecvTimeoutError, SyncSender};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::oneshot;

pub(crate) use self::lane::Account;
use self::lane::{Lane, is_held};

/// What a call is about to do. One kind does not wait for another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Work {
    /// Questions to a store.
    Search,
    /// Running a program.
    Run,
    /// Cutting, compressing and writing text.
    Store,
}

/// Between two pieces of something long, others get their turn when so much has passed.
const SLICE: Duration = Duration::from_millis(50);

impl Work {
    const ALL: [Self; 3] = [Self::Search, Self::Run, Self::Store];

    /// After how long the next one need not wait any more. A short program has ended by then; one that has
    /// not runs for as long as it likes, beside any number of others.
    fn lapse(self) -> Duration {
        Duration::from_millis(match self {
            Self::Search => 100,
            Self::Run => 60,
            Self::Store => 1_000,
        })
    }
}

/// Hands out turns.
#[derive(Debug, Default)]
pub(crate) struct Schedule {
    /// Made for the first call, since it asks for the number of processors.
    state: OnceLock<Mutex<State>>,
}

#[derive(Debug)]
struct State {
    lanes: [Lane<Wake>; Work::ALL.len()],
    tickets: u64,
}

/// Hands a turn to whoever waits for it.
#[derive(Debug)]
enum Wake {
    Task(oneshot::Sender<Turn>),
    Thread(SyncSender<Turn>),
}

impl Wake {
    /// `Err` when nobody waits any more. A turn that is on its way then ends by itself.
    fn wake(self, turn: Turn) -> Result<(), Turn> {
        match self {
            Self::Task(task) => task.send(turn),
            Self::Thread(thread) => thread.send(turn).map_err(|unsent| unsent.0),
        }
    }
}

/// The right to do something now; it ends when this is dropped.
#[derive(Debug)]
pub(crate) struct Turn {
    /// `None`: it does not count.
    schedule: Option<Arc<Schedule>>,
    work: Work,
    ticket: u64,
    since: Instant,
}

impl Schedule {
    /// Waits for a turn. Whoever does not wait any more drops this.
    pub(crate) async fn enter(self: &Arc<Self>, work: Work, account: &Arc<Account>) -> Turn {
        let (wake, mut granted) = oneshot::channel();
        if let Some(turn) = self.ask(work, account, Wake::Task(wake)) {
            return turn;
        }
        loop {
            let lapse = self.next_lapse();
            tokio::select! {
                biased;
                turn = &mut granted => return turn.unwrap_or_else(|_| Turn::uncounted(work)),
                () = tokio::time::sleep_until(lapse.into()) => self.hand_on(Instant::now()),
            }
        }
    }

    /// As [`Self::enter`], in a thread that may block.
    pub(crate) fn enter_blocking(self: &Arc<Self>, work: Work, account: &Arc<Account>) -> Turn {
        let (wake, granted) = mpsc::sync_channel(1);
        if let Some(turn) = self.ask(work, account, Wake::Thread(wake)) {
            return turn;
        }
        loop {
            let lapse = self.next_lapse();
            match granted.recv_timeout(lapse.saturating_duration_since(Instant::now())) {
                Ok(turn) => return turn,
                Err(RecvTimeoutError::Disconnected) => return Turn::uncounted(work),
                Err(RecvTimeoutError::Timeout) => self.hand_on(Instant::now()),
            }
        }
    }

    /// A turn, if one can be had at once; else `wake` is told later.
    fn ask(self: &Arc<Self>, work: Work, account: &Arc<Account>, wake: Wake) -> Option<Turn> {
        let now = Instant::now();
        let mut state = self.state();
        state.lapse(now);
        if !is_held(account, &state.started(now), now) && state.lane(work).is_free(account, now) {
            return Some(self.begin(&mut state, work, account, now));
        }
        state.lane(work).wait(account, now, wake);
        None
    }

    fn begin(
        self: &Arc<Self>,
        state: &mut State,
        work: Work,
        account: &Arc<Account>,
        now: Instant,
    ) -> Turn {
        state.tickets += 1;
        let ticket = state.tickets;
        state.lane(work).begin(ticket, account, now);
        Turn { schedule: Some(Arc::clone(self)), work, ticket, since: now }
    }

    /// Gives the turns that can be had to those who wait.
    fn hand_on(self: &Arc<Self>, now: Instant) {
        let mut state = self.state();
        state.lapse(now);
        while let Some((work, account, wake)) = state.next(now) {
            let turn = self.begin(&mut state, work, &account, now);
            if let Err(mut unwanted) = wake.wake(turn) {
                // Its own end would come here while the state is held.
                unwanted.schedule = None;
                state.lane(work).end(unwanted.ticket, now);
            }
        }
    }

    /// When it may be worth to look again; somebody who waits does, as turns may end in no other way.
    fn next_lapse(&self) -> Instant {
        let now = Instant::now();
        let state = self.state();
        let lapses = state.lanes.iter().filter_map(|lane| lane.next_lapse(now));
        lapses.min().unwrap_or(now + SLICE)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        let state = self.state.get_or_init(|| {
            let cores = std::thread::available_parallelism().map_or(1, usize::from);
            let lanes = Work::ALL.map(|work| Lane::new(cores, work.lapse()));
            Mutex::new(State { lanes, tickets: 0 })
        });
        state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    /// The roots whose turns, of any kind, have only begun.
    fn started(&self, now: Instant) -> Vec<Arc<Account>> {
        self.lanes.iter().flat_map(|lane| lane.started(now)).cloned().collect()
    }

    fn lapse(&mut self, now: Instant) {
        self.lanes.iter_mut().for_each(|lane| lane.lapse(now));
    }

    /// Whoever can have a turn of some kind.
    fn next(&mut self, now: Instant) -> Option<(Work, Arc<Account>, Wake)> {
        let started = self.started(now);
        Work::ALL.into_iter().find_map(|work| {
            let (account, wake) = self.lane(work).next(&started, now)?;
            Some((work, account, wake))
        })
    }

    fn lane(&mut self, work: Work) -> &mut Lane<Wake> {
        let [search, run, store] = &mut self.lanes;
        match work {
            Work::Search => search,
            Work::Run => run,
            Work::Store => store,
        }
    }
}

impl Turn {
    /// For whoever would else wait for ever.
    fn uncounted(work: Work) -> Self {
        Self { schedule: None, work, ticket: 0, since: Instant::now() }
    }

    /// What it is for, if it has lasted for a while and somebody else waits for one.
    pub(crate) fn is_over(&self) -> Option<Work> {
        let schedule = self.schedule.as_ref()?;
        let over = self.since.elapsed() >= SLICE && schedule.state().lane(self.work).is_wanted();
        over.then_some(self.work)
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        if let Some(schedule) = self.schedule.take() {
            let now = Instant::now();
            schedule.state().lane(self.work).end(self.ticket, now);
            schedule.hand_on(now);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::future::poll_fn;
    use std::pin::Pin;
    use std::task::Poll;

    use super::*;

    /// One at a time of each kind, for as long as it likes.
    fn schedule() -> Arc<Schedule> {
        let lanes = Work::ALL.map(|_| Lane::new(1, Duration::from_hours(1)));
        let schedule = Schedule::default();
        schedule.state.set(Mutex::new(State { lanes, tickets: 0 })).unwrap();
        Arc::new(schedule)
    }

    type Waiting = Pin<Box<dyn Future<Output = Turn>>>;

    fn enter(schedule: &Arc<Schedule>, account: &Arc<Account>) -> Waiting {
        let (schedule, account) = (Arc::clone(schedule), Arc::clone(account));
        Box::pin(async move { schedule.enter(Work::Store, &account).await })
    }

    /// Polls once.
    async fn now(waiting: &mut Waiting) -> Option<Turn> {
        poll_fn(|context| {
            Poll::Ready(match waiting.as_mut().poll(context) {
                Poll::Ready(turn) => Some(turn),
                Poll::Pending => None,
            })
        })
        .await
    }

    #[tokio::test]
    async fn the_next_one_begins_when_one_ends_and_kinds_do_not_wait_for_each_other() {
        let (schedule, one, other) = (schedule(), Arc::default(), Arc::default());
        let first = enter(&schedule, &one).await;
        let mut second = enter(&schedule, &other);
        assert!(now(&mut second).await.is_none());
        let search = schedule.enter(Work::Search, &other).await;
        drop(first);
        let second = now(&mut second).await.unwrap();
        drop((second, search));
        drop(enter(&schedule, &one).await);
    }

    /// A short call of who asks seldom has the processors, whatever others are about to do.
    #[tokio::test]
    async fn while_a_quiet_one_begins_no_busy_one_does_whatever_the_kind() {
        let (schedule, quiet, busy) = (schedule(), Arc::default(), Arc::<Account>::default());
        busy.charge(Duration::from_mins(1), Instant::now());
        let run = schedule.enter(Work::Run, &quiet).await;
        let mut held = enter(&schedule, &busy);
        assert!(now(&mut held).await.is_none());
        drop(run);
        let stored = now(&mut held).await.expect("its turn comes with the end of the other's");
        drop(stored);
        let long = schedule.enter(Work::Run, &quiet).await;
        // Nor does anybody wait for more than the head start.
        drop(enter(&schedule, &busy).await);
        drop(long);
    }

    #[test]
    fn a_thread_waits_for_its_turn_as_a_task_does() {
        let (schedule, one, other) = (schedule(), Arc::default(), Arc::default());
        let first = schedule.enter_blocking(Work::Run, &one);
        std::thread::scope(|scope| {
            let second = scope.spawn(|| schedule.enter_blocking(Work::Run, &other));
            while !schedule.state().lane(Work::Run).is_wanted() {
                std::thread::yield_now();
            }
            assert!(first.is_over().is_none(), "it has only begun");
            drop(first);
            second.join().unwrap();
        });
    }

    /// Somebody who waits sees to it that what is long is not waited for.
    #[tokio::test]
    async fn nobody_waits_for_what_is_long() {
        let lanes = Work::ALL.map(|_| Lane::new(1, Duration::from_millis(1)));
        let schedule = Arc::new(Schedule::default());
        schedule.state.set(Mutex::new(State { lanes, tickets: 0 })).unwrap();
        let (one, other) = (Arc::default(), Arc::default());
        let long = schedule.enter(Work::Run, &one).await;
        let next = schedule.enter(Work::Run, &other).await;
        let third = schedule.enter_blocking(Work::Run, &one);
        drop((long, next, third));
    }

    /// Whoever goes away while waiting, or just as its turn comes, keeps nobody from theirs.
    #[tokio::test]
    async fn who_does_not_wait_any_more_is_passed_over() {
        let (schedule, one, other) = (schedule(), Arc::default(), Arc::default());
        let first = enter(&schedule, &one).await;
        let (mut gone, mut late) = (enter(&schedule, &other), enter(&schedule, &other));
        let mut stays = enter(&schedule, &one);
        for waiting in [&mut gone, &mut late, &mut stays] {
            assert!(now(waiting).await.is_none());
        }
        drop(gone);
        drop(first);
        assert!(now(&mut stays).await.is_none(), "it is the turn of another one");
        drop(late);
        assert!(now(&mut stays).await.is_some());
    }
}
