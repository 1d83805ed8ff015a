//! What the two programs share: `speed` prints how long callstitch and others take for the same bytes, `compare` prints what
//! each makes of faulty streams.

#[path = "../../transcripts.rs"]
pub mod transcripts;

pub mod assembled;
pub mod bodies;
#[cfg(feature = "clients")]
pub mod clients;
pub mod floors;
pub mod ours;
pub mod peer;
pub mod values;
pub mod written;
