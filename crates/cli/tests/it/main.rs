//! The real binary, driven over its real streams.

#[cfg(test)]
mod calls;
mod causes;
#[cfg(test)]
mod confined;
#[cfg(test)]
mod daemon;
mod daemon_busy;
#[cfg(test)]
mod daemon_people;
#[cfg(test)]
mod denied;
#[cfg(test)]
mod doctor;
#[cfg(test)]
mod endings;
#[cfg(test)]
mod excludes;
#[cfg(test)]
mod frames;
#[cfg(test)]
mod harness;
#[cfg(test)]
mod network;
#[cfg(test)]
mod outputs;
#[cfg(test)]
mod pdf;
#[cfg(test)]
mod people;
#[cfg(test)]
mod revisions;
#[cfg(test)]
mod roots;
#[cfg(test)]
mod setup;
#[cfg(test)]
mod stability;
#[cfg(test)]
mod stores;
#[cfg(test)]
mod streams;
#[cfg(test)]
mod tools;
#[cfg(test)]
mod view;
#[cfg(test)]
mod watching;
#[cfg(test)]
mod web;
#[cfg(test)]
mod web_limits;
