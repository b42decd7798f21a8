//! `stats`: what calls produced and what was answered, per tool and per day, as it was measured.

use std::{collections::BTreeMap, time::SystemTime};

use quietcontext_tools::CallRecord;
use serde_json::{Value, json};

use crate::{
    args::Form,
    config::Flags,
    terminal::{
        self, Exit, Problem, clock,
        clock::Local,
        look::{Look, Style},
        table::{Align, Table},
        text::{counted, grouped, size},
    },
    wire,
};

/// Sums over calls.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Tally {
    pub(crate) calls: u64,
    pub(crate) produced: u64,
    pub(crate) answered: u64,
}

impl Tally {
    fn add(&mut self, record: &CallRecord) {
        // The end of a job tells what it printed; the call that began it was counted.
        self.calls += u64::from(!record.job);
        self.produced = self.produced.saturating_add(record.produced);
        self.answered = self.answered.saturating_add(record.answered);
    }

    fn as_json(&self) -> Value {
        json!({ "calls": self.calls, "produced_bytes": self.produced, "answered_bytes": self.answered })
    }
}

/// Everything that is shown.
#[derive(Debug, Default)]
pub(crate) struct Stats {
    pub(crate) total: Tally,
    pub(crate) tools: BTreeMap<String, Tally>,
    /// By date; each day of the time that is shown.
    pub(crate) days: BTreeMap<String, Tally>,
}

impl Stats {
    /// Sums over the calls of these days.
    pub(crate) fn of(records: &[CallRecord], dates: Vec<String>) -> Self {
        let days = dates.into_iter().map(|date| (date, Tally::default())).collect();
        let mut stats = Self { days, ..Self::default() };
        for record in records {
            let Some(day) = stats.days.get_mut(&Local::of(record.at).date()) else { continue };
            day.add(record);
            stats.total.add(record);
            stats.tools.entry(record.tool.clone()).or_default().add(record);
        }
        stats
    }

    fn as_json(&self, root: &str, journal: bool) -> Value {
        let tools: serde_json::Map<_, _> =
            self.tools.iter().map(|(tool, tally)| (tool.clone(), tally.as_json())).collect();
        let day = |(date, tally): (&String, &Tally)| {
            let mut value = tally.as_json();
            value["date"] = json!(date);
            value
        };
        let days: Value = self.days.iter().map(day).collect();
        json!({ "root": root, "journal": journal, "total": self.total.as_json(), "tools": tools, "days": days })
    }

    fn text(&self, look: Look) -> String {
        let mut tools = Table::new([
            ("TOOL", Align::Left),
            ("CALLS", Align::Right),
            ("PRODUCED", Align::Right),
            ("ANSWERED", Align::Right),
        ]);
        let row = |style, name: &str, tally: &Tally| {
            [
                (style, name.to_owned()),
                (style, grouped(tally.calls)),
                (style, size(tally.produced)),
                (style, size(tally.answered)),
            ]
        };
        for (tool, tally) in &self.tools {
            tools.row(row(Style::Plain, tool, tally));
        }
        tools.row(row(Style::Bold, "all", &self.total));
        format!("{}\n{}", tools.render(look), self.chart(look))
    }

    /// A bar for what each day produced, from the first day on that has calls.
    fn chart(&self, look: Look) -> String {
        let most = self.days.values().map(|tally| tally.produced).max().unwrap_or(0);
        let room = look.width.saturating_sub(52).clamp(10, 40);
        let mut days = Table::new([
            ("DAY", Align::Left),
            ("CALLS", Align::Right),
            ("PRODUCED", Align::Right),
            ("ANSWERED", Align::Right),
            ("", Align::Left),
        ]);
        let busy = |(_, tally): &(&String, &Tally)| tally.calls == 0 && tally.produced == 0;
        for (date, tally) in self.days.iter().skip_while(busy) {
            let bar = bar(tally.produced, most, room, look.unicode);
            days.row([
                (Style::Plain, date.clone()),
                (Style::Plain, grouped(tally.calls)),
                (Style::Plain, size(tally.produced)),
                (Style::Plain, size(tally.answered)),
                (Style::Place, bar),
            ]);
        }
        days.render(look)
    }
}

/// Shows what was measured in the last `days` days.
pub(crate) fn run(flags: &Flags, days: u64, form: Form) -> Result<Exit, Problem> {
    let wired = wire::wire(flags)?;
    let records = wired.toolbox.records(&wired.root.path)?;
    let root = wired.root.path.display().to_string();
    if !wired.journal {
        terminal::warn("stats.journal is off: calls are not noted");
    }
    let stats = Stats::of(&records, clock::last_days(days, SystemTime::now()));
    let look = Look::stdout();
    let text = match form {
        Form::Json => stats.as_json(&root, wired.journal).to_string() + "\n",
        Form::Text if stats.total == Tally::default() => {
            terminal::hint(
                "agents' calls are noted as they come; quietcontext call makes one by hand",
            );
            format!("no call was noted for this root in the last {}\n", counted(days, "day"))
        }
        Form::Text => stats.text(look),
    };
    terminal::print(&text)?;
    Ok(Exit::Fine)
}

/// `part` of `whole` as a bar of at most `room` columns; what is there at all is seen.
fn bar(part: u64, whole: u64, room: usize, unicode: bool) -> String {
    const EIGHTHS: [&str; 8] = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"];
    if part == 0 || whole == 0 {
        return String::new();
    }
    let eighths = (u128::from(part) * room as u128 * 8 / u128::from(whole)).max(1) as usize;
    if unicode {
        let rest = EIGHTHS.get(eighths % 8).copied().unwrap_or_default();
        format!("{}{rest}", "█".repeat(eighths / 8))
    } else {
        "#".repeat(eighths.div_ceil(8))
    }
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, UNIX_EPOCH};

    use super::*;

    fn record(tool: &str, day: u64, produced: u64, job: bool) -> CallRecord {
        CallRecord {
            at: UNIX_EPOCH + Duration::from_secs(1_790_000_000 + day * 86_400),
            tool: tool.to_owned(),
            job,
            produced,
            answered: if job { 0 } else { 100 },
            outcome: "ok".to_owned(),
            duration: Duration::ZERO,
            summary: String::new(),
            reference: None,
        }
    }

    #[test]
    fn sums_are_those_of_the_days_shown_and_a_jobs_end_is_no_call() {
        let records = [
            record("execute", 0, 9_999, false),
            record("execute", 2, 4_000, false),
            record("execute", 2, 96_000, true),
            record("search", 3, 0, false),
        ];
        let now = records[3].at;
        let stats = Stats::of(&records, clock::last_days(2, now));
        assert_eq!(stats.total, Tally { calls: 2, produced: 100_000, answered: 200 });
        assert_eq!(stats.tools["execute"], Tally { calls: 1, produced: 100_000, answered: 100 });
        assert_eq!(stats.days.len(), 2);
        let look = Look { person: true, drawable: true, colour: false, unicode: false, width: 80 };
        insta::assert_snapshot!(stats.text(look));
    }

    #[test]
    fn bars_are_in_proportion_and_what_is_there_is_seen() {
        assert_eq!(bar(0, 100, 10, true), "");
        assert_eq!(bar(100, 100, 10, true), "██████████");
        assert_eq!(bar(55, 100, 10, true), "█████▌");
        assert_eq!(bar(1, 1_000_000, 10, true), "▏");
        assert_eq!(bar(1, 1_000_000, 10, false), "#");
        assert_eq!(bar(u64::MAX, u64::MAX, 4, false), "####");
        assert_eq!(bar(0, 0, 10, true), "");
    }
}
