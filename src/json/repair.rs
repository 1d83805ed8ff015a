//! stub
use serde::{Deserialize, Serialize};
/// How far.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize,
)]
#[serde(rename_all = "kebab-case")]
pub enum RepairLevel {
    /// none
    None,
    /// l
    #[default]
    Lossless,
    /// g
    Guess,
}
/// k
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum RepairKind {
    /// u
    Unwrapped,
    /// hook
    Hook,
    /// restated
    Restated,
}
/// r
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Repair {
    /// k
    pub kind: RepairKind,
    /// a
    pub at: usize,
    /// l
    #[serde(skip)]
    pub level: RepairLevel,
}
pub(crate) struct Mended {
    pub(crate) text: String,
    pub(crate) repairs: Vec<Repair>,
}
pub(crate) fn repair(_t: &str, _l: RepairLevel, _s: bool) -> Option<Mended> {
    None
}
impl Repair {
    /// l
    pub const LISTED: usize = 1000;
    pub(crate) fn new(kind: RepairKind, at: usize) -> Self {
        Repair {
            kind,
            at,
            level: RepairLevel::Lossless,
        }
    }
}
