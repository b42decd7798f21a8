//! Every number of the contract, once, with its unit and its reason.

use std::ops::RangeInclusive;

use quietcontext_store::SNIPPET_CHARS;

/// One row of the limits table, for documentation and tests.
#[derive(Debug)]
pub struct Limit {
    /// What is limited.
    pub what: &'static str,
    /// The value, in `unit`.
    pub value: u64,
    /// The unit of `value`.
    pub unit: &'static str,
    /// Why it is this number.
    pub why: &'static str,
}

/// Answer of `execute`, `exec-file` and `search`, in bytes.
pub(crate) const ANSWER_BYTES: usize = 8_192;
/// Answer of `batch`, in bytes.
pub(crate) const BATCH_BYTES: usize = 12_288;
/// Answer of `batch` when `max_bytes` is not given, in bytes.
pub(crate) const BATCH_DEFAULT_BYTES: usize = 11_500;
/// Answer of `index` and `fetch-index`, in bytes.
pub(crate) const RECEIPT_BYTES: usize = 4_096;
/// Smallest budget a caller may set, in bytes.
pub(crate) const SMALLEST_BYTES: usize = 256;
/// Digest of an output that does not fit, when `max_bytes` is not given, in bytes.
pub(crate) const DIGEST_BYTES: usize = 1_500;
/// Text of an error answer, in bytes.
pub(crate) const ERROR_BYTES: usize = 512;
/// Lines of it where nothing matched well.
pub(crate) const WEAK_LINES: usize = 4;
/// Programs of at least this many bytes are remembered.
pub(crate) const SCRIPT_BYTES: usize = 256;
/// Programs remembered for one root.
pub(crate) const SCRIPTS: usize = 64;
/// All programs remembered for one root together, in bytes.
pub(crate) const SCRIPTS_TOTAL_BYTES: usize = 16 << 20;
/// One program, in bytes.
pub(crate) const PROGRAM_BYTES: usize = 4 << 20;
/// Deadline of a call that runs programs, in milliseconds.
pub(crate) const RUN_MS: u64 = 120_000;
/// Deadline of every other call, in milliseconds.
pub(crate) const OTHER_MS: u64 = 30_000;
/// Wait of a background run before it answers, in milliseconds.
pub(crate) const BACKGROUND_MS: u64 = 1_000;
/// What `timeout_ms` may be, in milliseconds.
pub(crate) const TIMEOUT_MS: RangeInclusive<u64> = 1..=86_400_000;
/// Files of one directory that are indexed unless `max_files` says otherwise.
pub(crate) const FILES: u64 = 10_000;
/// One file of a directory, in bytes; larger ones are skipped and counted.
pub(crate) const DIRECTORY_FILE_BYTES: u64 = 32 << 20;
/// Echo of a query, in characters.
pub(crate) const QUERY_CHARS: usize = 80;
/// Part of a query that is searched, in bytes.
pub(crate) const QUERY_BYTES: usize = 8_192;
/// Freshness of a fetched page unless `ttl_ms` says otherwise, in milliseconds.
pub(crate) const TTL_MS: u64 = 86_400_000;
/// Items (commands, queries, requests, refs) one call may carry.
pub(crate) const ITEMS: usize = 1_000;

/// The table of all limits.
pub static LIMITS: &[Limit] = &[
    Limit {
        what: "answer of execute, exec-file, search",
        value: ANSWER_BYTES as u64,
        unit: "bytes",
        why: "fits every client's own cut",
    },
    Limit {
        what: "answer of batch",
        value: BATCH_BYTES as u64,
        unit: "bytes",
        why: "many commands in one answer",
    },
    Limit {
        what: "answer of batch by default",
        value: BATCH_DEFAULT_BYTES as u64,
        unit: "bytes",
        why: "one client cuts at 12,000",
    },
    Limit {
        what: "answer of index, fetch-index",
        value: RECEIPT_BYTES as u64,
        unit: "bytes",
        why: "counts and references only",
    },
    Limit {
        what: "max_bytes, least",
        value: SMALLEST_BYTES as u64,
        unit: "bytes",
        why: "totals and references must fit",
    },
    Limit {
        what: "digest by default",
        value: DIGEST_BYTES as u64,
        unit: "bytes",
        why: "enough to decide the next call",
    },
    Limit {
        what: "error text",
        value: ERROR_BYTES as u64,
        unit: "bytes",
        why: "one line and its remedy",
    },
    Limit {
        what: "preview of a result",
        value: SNIPPET_CHARS as u64,
        unit: "characters",
        why: "holds the matched lines",
    },
    Limit {
        what: "preview of a result that is no good match",
        value: WEAK_LINES as u64,
        unit: "lines",
        why: "enough to see that it is none",
    },
    Limit {
        what: "program remembered for reuse, least",
        value: SCRIPT_BYTES as u64,
        unit: "bytes",
        why: "below it the reference saves nothing",
    },
    Limit {
        what: "programs remembered",
        value: SCRIPTS as u64,
        unit: "programs",
        why: "a session's working set",
    },
    Limit {
        what: "programs remembered, together",
        value: SCRIPTS_TOTAL_BYTES as u64,
        unit: "bytes",
        why: "memory of an idle server",
    },
    Limit {
        what: "program size",
        value: PROGRAM_BYTES as u64,
        unit: "bytes",
        why: "data belongs in files",
    },
    Limit { what: "deadline of a run", value: RUN_MS, unit: "ms", why: "below the clients' 300 s" },
    Limit {
        what: "deadline of other calls",
        value: OTHER_MS,
        unit: "ms",
        why: "a model waits for it",
    },
    Limit {
        what: "wait of a background run",
        value: BACKGROUND_MS,
        unit: "ms",
        why: "a server has started or failed by then",
    },
    Limit {
        what: "files of one directory by default",
        value: FILES,
        unit: "files",
        why: "said when reached, never quiet",
    },
    Limit {
        what: "one file of a directory",
        value: DIRECTORY_FILE_BYTES,
        unit: "bytes",
        why: "larger ones are data, index them by name",
    },
    Limit {
        what: "echo of a query",
        value: QUERY_CHARS as u64,
        unit: "characters",
        why: "enough to tell queries apart",
    },
    Limit {
        what: "part of a query that is searched",
        value: QUERY_BYTES as u64,
        unit: "bytes",
        why: "said when reached; a question is no document",
    },
    Limit {
        what: "freshness of a fetched page",
        value: TTL_MS,
        unit: "ms",
        why: "documentation changes by the day",
    },
    Limit {
        what: "items in one call",
        value: ITEMS as u64,
        unit: "items",
        why: "every item is accounted for in the answer",
    },
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_are_unique_and_documented() {
        let mut names: Vec<_> = LIMITS.iter().map(|l| l.what).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), LIMITS.len());
        assert!(LIMITS.iter().all(|l| l.value > 0 && !l.unit.is_empty() && !l.why.is_empty()));
    }
}
