//! From fragments to arguments, decided once, at the close (WIRE_FORMATS 11.4).
//!
//! Letter to the next reader. Cleverness on each delta is wrong in both directions: dropping a delta that equals the one before
//! loses real text, and replacing on a common prefix breaks `{"a":` followed by `{"a":1}}`, which is a legal nested object.
//! So the text is joined byte for byte, and only a text that does not stand as one value is asked whether it says one thing
//! more than once. What this room decides is always marked.

use crate::arguments::{Arguments, ArgumentsState, Blank, Known, Repair, RepairKind, Settling};
use crate::json::{self, Scan, is_object};

/// What came of a call's arguments.
pub(super) struct Sources {
    /// All fragments, joined.
    pub(super) text: String,
    /// The structure of that text.
    pub(super) scan: Scan,
    /// Where the last fragment begins that opens a value and extends all that came before it.
    pub(super) last_value: usize,
    /// The whole text again, from an event with authority.
    pub(super) restated: Option<String>,
    /// The value that stands if nothing else came.
    pub(super) initial: Option<String>,
    pub(super) known: Known,
}

/// The arguments, and whether a restated text said something else than the fragments.
pub(super) struct Settled {
    pub(super) arguments: Arguments,
    pub(super) restated_differs: bool,
    pub(super) duplicate: bool,
}

pub(super) fn settle(sources: Sources, settling: &Settling) -> Settled {
    let Sources {
        text,
        scan,
        last_value,
        restated,
        initial,
        mut known,
    } = sources;
    let mut restated_differs = false;
    let blank = is_blank(&text, &scan);
    let chosen = match (restated, initial) {
        (Some(restated), _) if restated != text => {
            restated_differs = differs(&restated, &text, &scan);
            Some(restated).filter(|restated| !prefers_fragments(restated, &text, &scan))
        }
        // A start block's input is a default: any fragment that says something replaces it (A3). The usual `{}` there is
        // what a call without arguments has, and says nothing of a call that was cut. An object there beats `{}` (11.4.5).
        (None, Some(initial))
            if (blank && !matches!(initial.trim(), "null" | "\"\""))
                || (says_nothing(&text) && is_object(&initial)) =>
        {
            let default =
                says_nothing(&initial) && (settling.blank == Blank::Cut || !text.is_empty());
            restated_differs = !default && !text.is_empty();
            Some(initial).filter(|_| !default)
        }
        _ => None,
    };
    if let Some(chosen) = chosen {
        return Settled {
            arguments: Arguments::settle(chosen, settling),
            restated_differs,
            duplicate: false,
        };
    }
    // Texts that say their value again can have balanced brackets by chance.
    let stands = scan.is_whole()
        && (last_value == 0 || serde_json::from_str::<serde::de::IgnoredAny>(&text).is_ok());
    // Where nothing vouches for it, a text can be cut inside a value that begins like the text itself: no snapshot then.
    let may_nest = last_value > 0 && settling.blank == Blank::Cut && scan.is_open();
    // So can what follows a placeholder, of which the same holds as of a text without one (11.4.3).
    let behind = text.get(..last_value).unwrap_or_default().trim();
    let may_stand = behind != "{}" && behind.starts_with("{}");
    let plain = || Arguments::settle(text.clone(), settling);
    if !stands
        && let Some((at, value)) = one_of_several(&text, last_value)
        && !(may_nest && plain().state() == ArgumentsState::Truncated)
        && !(may_stand && plain().is_usable())
    {
        let repair = Repair::new(RepairKind::Restated, at);
        let arguments = Arguments::restated(text, &value, vec![repair], settling);
        return Settled {
            arguments,
            restated_differs,
            duplicate: true,
        };
    }
    known.is_object &= last_value == 0;
    let arguments = Arguments::settle_known(text, &known, settling);
    // The ladder, too, takes one of two equal texts.
    let mut repairs = arguments.repairs().iter();
    let duplicate = repairs.any(|repair| repair.kind == RepairKind::Restated);
    Settled {
        arguments,
        restated_differs,
        duplicate,
    }
}

/// Whether a restated text says something else than the fragments, where these say something.
pub(super) fn differs(restated: &str, text: &str, scan: &Scan) -> bool {
    !is_blank(text, scan) && !restated.starts_with(text)
}

/// Blank, or the text `null`.
pub(super) fn is_blank(text: &str, scan: &Scan) -> bool {
    scan.is_blank() || text.trim() == "null"
}

/// An authoritative text beats the fragments, except where it says nothing and they say something (R2; a cut text too: never
/// `{}` in place of text that was there), or where it is cut and they are whole (R15).
pub(super) fn prefers_fragments(restated: &str, text: &str, fragments: &Scan) -> bool {
    (says_nothing(restated) && !says_nothing(text))
        || (fragments.is_whole() && !scanned(restated).is_whole())
}

/// Free text, and whether a restated one said something else. No JSON logic here (WIRE_FORMATS 11.4.1): the restated text
/// stands, except where it is blank (R2), or where the fragments go on behind it (R15) without saying it all again (R10).
pub(super) fn settle_free(text: String, restated: Option<String>) -> (String, bool) {
    let Some(restated) = restated else {
        return (text, false);
    };
    let differs = !restated.starts_with(text.as_str());
    let rest = text.strip_prefix(restated.as_str());
    let is_cut = rest.is_some_and(|rest| !rest.ends_with(restated.as_str()));
    let stands = !restated.trim().is_empty() && !is_cut;
    (if stands { restated } else { text }, differs)
}

/// Blank, `null` or `{}`. Cost: O(white space).
pub(super) fn says_nothing(text: &str) -> bool {
    let text = json::trim(text);
    let inner = text
        .strip_prefix('{')
        .and_then(|text| text.strip_suffix('}'));
    matches!(text, "" | "null") || inner.is_some_and(|inner| json::trim(inner).is_empty())
}

pub(super) fn scanned(text: &str) -> Scan {
    let mut scan = Scan::default();
    scan.read_on(text);
    scan
}

/// The one value of a text that says it more than once, and where it begins to: growing snapshots, or a whole value that is begun
/// again.
fn one_of_several(text: &str, last_value: usize) -> Option<(usize, String)> {
    // Each snapshot extends the one before (Q37, Q38); that was checked as they came. The last says all, and may itself be said
    // again behind it.
    if last_value > 0 {
        let last = text.get(last_value..)?;
        let value = one_of_several(last, 0).map(|(_, value)| value);
        return Some((last_value, value.unwrap_or_else(|| last.to_owned())));
    }
    // A whole value, then the same value broken off (Q46) or encoded once more (Q39), as which it may replace an empty one.
    let end = first_value_end(text)?;
    let (first, rest) = text.split_at_checked(end)?;
    let (value, rest) = (first.trim(), rest.trim());
    let decoded = serde_json::from_str::<String>(rest).ok();
    if says_nothing(value) {
        return Some((end, decoded.filter(|inner| is_object(inner))?));
    }
    let again =
        value.starts_with(rest) || decoded.is_some_and(|inner| json::is_same_object(&inner, value));
    (again && value != rest).then(|| (end, first.to_owned()))
}

fn first_value_end(text: &str) -> Option<usize> {
    let mut scan = Scan::default();
    let ends = text.match_indices(['}', ']']).map(|(at, _)| at + 1);
    ends.into_iter().find(|&end| {
        scan.read_on(text.get(..end).unwrap_or_default());
        scan.is_whole()
    })
}
