//! The repair ladder: malformed text in, the text it was meant to be out. Text to text, so that the one grammar reader
//! reads the result too, and numbers keep their spelling.
//!
//! Guards: it is never given valid text; it makes one pass a level and never backs further than one string; what is cut
//! stays cut; each fix is listed with its byte offset; where two readings exist it refuses. `PARTIAL_JSON.md` of the
//! project's design, section 5, is the specification.

mod body;
mod envelope;
mod prose;
mod strings;
mod tags;
mod values;

use super::text::{Escape, UNICODE_ESCAPE, escape};
use serde::{Deserialize, Serialize};

/// How far malformed text is mended.
///
/// # Examples
///
/// ```
/// use callstitch::{Arguments, RepairLevel, Settling};
///
/// let at = |repair| Arguments::settle("{'a':1,}".into(), &Settling { repair, ..Settling::default() });
/// assert!(!at(RepairLevel::None).is_usable());
/// assert!(at(RepairLevel::Guess).repair_level() <= RepairLevel::Guess);
/// ```
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize,
)]
#[serde(rename_all = "kebab-case")]
pub enum RepairLevel {
    /// Not at all.
    None,
    /// Only where one reading is possible.
    #[default]
    Lossless,
    /// Heuristics as well. The result says so; validate it against the tool's schema before running anything.
    Guess,
}

/// One thing that was done to a text.
///
/// # Examples
///
/// ```
/// use callstitch::{Arguments, RepairKind, RepairLevel};
///
/// let mended = Arguments::parse(r#"{"a":1,}"#);
/// let repair = mended.repairs()[0];
/// assert_eq!((repair.kind, repair.at, repair.level()), (RepairKind::TrailingComma, 6, RepairLevel::Lossless));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Repair {
    /// What.
    pub kind: RepairKind,
    /// Byte offset in the text as sent.
    pub at: usize,
}

impl Repair {
    /// The most repairs listed for one text; it may have needed more. Text is a stranger's, and a list of its faults
    /// must not outgrow it.
    pub const LISTED: usize = 1000;

    /// This repair at this byte offset.
    ///
    /// # Examples
    ///
    /// ```
    /// use callstitch::{Repair, RepairKind, RepairLevel};
    ///
    /// assert_eq!(Repair::new(RepairKind::TrailingComma, 6).level(), RepairLevel::Lossless);
    /// ```
    #[must_use]
    pub fn new(kind: RepairKind, at: usize) -> Self {
        Repair { kind, at }
    }

    /// The level at which it is done.
    #[must_use]
    pub fn level(&self) -> RepairLevel {
        self.kind.level()
    }
}

macro_rules! repair_kinds {
    ($($(#[doc = $doc:literal])+ $kind:ident $name:literal $level:ident,)+) => {
        /// What was done to a text. The kinds up to [`MissingBrace`](Self::MissingBrace) have one reading; the rest guess.
        ///
        /// # Examples
        ///
        /// ```
        /// use callstitch::{RepairKind, RepairLevel};
        ///
        /// let kind = RepairKind::TrailingComma;
        /// assert_eq!((kind.as_str(), kind.level()), ("trailing-comma", RepairLevel::Lossless));
        /// ```
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
        #[serde(rename_all = "kebab-case")]
        #[non_exhaustive]
        pub enum RepairKind {
            $($(#[doc = $doc])+ $kind,)+
        }

        impl RepairKind {
            /// The kind as one word, as in the command line's output.
            #[must_use]
            pub fn as_str(self) -> &'static str {
                match self {
                    $(RepairKind::$kind => $name,)+
                }
            }

            /// The level at which it is done.
            #[must_use]
            pub fn level(self) -> RepairLevel {
                match self {
                    $(RepairKind::$kind => RepairLevel::$level,)+
                }
            }
        }

        /// Every kind, for the test that names and serde agree.
        #[cfg(test)]
        const KINDS: &[RepairKind] = &[$(RepairKind::$kind,)+];
    };
}

repair_kinds! {
    /// A byte order mark.
    Bom "bom" Lossless,
    /// NUL or other padding around the text, or a space that JSON does not know.
    Padding "padding" Lossless,
    /// A string around the object.
    Unwrapped "unwrapped" Lossless,
    /// `{}` or `null` before the real object.
    Placeholder "placeholder" Lossless,
    /// The same object again, or growing snapshots of it.
    Restated "restated" Lossless,
    /// A closer too many after the object.
    ExtraCloser "extra-closer" Lossless,
    /// A comma or semicolon after the object.
    TrailingPunctuation "trailing-punctuation" Lossless,
    /// A tag or a model's control token around the object.
    ControlToken "control-token" Lossless,
    /// A code fence.
    Fence "fence" Lossless,
    /// Prose around the only object.
    Prose "prose" Lossless,
    /// A function call around the object.
    Jsonp "jsonp" Lossless,
    /// A raw control character in a string, kept as content.
    RawControl "raw-control" Lossless,
    /// An unknown escape, kept with its backslash (of `\'` only the apostrophe).
    UnknownEscape "unknown-escape" Lossless,
    /// Half of a surrogate pair, now U+FFFD.
    LoneSurrogate "lone-surrogate" Lossless,
    /// A comma before a closer.
    TrailingComma "trailing-comma" Lossless,
    /// A comment.
    Comment "comment" Lossless,
    /// A literal in other letters: `True`, `None`.
    LiteralCase "literal-case" Lossless,
    /// Single quotes around a string.
    SingleQuotes "single-quotes" Lossless,
    /// Typographic quotes around a string.
    TypographicQuotes "typographic-quotes" Lossless,
    /// A key without quotes.
    BareKey "bare-key" Lossless,
    /// A plus sign before a number.
    PlusSign "plus-sign" Lossless,
    /// No digit before or after a decimal point.
    MissingZero "missing-zero" Lossless,
    /// Escaped white space between tokens.
    EscapedSpace "escaped-space" Lossless,
    /// The last brace is missing from a text of one member whose key shows that it is not JSON cut short.
    MissingBrace "missing-brace" Lossless,
    /// Quotes inside a string that are content.
    InnerQuotes "inner-quotes" Guess,
    /// A comma that is missing.
    MissingComma "missing-comma" Guess,
    /// A comma too many between members.
    ExtraComma "extra-comma" Guess,
    /// A colon that is missing.
    MissingColon "missing-colon" Guess,
    /// `=`, `=>` or `;` where a colon or comma is due.
    WrongSeparator "wrong-separator" Guess,
    /// A closer of the other kind, or one too many in the middle.
    WrongCloser "wrong-closer" Guess,
    /// A closer that is missing.
    MissingCloser "missing-closer" Guess,
    /// A quote that is missing.
    MissingQuote "missing-quote" Guess,
    /// A value without quotes, read as a string.
    BareWord "bare-word" Guess,
    /// NaN or an infinity, now null.
    NonFinite "non-finite" Guess,
    /// `undefined` or `nil`, now null.
    Undefined "undefined" Guess,
    /// A tuple, now an array.
    Tuple "tuple" Guess,
    /// A hexadecimal, octal or binary number.
    Radix "radix" Guess,
    /// Underscores between digits.
    DigitSeparator "digit-separator" Guess,
    /// Zeros before a number.
    LeadingZero "leading-zero" Guess,
    /// Strings joined by a plus sign.
    Concatenation "concatenation" Guess,
    /// Backticks around a string.
    Backticks "backticks" Guess,
    /// Triple quotes around a string.
    TripleQuotes "triple-quotes" Guess,
    /// Other text after the object, dropped.
    TrailingText "trailing-text" Guess,
    /// A control character between tokens, dropped.
    StrayControl "stray-control" Guess,
    /// An array around the only object.
    ArrayWrapper "array-wrapper" Guess,
    /// Both braces, or the first, missing.
    MissingBraces "missing-braces" Guess,
    /// A brace before the object's own.
    DoubledBrace "doubled-brace" Guess,
    /// A member without a value, dropped.
    MissingValue "missing-value" Guess,
    /// The whole text escaped as for a string, without the quotes.
    EscapedText "escaped-text" Guess,
    /// The caller's own repair.
    Hook "hook" Guess,
}

/// What the ladder made of a text.
#[derive(Debug)]
pub(crate) struct Mended {
    /// JSON, or a prefix of it where the text was cut.
    pub(crate) text: String,
    pub(crate) repairs: Vec<Repair>,
    /// Cut although `text` is whole: the string around it never closed.
    pub(crate) cut: bool,
    /// Where in the text as sent it nests deeper than is read.
    pub(crate) deep_at: Option<usize>,
}

/// No rung of the ladder has one reading for the text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Refused;

/// How a body ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Reach {
    /// At its last closer.
    Closed,
    /// At the end of the text.
    Cut,
}

/// Mends a malformed text as far as `level` allows. `ended_by_itself`: the turn ended properly, so what is missing at the
/// end may be a fault and not a cut. `cut_key`: the text is JSON cut inside a key; only a missing quote is looked for.
/// Refused, it says where a second object begins, if that is why. O(n), no recursion on depth.
pub(crate) fn repair(
    text: &str,
    level: RepairLevel,
    ended_by_itself: bool,
    cut_key: bool,
    max_depth: usize,
) -> Result<Mended, Option<usize>> {
    let mut second_object = None;
    let mut pass = |guess| {
        let mut rewriter = Rewriter::new(text, guess, ended_by_itself, max_depth);
        let mended = rewriter.mend().ok();
        if mended.is_none() {
            second_object = rewriter.second_object.or(second_object);
        }
        mended
    };
    let guess = level == RepairLevel::Guess;
    let lossless = if cut_key || level == RepairLevel::None {
        None
    } else {
        pass(false)
    };
    let mended = match lossless {
        Some((mended, false)) => Some(mended),
        lossless if !guess => lossless.map(|(mended, _)| mended),
        lossless => match pass(true) {
            // Text that ends inside a key may have lost that key's quote; a guess counts only if it explains the text.
            Some((guessed, _)) if lossless.is_none() && !cut_key => Some(guessed),
            Some((guessed, _))
                if serde_json::from_str::<serde::de::IgnoredAny>(&guessed.text).is_ok() =>
            {
                Some(guessed)
            }
            _ => lossless.map(|(mended, _)| mended),
        },
    };
    let mut mended = mended.ok_or(second_object)?;
    mended.repairs.sort_by_key(|repair| repair.at);
    Ok(mended)
}

/// One pass over one text. `at` is the first byte not read; what was read is in `out`, as JSON.
struct Rewriter<'t> {
    text: &'t str,
    bytes: &'t [u8],
    at: usize,
    out: String,
    guess: bool,
    ended_by_itself: bool,
    max_depth: usize,
    deep_at: Option<usize>,
    repairs: Vec<Repair>,
    /// The last thing done, listed or not.
    newest: Option<RepairKind>,
    /// There was a comment.
    commented: bool,
    /// A guess was made about where a string ends, which only the end of the object can confirm.
    unsure: bool,
    /// The text is what a string around it held.
    wrapped: bool,
    /// Where the object begins that is read after the first; kept where the text is refused for it.
    second_object: Option<usize>,
    body: body::Body,
}

impl<'t> Rewriter<'t> {
    fn new(text: &'t str, guess: bool, ended_by_itself: bool, max_depth: usize) -> Self {
        let out = String::with_capacity(text.len() + 16);
        let body = body::Body::default();
        Rewriter {
            text,
            bytes: text.as_bytes(),
            at: 0,
            out,
            guess,
            ended_by_itself,
            max_depth,
            deep_at: None,
            repairs: Vec::new(),
            newest: None,
            commented: false,
            unsure: false,
            wrapped: false,
            second_object: None,
            body,
        }
    }

    fn note(&mut self, kind: RepairKind, at: usize) {
        self.newest = Some(kind);
        self.commented |= kind == RepairKind::Comment;
        list(&mut self.repairs, Repair { kind, at });
    }

    /// As [`note`](Self::note), refusing what this pass may not do.
    fn guess(&mut self, kind: RepairKind, at: usize) -> Result<(), Refused> {
        debug_assert_eq!(kind.level(), RepairLevel::Guess);
        if !self.guess {
            return Err(Refused);
        }
        self.unsure |= matches!(
            kind,
            RepairKind::InnerQuotes | RepairKind::MissingQuote | RepairKind::MissingColon
        );
        self.note(kind, at);
        Ok(())
    }

    fn peek(&self) -> Option<u8> {
        self.bytes.get(self.at).copied()
    }

    fn rest(&self) -> &'t str {
        self.text.get(self.at..).unwrap_or_default()
    }

    /// The first byte at or after `at` that is not JSON white space.
    fn next_solid(&self, at: usize) -> Option<(usize, u8)> {
        let rest = self.bytes.get(at..)?;
        rest.iter()
            .position(|byte| !super::is_space(*byte))
            .and_then(|skip| Some((at + skip, *rest.get(skip)?)))
    }

    /// Skips what may stand between tokens: white space, comments, spaces JSON does not know, escaped white space. A
    /// space is written for it, since it ends a number.
    fn gap(&mut self) -> Result<(), Refused> {
        let from = self.at;
        loop {
            let at = self.at;
            match self.peek() {
                Some(byte) if super::is_space(byte) => self.at += 1,
                Some(b'/' | b'#') => match comment_length(self.rest()) {
                    // The quote before it may stand inside the string, which then goes on to the next one.
                    Some(length) if self.may_quote(from, length) => return Err(Refused),
                    Some(length) => {
                        self.note(RepairKind::Comment, at);
                        self.at += length;
                    }
                    None => break,
                },
                Some(b'\\') if matches!(self.bytes.get(at + 1), Some(b'n' | b't' | b'r')) => {
                    self.note(RepairKind::EscapedSpace, at);
                    self.at += 2;
                }
                Some(0..=0x1F | 0x7F) => {
                    self.guess(RepairKind::StrayControl, at)?;
                    self.at += 1;
                }
                Some(byte) if !byte.is_ascii() => match self.rest().chars().next() {
                    Some(c) if is_odd_space(c) => {
                        self.note(RepairKind::Padding, at);
                        self.at += c.len_utf8();
                    }
                    _ => break,
                },
                _ => break,
            }
        }
        if self.at > from {
            self.out.push(' ');
        }
        Ok(())
    }
}

impl Rewriter<'_> {
    /// Whether the next so many bytes hold the quote that stands before this place.
    fn may_quote(&self, from: usize, length: usize) -> bool {
        let quote = from.checked_sub(1).and_then(|at| self.bytes.get(at));
        let quote = quote.filter(|quote| matches!(quote, b'"' | b'\''));
        let comment = self.rest().as_bytes().get(..length).unwrap_or_default();
        quote.is_some_and(|quote| memchr::memchr(*quote, comment).is_some())
    }
}

/// Lists one more repair. Of those that no room is left for, one that guesses takes the place of one that does not: that there
/// was a guess must not be lost.
fn list(repairs: &mut Vec<Repair>, repair: Repair) {
    if repairs.len() >= Repair::LISTED {
        let guessed = |listed: &Repair| listed.level() == RepairLevel::Guess;
        if !guessed(&repair) || repairs.last().is_some_and(guessed) {
            return;
        }
        repairs.pop();
    }
    repairs.push(repair);
}

/// How long the comment is that this text begins with, if it does. An unfinished one reaches to the end.
fn comment_length(text: &str) -> Option<usize> {
    let bytes = text.as_bytes();
    if let Some(inside) = bytes.strip_prefix(b"/*") {
        return Some(memchr::memmem::find(inside, b"*/").map_or(text.len(), |end| end + 4));
    }
    let line = bytes.starts_with(b"//") || bytes.starts_with(b"#");
    line.then(|| memchr::memchr2(b'\n', b'\r', bytes).unwrap_or(text.len()))
}

/// White space, or nothing visible, but not white space as JSON counts it.
fn is_odd_space(c: char) -> bool {
    (c.is_whitespace() && !c.is_ascii())
        || matches!(
            c,
            '\u{FEFF}' | '\u{200B}' | '\u{200C}' | '\u{200D}' | '\u{2060}'
        )
}

/// Takes one layer of string escaping off, up to a bare quote (`Some` where that is) or the end. Unknown escapes, halves of
/// surrogate pairs and raw control characters stay as they are: what they mean is the inner text's affair.
fn unescape(text: &str) -> (String, Option<usize>) {
    let bytes = text.as_bytes();
    let mut out = String::with_capacity(text.len());
    let (mut at, mut high) = (0, 0);
    let half = |end: usize| text.get(end - UNICODE_ESCAPE..end).unwrap_or_default();
    loop {
        let run = bytes
            .get(at..)
            .and_then(|rest| memchr::memchr2(b'"', b'\\', rest))
            .unwrap_or(text.len() - at.min(text.len()));
        out.push_str(text.get(at..at + run).unwrap_or_default());
        at += run;
        match bytes.get(at) {
            None => return (out, None),
            Some(b'"') => return (out, Some(at)),
            Some(_) => match escape(bytes, at, high) {
                Escape::Char(c, length) => {
                    out.push(c);
                    at += length;
                    high = 0;
                }
                Escape::High(unit) => {
                    high = unit;
                    at += UNICODE_ESCAPE;
                    // At the end of the text its other half may be what was cut.
                    if bytes.get(at).is_some_and(|byte| *byte != b'\\') {
                        high = 0;
                        out.push_str(half(at));
                    }
                }
                Escape::Short(_) => return (out, None),
                Escape::Bad(..) => {
                    if high != 0 {
                        out.push_str(half(at));
                        high = 0;
                    } else {
                        out.push('\\');
                        at += 1;
                    }
                }
            },
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(
        clippy::unwrap_used,
        clippy::expect_used,
        clippy::panic,
        clippy::indexing_slicing
    )]
    use super::*;

    #[test]
    fn every_kind_is_spelled_alike_by_serde_and_by_name() {
        for kind in KINDS {
            assert_eq!(serde_json::to_value(kind).unwrap(), kind.as_str());
        }
        let repair = Repair::new(RepairKind::TrailingComma, 12);
        assert_eq!(
            serde_json::to_string(&repair).unwrap(),
            r#"{"kind":"trailing-comma","at":12}"#
        );
    }
}
