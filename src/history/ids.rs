//! Ids where a wire limits their form.

use std::borrow::Cow;
use std::collections::HashMap;

use super::HistoryFormat;

/// What a wire asks of an id.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum IdForm {
    /// Anything that is not empty.
    Any,
    /// At most so many characters.
    AtMost(usize),
    /// Letters, digits, `_` and `-`, at most so many.
    Word(usize),
    /// So many letters and digits, no more and no fewer.
    Exactly(usize),
}

impl IdForm {
    fn fits(self, id: &str) -> bool {
        let word = |extra: &[u8]| {
            id.bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || extra.contains(&byte))
        };
        !id.is_empty()
            && match self {
                IdForm::Any => true,
                IdForm::AtMost(most) => id.chars().count() <= most,
                IdForm::Word(most) => id.len() <= most && word(b"_-"),
                IdForm::Exactly(length) => id.len() == length && word(b""),
            }
    }

    /// The id itself where it fits; else one made of its digest, the same for the same id. `salt` tells two ids apart whose
    /// digests are the same.
    fn fit(self, id: &str, salt: u64) -> Cow<'_, str> {
        if salt == 0 && self.fits(id) {
            return Cow::Borrowed(id);
        }
        Cow::Owned(match self {
            IdForm::Exactly(length) => digest(id, salt, length),
            _ => format!("call_{}", digest(id, salt, 22)),
        })
    }
}

/// The id as this wire takes it, without a memory: the same for a call and for its result.
pub(super) fn fit(format: HistoryFormat, id: &str) -> Cow<'_, str> {
    format.row().ids.fit(id, 0)
}

/// Ids of one conversation as a wire takes them, and back.
///
/// Mistral takes nine letters and digits, Anthropic and Bedrock neither dots nor colons, Responses at most 64 characters. An id
/// that fits is kept; another becomes a digest of itself, so that a call and its result agree without this map; the map leads
/// back, and tells apart what a digest does not.
///
/// # Examples
///
/// ```
/// use callstitch::history::{HistoryFormat, IdMap};
///
/// let mut ids = IdMap::new(HistoryFormat::Mistral);
/// let sent = ids.to_wire("functions.get_tide:0").to_owned();
/// assert_eq!(sent.len(), 9);
/// assert_eq!(ids.original(&sent), "functions.get_tide:0");
/// assert_eq!(ids.to_wire("Qz81mPw0t"), "Qz81mPw0t");
/// ```
#[derive(Debug, Clone)]
pub struct IdMap {
    form: IdForm,
    sent: HashMap<String, String>,
    original: HashMap<String, String>,
}

impl IdMap {
    /// An empty map for this format.
    #[must_use]
    pub fn new(format: HistoryFormat) -> Self {
        IdMap {
            form: format.row().ids,
            sent: HashMap::new(),
            original: HashMap::new(),
        }
    }

    /// The id to send for this one; the same each time, and no other's. Cost: O(id); a new one is held twice.
    pub fn to_wire(&mut self, id: &str) -> &str {
        if !self.sent.contains_key(id) {
            let free = (0..).map(|salt| self.form.fit(id, salt).into_owned());
            let mut free = free.filter(|sent| !self.original.contains_key(sent));
            if let Some(sent) = free.next() {
                self.original.insert(sent.clone(), id.to_owned());
                self.sent.insert(id.to_owned(), sent);
            }
        }
        self.sent.get(id).map_or("", String::as_str)
    }

    /// The id that was sent as this one; itself where none was.
    #[must_use]
    pub fn original<'a>(&'a self, sent: &'a str) -> &'a str {
        self.original.get(sent).map_or(sent, String::as_str)
    }
}

const LETTERS: &[u8; 62] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

/// Letters and digits that depend on all of the id: FNV-1a over 128 bits. It is no secret and need not be one.
fn digest(id: &str, salt: u64, length: usize) -> String {
    const OFFSET: u128 = 0x6c62_272e_07bb_0142_62b8_2175_6295_c58d;
    const PRIME: u128 = 0x0000_0000_0100_0000_0000_0000_0000_013b;
    let bytes = id.bytes().chain(salt.to_le_bytes());
    let mut hash = bytes.fold(OFFSET, |hash, byte| {
        (hash ^ u128::from(byte)).wrapping_mul(PRIME)
    });
    // The high bits of FNV are the better mixed ones.
    hash ^= hash >> 64;
    (0..length)
        .map(|_| {
            let letter = usize::try_from(hash % 62).ok();
            hash /= 62;
            let letter = letter.and_then(|at| LETTERS.get(at));
            char::from(letter.copied().unwrap_or(b'0'))
        })
        .collect()
}
