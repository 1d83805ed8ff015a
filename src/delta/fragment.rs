//! One piece of a text.

use std::fmt;

/// One piece of argument text.
///
/// [Gateways](crate::guide::quirks#arguments) cut texts by UTF-16 units, so that the two escapes of one character come in two
/// deltas: an outer surrogate half travels beside the text and is joined where the pieces meet.
///
/// # Examples
///
/// ```
/// use callstitch::{Accumulator, ArgumentsPart, CallDelta, Delta, Fragment};
///
/// // The two halves of one character, in two deltas.
/// let pieces = [
///     Fragment::new("{\"mood\":\"").with_halves(None, Some(0xD83D)),
///     Fragment::new("\"}").with_halves(Some(0xDE00), None),
/// ];
/// let mut accumulator = Accumulator::default();
/// for piece in pieces {
///     let mut delta = CallDelta::new().index(0).name("react");
///     delta.arguments = ArgumentsPart::Fragment(piece);
///     accumulator.push(&Delta::Call(delta));
/// }
/// accumulator.push(&Delta::End);
/// let call = accumulator.events().find_map(|event| event.ok()?.into_call()).unwrap();
/// assert_eq!(call.arguments().object()?["mood"], "😀");
/// # Ok::<(), callstitch::ArgumentsError>(())
/// ```
#[derive(Clone, Copy, Default)]
#[non_exhaustive]
pub struct Fragment<'a> {
    /// The decoded text between the halves.
    pub text: &'a str,
    /// A low surrogate half before the text.
    pub low: Option<u16>,
    /// A high surrogate half after the text.
    pub high: Option<u16>,
    /// The text with what happens to stand behind it, or the text alone; see [`push_to`](Fragment::push_to).
    pub(crate) padded: &'a str,
}

impl<'a> Fragment<'a> {
    /// A piece without surrogate halves.
    #[must_use]
    #[inline]
    pub fn new(text: &'a str) -> Self {
        Fragment {
            text,
            low: None,
            high: None,
            padded: text,
        }
    }

    /// Appends the text. A copy of fixed length costs a fraction of one whose length has to be asked for, most of all where a
    /// branch on the length of a small piece is foreseen wrongly: a padded text is copied with its padding, which is then cut.
    #[inline(always)]
    pub(crate) fn push_to(self, out: &mut String) {
        let end = out.len() + self.text.len();
        // Another text may have been put in its place: the field is public. One that begins where the padded one does ends between
        // two characters of it.
        let is_padded = self.padded.len() == PADDED
            && self.text.len() <= PADDED
            && std::ptr::eq(self.padded.as_ptr(), self.text.as_ptr());
        if is_padded {
            out.push_str(self.padded);
            out.truncate(end);
        } else {
            out.push_str(self.text);
        }
    }

    /// The first so many bytes of a text, the rest of which does not count. `None` where they end within a character.
    #[inline(always)]
    pub(crate) fn padded(padded: &'a str, length: usize) -> Option<Self> {
        Some(Fragment {
            padded,
            ..Fragment::new(padded.get(..length)?)
        })
    }

    /// The same piece with surrogate halves before and after its text.
    #[must_use]
    pub fn with_halves(mut self, low: Option<u16>, high: Option<u16>) -> Self {
        (self.low, self.high) = (low, high);
        self
    }
}

/// What is said counts, not what is known of it.
impl PartialEq for Fragment<'_> {
    fn eq(&self, other: &Self) -> bool {
        (self.text, self.low, self.high) == (other.text, other.low, other.high)
    }
}

impl Eq for Fragment<'_> {}

/// Shows how long the text is, not what it says: it is the user's data.
impl fmt::Debug for Fragment<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "<{} bytes>", self.text.len())
    }
}

/// Bytes of a padded text.
pub(super) const PADDED: usize = 16;

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn a_padded_text_is_appended_without_its_padding() {
        let padded = "é and what follows".get(..PADDED).unwrap();
        for length in 0..=PADDED {
            let Some(fragment) = Fragment::padded(padded, length) else {
                assert_eq!(length, 1, "within a character");
                continue;
            };
            let mut out = "before ".to_owned();
            fragment.push_to(&mut out);
            assert_eq!(out, format!("before {}", &padded[..length]));
        }
    }

    #[test]
    fn a_text_that_was_exchanged_is_the_one_that_is_appended() {
        let mut fragment = Fragment::new("sixteen bytes, so");
        fragment.padded = "of sixteen bytes";
        fragment.text = "another";
        let mut out = String::new();
        fragment.push_to(&mut out);
        assert_eq!(out, "another");
    }
}
