//! The real binary, driven over its real streams.

#![cfg(test)]

mod calls;
mod causes;
mod confined;
mod daemon;
mod daemon_busy;
mod daemon_people;
mod denied;
mod doctor;
mod endings;
mod excludes;
mod frames;
mod harness;
mod network;
mod outputs;
mod pdf;
mod people;
mod questions;
mod revisions;
mod roots;
mod setup;
mod stability;
mod stores;
mod streams;
mod tools;
mod view;
mod watching;
mod web;
mod web_limits;
