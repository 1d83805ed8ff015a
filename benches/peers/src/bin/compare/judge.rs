//! Compares what came out of a stream with what was written into it, and says so in a few words.

use callstitch_peers::peer::{Call, Reading};

use crate::streams::{Stream, Wanted};

pub struct Verdict {
    /// Every whole call came out as it was meant; no unfinished one can be taken for whole; who reads hears that something is
    /// missing: from an error, a flag, a finish reason, or at the latest from the parser of the arguments.
    pub good: bool,
    words: String,
}

impl Verdict {
    pub fn cell(&self) -> String {
        let mark = if self.good { "✓" } else { "✗" };
        format!("{mark} {}", self.words)
    }
}

/// How one call came out.
#[derive(Clone, Copy, PartialEq)]
enum Fate {
    Right,
    /// In one call with another.
    Merged,
    Lost,
    WrongId,
    WrongName,
    WrongArguments,
    /// Handed out like any other, with a text that no parser reads.
    NoJson,
    /// Handed out with a mark that it must not be run.
    Flagged,
    /// Unfinished, and handed out as an object that may be run.
    AsWhole,
}

impl Fate {
    fn word(self) -> &'static str {
        match self {
            Fate::Right => "right",
            Fate::Merged => "merged",
            Fate::Lost => "lost",
            Fate::WrongId => "wrong id",
            Fate::WrongName => "wrong name",
            Fate::WrongArguments => "wrong arguments",
            Fate::NoJson => "text that is no JSON",
            Fate::Flagged => "flagged",
            Fate::AsWhole => "handed out as whole",
        }
    }
}

pub fn judge(stream: &Stream, reading: Option<&Reading>) -> Verdict {
    let Some(reading) = reading else {
        return Verdict {
            good: false,
            words: "panic".into(),
        };
    };
    let fates: Vec<Fate> = stream
        .calls
        .iter()
        .map(|wanted| fate(wanted, stream, reading))
        .collect();
    let told = !reading.errors.is_empty();
    let calls_good = stream
        .calls
        .iter()
        .zip(&fates)
        .all(|(wanted, fate)| match wanted.arguments {
            Some(_) => *fate == Fate::Right,
            None => matches!(fate, Fate::Lost | Fate::Flagged | Fate::NoJson),
        });
    let extra = reading.calls.len() > stream.calls.len();
    let hears = told || fates.contains(&Fate::Flagged) || fates.contains(&Fate::NoJson);

    let mut words = spoken(&fates);
    if extra {
        words.push(format!("{} calls", reading.calls.len()));
    }
    if told {
        words.push("error".into());
    } else if stream.damaged && !hears {
        words.push("no error".into());
    }
    Verdict {
        good: calls_good && !extra && (hears || !stream.damaged),
        words: words.join(", "),
    }
}

/// Each fate once, with its number where they differ.
fn spoken(fates: &[Fate]) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    for fate in fates {
        let count = fates.iter().filter(|other| *other == fate).count();
        let word = if count == fates.len() {
            fate.word().to_owned()
        } else {
            format!("{count} {}", fate.word())
        };
        if !words.contains(&word) {
            words.push(word);
        }
    }
    words
}

fn fate(wanted: &Wanted, stream: &Stream, reading: &Reading) -> Fate {
    let calls = &reading.calls;
    let id = |call: &Call| wanted.id.is_none_or(|id| call.id == id);
    let name = |call: &Call| call.name == wanted.name;
    let arguments = |call: &Call| {
        let value = call.arguments.value();
        wanted.arguments.is_some() && value == wanted.arguments
    };
    let about = |call: &&Call| says(call, wanted.says);
    if calls
        .iter()
        .any(|call| !call.flagged && id(call) && name(call) && arguments(call))
    {
        return Fate::Right;
    }
    let others = || {
        stream
            .calls
            .iter()
            .filter(|other| other.says != wanted.says)
    };
    let merged = |call: &&Call| others().any(|other| says(call, other.says));
    if calls.iter().filter(about).any(|call| merged(&call)) {
        return Fate::Merged;
    }
    // The call that speaks of the same thing, or at least has the id or the name.
    let found = calls.iter().find(about);
    let found = found.or_else(|| calls.iter().find(|call| wanted.id == Some(&*call.id)));
    let Some(call) = found.or_else(|| calls.iter().find(|call| name(call))) else {
        return Fate::Lost;
    };
    if call.flagged {
        return Fate::Flagged;
    }
    let is_object = call
        .arguments
        .value()
        .is_some_and(|value| value.is_object());
    match (is_object, wanted.arguments.is_some()) {
        (false, _) => Fate::NoJson,
        (true, false) => Fate::AsWhole,
        (true, true) if !name(call) => Fate::WrongName,
        (true, true) if !arguments(call) => Fate::WrongArguments,
        (true, true) => Fate::WrongId,
    }
}

/// Whether a call's arguments speak of something.
fn says(call: &Call, what: &str) -> bool {
    serde_json::to_string(&call.arguments).is_ok_and(|text| text.contains(what))
}
