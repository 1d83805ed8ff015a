//! The bodies that the targets run; they are the ones of `cargo test`, too.

#[path = "../../support/fuzz_bodies.rs"]
pub mod fuzz_bodies;
#[path = "../../support/reading.rs"]
pub mod reading;
