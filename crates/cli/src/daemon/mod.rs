//! The daemon: one server for many sessions, on loopback.
//!
//! Reading order: `run` (the daemon itself), `control` (start, stop, status, logs), `roots` (where
//! sessions may work), `place` (its folder: token, lock, state, log), `client` (asking a running one),
//! `socket` (its port), `log` (its log file), `service` (what starts it with the user's session).

pub(crate) mod client;
pub(crate) mod control;
mod log;
pub(crate) mod place;
pub(crate) mod roots;
mod run;
pub(crate) mod service;
mod socket;

pub(crate) use self::run::{Manner, run};
