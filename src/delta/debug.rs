//! `Debug` of what deltas say: how long a text is, not what it says, for it is the user's data.

use std::fmt;

use super::{ArgumentsPart, CallDelta, Delta};

/// As for a [`Fragment`](super::Fragment).
impl fmt::Debug for ArgumentsPart<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (what, text) = match self {
            ArgumentsPart::None => return f.write_str("None"),
            ArgumentsPart::Fragment(fragment) => ("Fragment", fragment.text),
            ArgumentsPart::Whole(text) => ("Whole", *text),
            ArgumentsPart::Initial(text) => ("Initial", *text),
            ArgumentsPart::Restated(text) => ("Restated", *text),
        };
        write!(f, "{what}(<{} bytes>)", text.len())
    }
}

impl fmt::Debug for CallDelta<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CallDelta")
            .field("key", &self.key)
            .field("route", &self.route)
            .field("name", &self.name)
            .field("kind", &self.kind)
            .field("executor", &self.executor)
            .field("server_name", &self.server_name)
            .field("arguments", &self.arguments)
            .field("extras", &self.extras.len())
            .field("status", &self.status)
            .field("cut", &self.cut)
            .field("authoritative", &self.authoritative)
            .finish_non_exhaustive()
    }
}

impl fmt::Debug for Delta<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Delta::Call(call) => f.debug_tuple("Call").field(call).finish(),
            Delta::Arguments {
                choice,
                index,
                route,
                text,
            } => f
                .debug_struct("Arguments")
                .field("choice", choice)
                .field("index", index)
                .field("route", route)
                .field("text", text)
                .finish(),
            Delta::Close { key, by } => f
                .debug_struct("Close")
                .field("key", key)
                .field("by", by)
                .finish(),
            Delta::CloseAll { choice, by } => f
                .debug_struct("CloseAll")
                .field("choice", choice)
                .field("by", by)
                .finish(),
            Delta::Text { choice, kind, text } => f
                .debug_struct("Text")
                .field("choice", choice)
                .field("kind", kind)
                .field("text", text)
                .finish(),
            Delta::Usage(usage) => f.debug_tuple("Usage").field(usage).finish(),
            Delta::Finish {
                choice,
                reason,
                native,
                meaning,
            } => f
                .debug_struct("Finish")
                .field("choice", choice)
                .field("reason", reason)
                .field("native", native)
                .field("meaning", meaning)
                .finish(),
            Delta::MayEnd => f.write_str("MayEnd"),
            Delta::End => f.write_str("End"),
            Delta::Restart => f.write_str("Restart"),
            Delta::Error {
                last,
                message,
                code,
            } => f
                .debug_struct("Error")
                .field("last", last)
                .field("message", message)
                .field("code", code)
                .finish(),
            Delta::Undecodable { problem } => f
                .debug_struct("Undecodable")
                .field("problem", problem)
                .finish(),
            // What stands between events may be a piece of one.
            Delta::Stray { text } => write!(f, "Stray(<{} bytes>)", text.len()),
            Delta::Anomaly(kind) => f.debug_tuple("Anomaly").field(kind).finish(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::delta::Fragment;

    #[test]
    fn no_text_that_a_delta_says_is_shown() {
        const TEXT: &str = r#"{"KEYZZ9":"SECRET77"}"#;
        let extras = [("caller", TEXT)];
        let mut call = CallDelta::new();
        call.extras = &extras;
        call.object = Some(TEXT);
        let parts = [
            ArgumentsPart::Fragment(Fragment::new(TEXT)),
            ArgumentsPart::Whole(TEXT),
            ArgumentsPart::Initial(TEXT),
            ArgumentsPart::Restated(TEXT),
        ];
        let calls = parts.map(|arguments| Delta::Call(CallDelta { arguments, ..call }));
        for delta in calls.iter().chain([&Delta::Stray { text: TEXT }]) {
            let shown = format!("{delta:?} {delta:#?}");
            assert!(
                !shown.contains("KEYZZ9") && !shown.contains("SECRET77"),
                "{shown}"
            );
            assert!(shown.contains("<21 bytes>"), "{shown}");
        }
    }
}
