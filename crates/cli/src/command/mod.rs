//! The commands for people. Those that agents have as tools go the same way as an agent's call.

pub(crate) mod allow;
pub(crate) mod allowed;
pub(crate) mod call;
pub(crate) mod cat;
pub(crate) mod config;
pub(crate) mod daemon;
pub(crate) mod doctor;
pub(crate) mod hits;
pub(crate) mod index;
pub(crate) mod jobs;
pub(crate) mod purge;
pub(crate) mod roots;
pub(crate) mod search;
pub(crate) mod setup;
pub(crate) mod shell;
pub(crate) mod sources;
pub(crate) mod stats;
