//! What the supervisor tells the server, once, over a pipe that the program cannot reach.

/// Bytes of one report; below `PIPE_BUF`, so that it arrives whole or not at all.
pub(crate) const REPORT_BYTES: usize = 20;

/// Where a start failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Step {
    /// The second process could not be made.
    Fork,
    /// The standard streams could not be put in place.
    Streams,
    /// The working directory could not be entered.
    Directory,
    /// The program could not be executed.
    Execute,
}

impl Step {
    /// The step in words, for an error line.
    pub(crate) fn describe(self) -> &'static str {
        match self {
            Self::Fork => "make a process",
            Self::Streams => "connect the standard streams",
            Self::Directory => "enter the working directory",
            Self::Execute => "execute",
        }
    }

    fn from_code(code: i32) -> Self {
        match code {
            1 => Self::Fork,
            2 => Self::Streams,
            3 => Self::Directory,
            _ => Self::Execute,
        }
    }

    /// The number that stands for the step in a report.
    pub(crate) const fn code(self) -> i32 {
        match self {
            Self::Fork => 1,
            Self::Streams => 2,
            Self::Directory => 3,
            Self::Execute => 4,
        }
    }
}

/// The supervisor's account of one run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Report {
    /// The program was started and its main process has ended.
    Ended {
        /// Wait status of the main process.
        status: i32,
        /// Whether the supervisor was told to stop it, and did.
        stopped: bool,
        /// Processes stopped after the main process had ended.
        left_behind: u32,
    },
    /// The program could not be started.
    Failed {
        /// Where.
        step: Step,
        /// The system's error number.
        errno: i32,
    },
}

impl Report {
    /// The report as it goes through the pipe. Runs in the forked child: no allocation.
    pub(crate) fn encode(self) -> [u8; REPORT_BYTES] {
        let words: [i32; 5] = match self {
            Self::Ended { status, stopped, left_behind } => {
                [1, status, i32::from(stopped), left_behind.cast_signed(), 0]
            }
            Self::Failed { step, errno } => [2, step.code(), errno, 0, 0],
        };
        let mut bytes = [0; REPORT_BYTES];
        let mut at = 0;
        for word in words {
            for byte in word.to_ne_bytes() {
                bytes[at] = byte;
                at += 1;
            }
        }
        bytes
    }

    /// Reads a report; `None` when it is none.
    pub(crate) fn decode(bytes: &[u8; REPORT_BYTES]) -> Option<Self> {
        let mut words = [0i32; 5];
        for (word, chunk) in words.iter_mut().zip(bytes.chunks_exact(4)) {
            *word = i32::from_ne_bytes([chunk[0], chunk[1], chunk[2], chunk[3]]);
        }
        match words[0] {
            1 => Some(Self::Ended {
                status: words[1],
                stopped: words[2] != 0,
                left_behind: words[3].cast_unsigned(),
            }),
            2 => Some(Self::Failed { step: Step::from_code(words[1]), errno: words[2] }),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn every_report_round_trips(status: i32, stopped: bool, left_behind: u32, errno: i32) {
            let ended = Report::Ended { status, stopped, left_behind };
            prop_assert_eq!(Report::decode(&ended.encode()), Some(ended));
            for step in [Step::Fork, Step::Streams, Step::Directory, Step::Execute] {
                let failed = Report::Failed { step, errno };
                prop_assert_eq!(Report::decode(&failed.encode()), Some(failed));
            }
        }
    }

    #[test]
    fn zeroes_are_no_report() {
        assert_eq!(Report::decode(&[0; REPORT_BYTES]), None);
    }
}
