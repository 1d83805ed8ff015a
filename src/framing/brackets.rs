//! Where a JSON document ends: brackets counted outside strings.
//!
//! Nothing else of JSON is known here. Kinds of brackets are not matched against each other, so text that is no JSON still
//! ends somewhere; whether it was JSON is for the reader of the frame to say.

use memchr::memchr;

/// A resumable bracket counter.
///
/// ```text
///            {[            "                 \
///  Outside ------> depth+1    Outside <---> InString <---> AfterBackslash
///            }]                          "            any
///  Outside ------> depth-1
/// ```
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Brackets {
    depth: usize,
    cursor: Cursor,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum Cursor {
    #[default]
    Outside,
    InString,
    AfterBackslash,
}

impl Brackets {
    /// Every bracket opened so far is closed, and no string is open.
    pub(super) fn is_balanced(&self) -> bool {
        self.depth == 0 && self.cursor == Cursor::Outside
    }

    /// The text so far ends inside a string.
    pub(super) fn is_in_string(&self) -> bool {
        self.cursor != Cursor::Outside
    }

    /// Counts on through `bytes` up to and including the closer that brings the depth back to zero. Gives the number of
    /// bytes up to there, or `None` if all were used without it.
    pub(super) fn scan(&mut self, bytes: &[u8]) -> Option<usize> {
        let mut rest = bytes;
        loop {
            match self.cursor {
                Cursor::Outside => {
                    let mut used = 0;
                    for &byte in rest {
                        used += 1;
                        match byte {
                            b'"' => {
                                self.cursor = Cursor::InString;
                                break;
                            }
                            b'{' | b'[' => self.depth += 1,
                            b'}' | b']' => {
                                self.depth = self.depth.saturating_sub(1);
                                if self.depth == 0 {
                                    let left = rest.len() - used;
                                    return Some(bytes.len() - left);
                                }
                            }
                            _ => {}
                        }
                    }
                    rest = rest.get(used..)?;
                    if rest.is_empty() {
                        return None;
                    }
                }
                Cursor::InString => {
                    // Only quotes are looked for: one ends the string unless an odd number of backslashes stands before it.
                    let quote = memchr(b'"', rest);
                    let (content, after) = rest.split_at_checked(quote.unwrap_or(rest.len()))?;
                    let backslashes = content.iter().rev().take_while(|byte| **byte == b'\\');
                    self.cursor = match (quote, backslashes.count() % 2) {
                        (Some(_), 0) => Cursor::Outside,
                        (None, 1) => Cursor::AfterBackslash,
                        _ => Cursor::InString,
                    };
                    rest = after.get(1..)?;
                }
                Cursor::AfterBackslash => {
                    let (_, after) = rest.split_first()?;
                    self.cursor = Cursor::InString;
                    rest = after;
                }
            }
        }
    }

    /// Counts through all of `bytes`, however often the depth comes back to zero.
    pub(super) fn scan_all(&mut self, bytes: &[u8]) {
        let mut rest = bytes;
        while let Some(used) = self.scan(rest) {
            rest = rest.get(used..).unwrap_or_default();
        }
    }
}
