//! A slow, obvious reading of a chat body and of an Anthropic body, written from the document alone: the whole body in memory,
//! each event a `Value`, every rule in the plainest way, everything searched anew each time. It knows no cut, no event and no
//! live view; it says which calls a body holds. Argument text that is one whole object is read by serde_json; what any other
//! text means is asked of `Arguments`, whose own truth table is elsewhere.

use callstitch::{Arguments, Blank, CallState, RepairLevel, Settling};
use serde_json::{Map, Value};

/// One call as the oracle reads it.
#[derive(Debug, Clone, PartialEq)]
pub struct Expected {
    pub choice: u32,
    pub wire_index: Option<i64>,
    /// As the wire sent it first.
    pub wire_id: Option<String>,
    pub name: String,
    pub raw: String,
    pub state: CallState,
    pub object: Option<Map<String, Value>>,
    pub discarded: bool,
}

/// Name and data of each server-sent event.
pub fn events_of(body: &[u8]) -> Vec<(Option<String>, String)> {
    let text = String::from_utf8_lossy(body);
    let text = text.strip_prefix('\u{feff}').unwrap_or(&text);
    let text = text.replace("\r\n", "\n").replace('\r', "\n");
    let mut events = Vec::new();
    for block in text.split("\n\n") {
        let (mut name, mut data) = (None, Vec::new());
        for line in block.lines() {
            let (field, value) = line.split_once(':').unwrap_or((line, ""));
            let value = value.strip_prefix(' ').unwrap_or(value);
            match field {
                "event" => name = Some(value.to_owned()),
                "data" => data.push(value.to_owned()),
                _ => {}
            }
        }
        if !data.is_empty() {
            events.push((name, data.join("\n")));
        }
    }
    events
}

/// Whether the text is one object or array with its brackets balanced.
fn is_done(text: &str) -> bool {
    let mut open = Vec::new();
    let (mut in_string, mut escaped, mut ended) = (false, false, false);
    for c in text.chars() {
        if ended {
            if !c.is_ascii_whitespace() {
                return false;
            }
            continue;
        }
        match c {
            _ if escaped => escaped = false,
            '\\' if in_string => escaped = true,
            '"' if in_string => in_string = false,
            _ if in_string => {}
            '{' | '[' => open.push(c),
            '"' if !open.is_empty() => in_string = true,
            '}' if open.last() == Some(&'{') => {
                open.pop();
                ended = open.is_empty();
            }
            ']' if open.last() == Some(&'[') => {
                open.pop();
                ended = open.is_empty();
            }
            '}' | ']' => return false,
            c if open.is_empty() && !c.is_ascii_whitespace() => return false,
            _ => {}
        }
    }
    ended
}

/// Whether a piece looks like the first of a text.
fn opens(piece: &str) -> bool {
    piece.trim_start().starts_with('{') || serde_json::from_str::<Value>(piece).is_ok()
}

/// Whether a piece looks like the first of another text behind one that is not whole: no number, literal, string or array does.
fn opens_behind(piece: &str) -> bool {
    let inner = serde_json::from_str::<String>(piece).unwrap_or_default();
    piece.trim_start().starts_with('{') || inner.trim_start().starts_with('{')
}

/// Whether a piece says the object of a text again, encoded once more perhaps.
fn says_again(piece: &str, text: &str) -> bool {
    let object = |text: &str| serde_json::from_str::<Map<String, Value>>(text).ok();
    let inner = serde_json::from_str::<String>(piece).ok();
    let said = object(inner.as_deref().unwrap_or(piece));
    piece == text || said.is_some_and(|said| object(text) == Some(said))
}

fn is_empty_object(text: &str) -> bool {
    serde_json::from_str::<Map<String, Value>>(text).is_ok_and(|object| object.is_empty())
}

fn is_blank(text: &str) -> bool {
    text.trim().is_empty() || text.trim() == "null"
}

#[derive(Debug, Clone, Default)]
struct Slot {
    choice: u32,
    /// Nothing but its labels and ids tells whose a piece is.
    by_table: bool,
    wire_index: Option<i64>,
    id: Option<String>,
    name: String,
    /// The pieces, and whether each was a whole value of the wire.
    pieces: Vec<(String, bool)>,
    initial: Option<String>,
    custom: bool,
    /// Nobody knows whose its text is.
    ambiguous: bool,
    /// Opened under the id of this slot.
    shares_id_with: Option<usize>,
    ended: Option<Ended>,
    discarded: bool,
    held: bool,
    /// Of a wire that sends blocks.
    block: bool,
    /// How long its text was when the newest call behind it was opened.
    passed: Option<usize>,
}

/// State, object and text.
type Ended = (CallState, Option<Map<String, Value>>, String);

impl Slot {
    fn text(&self) -> String {
        self.pieces.iter().map(|(text, _)| text.as_str()).collect()
    }

    fn is_done(&self) -> bool {
        is_done(&self.text())
    }

    fn is_unread(&self) -> bool {
        self.text().trim().is_empty()
    }

    /// Its text stands, or what stands in its place.
    fn is_settled(&self) -> bool {
        let says = |text: &str| !is_blank(text) && !is_empty_object(text) && text != "\"\"";
        self.is_done() || (self.is_unread() && self.initial.as_deref().is_some_and(says))
    }

    /// A newer call was opened, and nothing came of this one since.
    fn is_passed(&self) -> bool {
        self.passed == Some(self.text().len())
    }
}

/// How a call ends.
#[derive(Clone, Copy, PartialEq)]
enum Close {
    Vouched,
    /// Only of the choices that gave a reason, if any did.
    Reasoned,
    Unconfirmed,
    /// An error came before the close that the wire gives each call.
    Failed,
}

#[derive(Default)]
struct Oracle {
    slots: Vec<Slot>,
    /// Who was opened or continued under each label, and under each id, in the order of time.
    labels: Vec<(u32, i64, usize)>,
    ids: Vec<(u32, String, usize)>,
    /// Who was touched, and in which event.
    touched: Vec<(u32, usize, usize)>,
    /// Who was opened in which event.
    opened: Vec<(u32, usize, usize)>,
    reasons: Vec<(u32, u8, String)>,
    /// A run of anonymous fragments that began where it was clear whose they are goes on there.
    settled: Vec<(u32, usize)>,
    event: usize,
}

/// A chat entry, normalised.
struct Entry {
    choice: u32,
    index: Option<i64>,
    id: Option<String>,
    name: Option<String>,
    piece: Option<String>,
    whole: bool,
    custom: bool,
    has_extras: bool,
    position: (usize, usize),
    /// The choice's one call without any label.
    legacy: bool,
}

/// What stands for the label of the call that has none.
const LEGACY: i64 = i64::MIN;

impl Entry {
    fn label(&self) -> Option<i64> {
        if self.legacy {
            Some(LEGACY)
        } else {
            self.index
        }
    }

    fn is_nameless(&self) -> bool {
        let says = self.piece.as_deref().is_some_and(|piece| !piece.is_empty());
        says && self.index.is_none() && self.id.is_none() && self.name.is_none()
    }
}

/// The calls of a chat body; `None` where the body holds what the oracle does not read: text between events, an event that is
/// no JSON for serde_json.
pub fn chat(body: &[u8]) -> Option<Vec<Expected>> {
    let mut oracle = Oracle::default();
    let mut end = Close::Unconfirmed;
    for (name, data) in events_of(body) {
        let data = data.trim();
        if data == "[DONE]" {
            end = Close::Vouched;
            break;
        }
        if data.is_empty() || data == "null" || data.starts_with(':') {
            continue;
        }
        if name.as_deref() == Some("error") {
            end = Close::Unconfirmed;
            break;
        }
        let payload: Value = serde_json::from_str(data).ok()?;
        oracle.event += 1;
        oracle.chunk(&payload);
        if says_error(&payload["error"]) || payload["object"] == "error" {
            end = Close::Unconfirmed;
            break;
        }
        for choice in list(&payload["choices"]) {
            if let Some(reason) = absent(&choice["finish_reason"]) {
                let native = absent(&choice["native_finish_reason"]);
                oracle.reason(choice_of(choice), &reason, native.as_deref());
                end = Close::Reasoned;
            }
        }
    }
    oracle.close_all(end);
    Some(oracle.expected())
}

fn says_error(error: &Value) -> bool {
    match error {
        Value::Null | Value::Bool(false) => false,
        Value::String(text) => !text.is_empty(),
        Value::Object(members) => !members.is_empty(),
        _ => true,
    }
}

/// Whether a function, or a custom tool, has a name or text.
fn says(function: &Value) -> bool {
    let text = function.get("input").or_else(|| function.get("arguments"));
    absent(&function["name"]).is_some() || text.is_some_and(|text| !text.is_null() && text != "")
}

fn list(value: &Value) -> Vec<&Value> {
    match value {
        Value::Array(items) => items.iter().collect(),
        Value::Object(_) => vec![value],
        _ => Vec::new(),
    }
}

fn choice_of(choice: &Value) -> u32 {
    choice["index"]
        .as_u64()
        .and_then(|index| u32::try_from(index).ok())
        .unwrap_or(0)
}

/// `""`, null and the text `null` mean absent; a number is read as its decimal text.
fn absent(value: &Value) -> Option<String> {
    match value {
        Value::String(text) if text.is_empty() || text == "null" => None,
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        _ => None,
    }
}

impl Oracle {
    fn chunk(&mut self, payload: &Value) {
        for choice in list(&payload["choices"]) {
            let delta = &choice["delta"];
            let mut entries = list(&delta["tool_calls"]);
            if entries.is_empty() && !says(&delta["function_call"]) {
                entries = list(&choice["message"]["tool_calls"]);
            }
            let mut read = Vec::new();
            for entry in entries {
                let custom = entry["custom"].is_object()
                    && (says(&entry["custom"]) || !says(&entry["function"]));
                let function = if custom {
                    &entry["custom"]
                } else {
                    &entry["function"]
                };
                read.push(read_entry(entry, function, custom, choice_of(choice)));
            }
            let count = read.iter().filter(|entry| entry.is_nameless()).count();
            let mut at = 0;
            for mut entry in read {
                if entry.is_nameless() {
                    entry.position = (at, count);
                    at += 1;
                }
                self.entry(&entry);
            }
            let mut legacy = &delta["function_call"];
            if list(&delta["tool_calls"]).is_empty() && !says(legacy) {
                legacy = &choice["message"]["function_call"];
            }
            if legacy.is_object() {
                let mut entry = read_entry(&Value::Null, legacy, false, choice_of(choice));
                entry.legacy = true;
                let empty = entry.piece.as_deref().is_none_or(str::is_empty);
                if entry.name.is_some() || !empty {
                    self.entry(&entry);
                }
            }
        }
    }

    fn labelled(&self, choice: u32, index: Option<i64>) -> Option<usize> {
        let found = self
            .labels
            .iter()
            .rev()
            .find(|(of, label, _)| *of == choice && Some(*label) == index);
        found.map(|(_, _, slot)| *slot)
    }

    fn identified(&self, choice: u32, id: &str) -> Option<usize> {
        let found = self
            .ids
            .iter()
            .rev()
            .find(|(of, other, _)| *of == choice && other == id);
        found.map(|(_, _, slot)| *slot)
    }

    fn latest(&self, choice: u32) -> Option<usize> {
        let found = self.touched.iter().rev().find(|(of, _, _)| *of == choice);
        found.map(|(_, slot, _)| *slot)
    }

    fn entry(&mut self, entry: &Entry) {
        let place = self.place(entry);
        let slot = match place {
            Some(Some(slot)) => slot,
            Some(None) => {
                let slot = self.slots.len();
                self.slots.push(Slot {
                    choice: entry.choice,
                    by_table: true,
                    shares_id_with: entry
                        .id
                        .as_deref()
                        .and_then(|id| self.identified(entry.choice, id)),
                    ..Slot::default()
                });
                slot
            }
            None => return,
        };
        if let Some(index) = entry.label() {
            self.labels.push((entry.choice, index, slot));
        }
        if let Some(id) = &entry.id {
            self.ids.push((entry.choice, id.clone(), slot));
        }
        let opened = place == Some(None);
        if !entry.legacy {
            self.touched.push((entry.choice, slot, self.event));
            self.settled.retain(|(of, _)| *of != entry.choice);
            if opened {
                self.opened.push((entry.choice, slot, self.event));
            }
        }
        if !opened
            && !entry.legacy
            && entry.index.is_none()
            && entry.id.is_none()
            && entry.position.1 <= 1
        {
            self.settled.push((entry.choice, slot));
        }
        let call = &mut self.slots[slot];
        call.wire_index = call.wire_index.or(entry.index);
        call.id = call.id.take().or_else(|| entry.id.clone());
        call.custom |= entry.custom;
        if let Some(name) = &entry.name {
            // Equal is a repeat; pieces join only before any text; a longer one that begins with the one held restates it.
            if call.name.is_empty() {
                call.name.clone_from(name);
            } else if call.name != *name && call.text().is_empty() {
                if name.starts_with(&call.name) {
                    call.name.clone_from(name);
                } else {
                    call.name.push_str(name);
                }
            }
        }
        if let Some(piece) = entry.piece.clone().filter(|piece| !piece.is_empty()) {
            call.pieces.push((piece, entry.whole));
        }
    }

    /// The table: `None` is nowhere, `Some(None)` a new call.
    fn place(&mut self, entry: &Entry) -> Option<Option<usize>> {
        let choice = entry.choice;
        let piece = entry.piece.as_deref();
        let has_piece = piece.is_some_and(|piece| !piece.is_empty());
        let opens = piece.is_some_and(opens);
        let opens_behind = piece.is_some_and(opens_behind);
        let labelled = self.labelled(choice, entry.label());
        let latest = self.latest(choice);
        let unfinished = latest.filter(|&slot| !self.slots[slot].is_done());
        let differs =
            |slot: usize| !piece.is_some_and(|piece| says_again(piece, &self.slots[slot].text()));
        let copy = |slot: usize| {
            piece.is_some_and(|piece| piece.trim().starts_with('"')) && !differs(slot)
        };
        let says = |slot: usize| !is_empty_object(&self.slots[slot].text());
        let id = entry.id.as_ref().filter(|_| !entry.legacy);
        if let (None, None, Some(slot)) = (id, &entry.name, labelled) {
            return Some(Some(slot)); // D15
        }
        if let (true, None, None) = (entry.legacy, &entry.name, labelled) {
            // Where nothing else is open, the text goes on with the latest.
            return has_piece.then_some(unfinished);
        }
        if let (true, Some(_), None) = (entry.legacy, &entry.name, labelled) {
            return Some(None);
        }
        match (id, &entry.name) {
            (Some(id), name) => {
                // Of several calls that share an id the label tells which.
                let own = labelled.filter(|&slot| self.slots[slot].id.as_ref() == Some(id));
                if let Some(known) = own.or_else(|| self.identified(choice, id)) {
                    let whole = name.is_some() && self.slots[known].is_done();
                    let held = &self.slots[known].name;
                    let other = name
                        .as_ref()
                        .is_some_and(|name| !held.is_empty() && held != name);
                    if (whole || other) && entry.label().is_some() && labelled != Some(known) {
                        return Some(None); // D1
                    }
                    if whole && says(known) && opens && differs(known) {
                        return Some(None); // D2
                    }
                    return Some(Some(known)); // D3
                }
                if let Some(name) = name {
                    return Some(labelled.filter(|&slot| {
                        let call = &self.slots[slot];
                        let same = call.name == *name;
                        let late = call.id.is_none()
                            && (call.name.is_empty() || (same && (!call.is_done() || copy(slot)))); // D4
                        let drifts = same
                            && !call.custom
                            && !call.is_unread()
                            && !call.is_done()
                            && !opens_behind; // D5
                        late || drifts
                    })); // else D6
                }
                if piece.is_none() && entry.has_extras {
                    return labelled.or(latest).map(Some); // D0
                }
                if let Some(slot) = labelled {
                    return Some(Some(slot)); // D7
                }
                let lacks = |&slot: &usize| {
                    let call = &self.slots[slot];
                    let legacy = self.labelled(choice, Some(LEGACY)) == Some(slot);
                    call.choice == choice && call.id.is_none() && !call.name.is_empty() && !legacy
                };
                let lacking: Vec<usize> = (0..self.slots.len()).filter(lacks).collect();
                if let (None, false, [slot]) = (entry.index, has_piece, &lacking[..])
                    && latest == Some(*slot)
                {
                    return Some(latest); // Q1, Q25
                }
                Some(unfinished.filter(|&slot| {
                    has_piece && (self.slots[slot].is_unread() || !opens_behind) // D8
                })) // else D9
            }
            (None, Some(name)) => {
                if let Some(slot) = labelled {
                    let call = &self.slots[slot];
                    let again = call.is_done() && says(slot) && opens && differs(slot);
                    return Some(Some(slot).filter(|_| {
                        call.name.is_empty() // D10
                            || (call.name == *name && !again) // D11
                            || (call.name != *name && call.text().is_empty() && !has_piece) // D12
                    })); // else D14
                }
                // D13, unless the entry stands beside one of its own event: those are two calls.
                let beside = self
                    .touched
                    .iter()
                    .any(|(of, _, event)| *of == choice && *event == self.event);
                Some(unfinished.filter(|&slot| {
                    let call = &self.slots[slot];
                    entry.index.is_none()
                        && !beside
                        && (call.name.is_empty()
                            || (call.name == *name && (call.is_unread() || !opens_behind)))
                }))
            }
            (None, None) => self.anonymous(entry, has_piece),
        }
    }

    fn anonymous(&mut self, entry: &Entry, has_piece: bool) -> Option<Option<usize>> {
        let choice = entry.choice;
        let latest = self.latest(choice);
        if !has_piece {
            return latest.filter(|_| entry.has_extras).map(Some); // D0, Q44
        }
        // As many as the last event opened that opened any: by position.
        let last = self.opened.iter().rev().find(|(of, _, _)| *of == choice);
        if let (None, Some(&(_, _, event))) = (entry.index, last) {
            let opened: Vec<usize> = self
                .opened
                .iter()
                .filter(|(of, _, opened)| *of == choice && *opened == event)
                .map(|(_, slot, _)| *slot)
                .collect();
            let (position, count) = entry.position;
            if count > 1 && count == opened.len() {
                return Some(Some(opened[position]));
            }
        }
        let legacy = self.labelled(choice, Some(LEGACY));
        let open: Vec<usize> = (0..self.slots.len())
            .filter(|&at| self.slots[at].choice == choice && Some(at) != legacy)
            .filter(|&at| !self.slots[at].is_done())
            .collect();
        let unfinished = latest.filter(|&slot| !self.slots[slot].is_done());
        let settled = unfinished.is_some_and(|slot| self.settled.contains(&(choice, slot)));
        let older = self.older(entry, latest, &open);
        if let Some(slot) = unfinished.or(older) {
            // D16, and cases/README.md rule 3: of two half-open calls without a label neither can be believed.
            let unlabelled: Vec<usize> = open
                .into_iter()
                .filter(|&at| self.slots[at].wire_index.is_none())
                .filter(|&at| !self.slots[at].is_unread())
                .collect();
            let asks = entry.index.is_none() && !settled;
            if asks && unlabelled.contains(&slot) && unlabelled.len() > 1 {
                for at in unlabelled {
                    self.slots[at].ambiguous = true;
                }
            }
            return Some(Some(slot));
        }
        if let (None, Some(slot)) = (latest, legacy)
            && !self.slots[slot].is_done()
        {
            return Some(Some(slot));
        }
        // D17, else D18
        Some(latest.filter(|_| entry.index.is_none()))
    }

    /// The call behind the latest that text without a label goes on with (cases/README.md rule 3), where that is no guess.
    fn older(&self, entry: &Entry, latest: Option<usize>, open: &[usize]) -> Option<usize> {
        let piece = entry.piece.as_deref().unwrap_or_default();
        let (said, begins) = (piece.trim(), piece.trim().starts_with('{'));
        if !begins && opens_behind(piece) {
            return None;
        }
        if let (true, Some(latest)) = (begins, latest) {
            let text = self.slots[latest].text();
            let text = text.trim();
            if text == "{}" || said.starts_with(text) || text.starts_with(said) {
                return None;
            }
        }
        let anonymous = latest.is_some_and(|slot| self.settled.contains(&(entry.choice, slot)));
        let open: Vec<usize> = open
            .iter()
            .copied()
            .filter(|&at| !self.slots[at].custom)
            .collect();
        let unread = |at: &usize| self.slots[*at].is_unread();
        let newest = open
            .iter()
            .rev()
            .find(|at| begins || !unread(at))
            .copied()?;
        (!unread(&newest) || (!anonymous && open.len() == 1)).then_some(newest)
    }

    /// The reason that tells more wins, of equal ones the later.
    fn reason(&mut self, choice: u32, reason: &str, native: Option<&str>) {
        let weight = |reason: &str| match reason {
            "stop" | "end_turn" => 1,
            "tool_calls" | "tool_use" | "function_call" => 2,
            "length"
            | "max_tokens"
            | "max_output_tokens"
            | "content_filter"
            | "refusal"
            | "model_context_window_exceeded" => 3,
            "error" => 4,
            _ => 0,
        };
        let mut said = reason;
        if let Some(native) = native
            && weight(native) >= 3
            && weight(reason) < 3
        {
            said = native;
        }
        match self.reasons.iter_mut().find(|(of, _, _)| *of == choice) {
            Some(held) if weight(said) >= held.1 => *held = (choice, weight(said), said.to_owned()),
            Some(_) => {}
            None => self.reasons.push((choice, weight(said), said.to_owned())),
        }
    }

    /// Text that nothing names, and that the call before it said.
    fn is_said_again(&self, at: usize) -> bool {
        let one = &self.slots[at];
        let mut before = self.slots[..at].iter().rev();
        let latest = before.find(|other| other.ended.is_none() && other.choice == one.choice);
        let nameless = one.by_table && one.id.is_none() && one.name.is_empty();
        nameless
            && one.ended.is_none()
            && !one.is_unread()
            && latest.is_some_and(|other| other.is_done() && other.text().starts_with(&one.text()))
    }

    /// A call under a second index, or a block that was begun a second time.
    fn is_mirror(&self, at: usize) -> bool {
        let one = &self.slots[at];
        let Some(other) = one.shares_id_with.map(|other| &self.slots[other]) else {
            return false;
        };
        let same_index = one.wire_index == other.wire_index;
        one.ended.is_none()
            && other.ended.is_none()
            && (one.block || !same_index)
            && (&one.name, &one.id) == (&other.name, &other.id)
            && (one.text() == other.text() || (one.block && same_index && one.is_unread()))
    }

    fn close_all(&mut self, close: Close) {
        let mirrors: Vec<usize> = (0..self.slots.len())
            .filter(|&at| {
                let vouched = matches!(close, Close::Vouched | Close::Reasoned);
                self.is_mirror(at) || vouched && self.is_said_again(at)
            })
            .collect();
        for at in 0..self.slots.len() {
            let gave_reason = |of: &(u32, u8, String)| of.0 == self.slots[at].choice;
            if mirrors.contains(&at) {
                self.end(at, Close::Unconfirmed);
                self.slots[at].discarded = true;
            } else if self.slots[at].held && self.slots[at].is_settled() {
                self.end(at, Close::Vouched);
            } else if close == Close::Reasoned {
                let vouched = self.reasons.is_empty() || self.reasons.iter().any(gave_reason);
                self.end(
                    at,
                    if vouched {
                        Close::Vouched
                    } else {
                        Close::Unconfirmed
                    },
                );
            } else {
                self.end(at, close);
            }
        }
    }

    /// WIRE_FORMATS 11.4 and 11.6.
    fn end(&mut self, at: usize, close: Close) {
        if self.slots[at].ended.is_some() {
            return;
        }
        let slot = &self.slots[at];
        let newer = self.slots[at + 1..].iter();
        let mut newer = newer.filter(|of| of.choice == slot.choice && of.ended.is_none());
        let is_last_open = newer.all(|of| of.held && of.is_settled());
        let reason = self.reasons.iter().find(|(of, _, _)| *of == slot.choice);
        let closed = slot.held && slot.is_settled();
        let cut = !closed && is_last_open && reason.is_some_and(|(_, weight, _)| *weight >= 3);
        let blank_is_cut = cut || close != Close::Vouched;
        let settling = Settling {
            repair: if close == Close::Vouched {
                RepairLevel::Lossless
            } else {
                RepairLevel::None
            },
            blank: if blank_is_cut {
                Blank::Cut
            } else {
                Blank::Object
            },
            ..Settling::default()
        };
        let mut text = slot.text();
        let says_nothing = |text: &str| is_blank(text) || is_empty_object(text);
        let may_stand = |initial: &String| {
            is_blank(&text) || (is_empty_object(&text) && initial.starts_with('{'))
        };
        if let Some(initial) = slot.initial.clone().filter(may_stand)
            && !(says_nothing(&initial) && (blank_is_cut || !text.is_empty()))
            && initial != "null"
        {
            text = initial;
        }
        let (mut state, mut object);
        if slot.custom {
            state = if blank_is_cut {
                CallState::Truncated
            } else {
                CallState::FreeForm
            };
            object = None;
        } else if let Ok(whole) = serde_json::from_str::<Map<String, Value>>(&text) {
            state = CallState::Whole;
            object = Some(whole);
        } else if is_blank(&text) && blank_is_cut {
            state = CallState::Truncated;
            object = None;
        } else if is_blank(&text) {
            state = CallState::Whole;
            object = Some(Map::new());
        } else {
            // Of a text that says one object again and again the last saying counts.
            let mut again = said_again(&slot.pieces);
            let plain = Arguments::settle(text.clone(), &settling);
            // A cut text may hold a value that begins as it does itself.
            // What stands behind a placeholder may be one whole text.
            if text.trim_start().starts_with("{}") && plain.is_usable() {
                again = None;
            }
            let is_one = !(1..text.len()).filter_map(|at| text.get(..at)).any(is_done);
            let is_cut = plain.state() == callstitch::ArgumentsState::Truncated;
            if blank_is_cut && is_one && is_cut {
                again = None;
            }
            let settled = match &again {
                Some(again) => Arguments::settle(again.clone(), &settling),
                None => plain,
            };
            state = match settled.state() {
                callstitch::ArgumentsState::Whole if again.is_none() => CallState::Whole,
                callstitch::ArgumentsState::Whole | callstitch::ArgumentsState::Repaired => {
                    CallState::Repaired
                }
                callstitch::ArgumentsState::Truncated => CallState::Truncated,
                callstitch::ArgumentsState::TooDeep => CallState::TooDeep,
                _ => CallState::Malformed,
            };
            object = settled.recovered().cloned();
        }
        // Behind another call the close may have been left out (A5).
        let is_open = close == Close::Failed && !slot.held && !slot.is_passed();
        if close != Close::Vouched
            && matches!(state, CallState::Whole | CallState::Repaired)
            && (is_open || object.as_ref().is_some_and(Map::is_empty))
        {
            state = CallState::Truncated;
        }
        if slot.ambiguous {
            (state, object) = (CallState::Malformed, None);
        }
        if slot.name.is_empty() {
            state = CallState::Unnamed;
        }
        self.slots[at].ended = Some((state, object, text));
    }

    fn expected(self) -> Vec<Expected> {
        self.slots
            .into_iter()
            .map(|slot| {
                let (state, object, raw) = slot.ended.expect("every call was ended");
                Expected {
                    choice: slot.choice,
                    wire_index: slot.wire_index,
                    wire_id: slot.id,
                    name: slot.name,
                    raw,
                    state,
                    object,
                    discarded: slot.discarded,
                }
            })
            .collect()
    }
}

/// A text that says one object more than once (11.4.4): growing snapshots of which the last is whole, or a whole object said
/// twice. Gives the saying that counts.
fn said_again(pieces: &[(String, bool)]) -> Option<String> {
    let join = |pieces: &[(String, bool)]| -> String {
        pieces.iter().map(|(text, _)| text.as_str()).collect()
    };
    // A group of pieces from `from` on; each next group begins with a piece that extends all of the group before it.
    let (mut from, mut found) = (0, false);
    for at in 1..pieces.len() {
        let (piece, whole) = &pieces[at];
        let before = join(&pieces[from..at]);
        let before = before.trim();
        let opens = piece.trim_start().starts_with('{');
        let extends = piece.trim_start().starts_with(before);
        let empties = is_empty_object(piece) && !is_empty_object(before);
        let object_again = *whole
            && !empties
            && pieces[from..at].iter().filter(|(_, whole)| *whole).count() == 1
            && pieces[from..at]
                .iter()
                .all(|(text, whole)| *whole || text.trim().is_empty());
        if (opens || *whole) && (extends || object_again || (*whole && before == "{}")) {
            (from, found) = (at, true);
        } else if opens && before == "{}" {
            from = at; // What follows a placeholder may be snapshots.
        }
    }
    // The last may itself be said again.
    let last = join(&pieces[from..]);
    match found {
        true => Some(said_twice(&last).unwrap_or(last)),
        false => said_twice(&join(pieces)),
    }
}

/// A whole object that is begun again or encoded once more.
fn said_twice(text: &str) -> Option<String> {
    let (first, rest) = (1..text.len())
        .filter_map(|at| text.split_at_checked(at))
        .find(|(first, _)| is_done(first))?;
    let rest = rest.trim();
    let encoded = serde_json::from_str::<String>(rest).is_ok_and(|inner| inner.trim() == first);
    let again = (first.trim().starts_with(rest) && first.trim() != rest) || encoded;
    if is_empty_object(first) {
        let inner = serde_json::from_str::<String>(rest).ok()?;
        return serde_json::from_str::<Map<String, Value>>(&inner)
            .is_ok()
            .then_some(inner);
    }
    again.then(|| first.to_owned())
}

/// The integer that this number is.
fn whole(number: f64) -> Option<i64> {
    (number.fract() == 0.0 && number.abs() < 1e15).then_some(number as i64)
}

fn read_entry(entry: &Value, function: &Value, custom: bool, choice: u32) -> Entry {
    let index = match &entry["index"] {
        Value::Number(number) => number.as_i64().or_else(|| whole(number.as_f64()?)),
        Value::String(digits) => digits.trim().parse().ok(),
        _ => None,
    };
    let arguments = function.get(if custom { "input" } else { "arguments" });
    let (piece, whole) = match arguments {
        Some(Value::String(text)) => (Some(text.clone()), false),
        None | Some(Value::Null) => (None, false),
        Some(value) => (Some(value.to_string()), true),
    };
    Entry {
        choice,
        index: index.filter(|&index| index >= 0),
        id: absent(&entry["id"]).or_else(|| absent(&function["id"])),
        name: absent(&function["name"]),
        piece,
        whole,
        custom,
        has_extras: entry
            .get("extra_content")
            .is_some_and(|extra| !extra.is_null()),
        position: (0, 1),
        legacy: false,
    }
}

/// The calls of an Anthropic body, likewise. `None` where the body holds what the oracle does not read.
pub fn anthropic(body: &[u8]) -> Option<Vec<Expected>> {
    let mut oracle = Oracle::default();
    let (mut stage, mut failed) = (0, false);
    // The message's id, its highest index, and whether its start came twice and nothing tells why yet.
    let (mut message, mut highest, mut repeated) = (Value::Null, None, false);
    // The ids of calls whose block is open, and of those that ended.
    let mut open: Vec<(i64, Option<String>)> = Vec::new();
    let mut ended: Vec<Option<String>> = Vec::new();
    let is_call = |block: &Value| {
        let kinds = ["tool_use", "server_tool_use", "mcp_tool_use"];
        kinds.iter().any(|kind| block["type"] == *kind)
    };
    for (_, data) in events_of(body) {
        if data.trim().is_empty() {
            continue;
        }
        let event: Value = serde_json::from_str(&data).ok()?;
        let index = event["index"].as_i64();
        match event["type"].as_str() {
            Some("message_start") => {
                let again = std::mem::replace(&mut message, event["message"]["id"].clone());
                let holds = list(&event["message"]["content"]).into_iter().any(is_call);
                repeated = stage == 1 && again == message && !holds;
                if repeated {
                    continue;
                }
                if stage > 0 {
                    highest = None;
                    open.clear();
                    oracle.restart();
                }
                // Behind a message that stopped, what one was opened with is history.
                let told = std::mem::replace(&mut stage, 1) == 2;
                let blocks = list(&event["message"]["content"]).into_iter();
                let mut new = Vec::new();
                for block in blocks.filter(|block| !told && is_call(block)) {
                    let id = absent(&block["id"]);
                    if !ended.contains(&id) {
                        oracle.block(None, block);
                        let last = oracle.slots.len() - 1;
                        oracle.end(last, Close::Vouched);
                        new.push(id);
                    }
                }
                ended.extend(new);
            }
            Some("content_block_start") => {
                if std::mem::take(&mut repeated) && index <= highest {
                    highest = None;
                    open.clear();
                    oracle.restart();
                }
                highest = highest.max(index);
                let block = &event["content_block"];
                if let (Some(index), true) = (index, is_call(block)) {
                    open.retain(|(at, _)| *at != index);
                    open.push((index, absent(&block["id"])));
                }
                oracle.block(index, block);
            }
            Some("content_block_delta") => {
                if let Some(text) = event["delta"]["partial_json"].as_str() {
                    oracle.input(index, text);
                }
            }
            Some("content_block_stop") => {
                repeated = false;
                let stops = |entry: &mut (i64, Option<String>)| Some(entry.0) == index;
                ended.extend(open.extract_if(.., stops).map(|(_, id)| id));
                if let Some(slot) = oracle.labelled(0, index) {
                    // Text that does not stand yet waits for the end of the message (cases/README.md rule 6).
                    if oracle.is_mirror(slot) {
                        oracle.end(slot, Close::Unconfirmed);
                        oracle.slots[slot].discarded = true;
                    } else if oracle.slots[slot].is_settled() {
                        oracle.end(slot, Close::Vouched);
                    } else {
                        oracle.slots[slot].held = true;
                    }
                }
            }
            Some("message_delta") => {
                let Some(reason) = event["delta"]["stop_reason"].as_str() else {
                    continue;
                };
                repeated = false;
                oracle.reason(0, reason, None);
                ended.extend(open.drain(..).map(|(_, id)| id));
                oracle.close_all(if failed {
                    Close::Failed
                } else {
                    Close::Vouched
                });
            }
            Some("message_stop") => {
                repeated = false;
                ended.extend(open.drain(..).map(|(_, id)| id));
                stage = 2;
                oracle.close_all(if failed {
                    Close::Failed
                } else {
                    Close::Vouched
                });
            }
            Some("error") => failed = true,
            _ => {}
        }
    }
    oracle.close_all(if failed {
        Close::Failed
    } else {
        Close::Unconfirmed
    });
    Some(oracle.expected())
}

impl Oracle {
    fn block(&mut self, index: Option<i64>, block: &Value) {
        let kinds = ["tool_use", "server_tool_use", "mcp_tool_use"];
        if !kinds.iter().any(|kind| block["type"] == *kind) {
            return;
        }
        let id = absent(&block["id"]);
        let waiting = self.labelled(0, index).filter(|&slot| {
            let call = &self.slots[slot];
            let orphan = call.id.is_none() && call.name.is_empty();
            let same = |name: String| call.name.is_empty() || name == call.name;
            let same_name = absent(&block["name"]).is_none_or(same);
            let goes_on = call.is_unread() || (same_name && !call.is_done());
            let repeated = call.id.is_some() && call.id == id && goes_on;
            call.ended.is_none() && (orphan || repeated)
        });
        let shares = id.as_ref().and_then(|id| {
            let known = self.ids.iter().rev().find(|(_, of, _)| of == id);
            known.map(|(_, _, slot)| *slot)
        });
        let slot = waiting.unwrap_or_else(|| {
            let slot = self.open(None);
            self.slots[slot].shares_id_with = shares;
            slot
        });
        if let Some(index) = index {
            self.labels.push((0, index, slot));
        }
        self.ids.extend(id.clone().map(|id| (0, id, slot)));
        self.slots[slot].block = true;
        self.slots[slot].held = false;
        let call = &mut self.slots[slot];
        call.wire_index = index;
        call.id = id;
        if call.name.is_empty() {
            call.name = absent(&block["name"]).unwrap_or_default();
        }
        let initial = block.get("input").map(Value::to_string);
        call.initial = initial.or(call.initial.take());
    }

    fn open(&mut self, wire_index: Option<i64>) -> usize {
        self.slots.push(Slot {
            wire_index,
            ..Slot::default()
        });
        let slot = self.slots.len() - 1;
        // The model went on after a blank block was closed: it was meant to be blank.
        for at in 0..slot {
            self.slots[at].passed = Some(self.slots[at].text().len());
            if self.slots[at].held && is_blank(&self.slots[at].text()) {
                self.end(at, Close::Vouched);
            }
        }
        slot
    }

    fn input(&mut self, index: Option<i64>, text: &str) {
        let known = self.labelled(0, index);
        if known.is_none() && text.is_empty() {
            return;
        }
        let slot = known.unwrap_or_else(|| self.open(index));
        if let Some(index) = index {
            self.labels.push((0, index, slot));
        }
        if self.slots[slot].ended.is_none() && !text.is_empty() {
            self.slots[slot].pieces.push((text.to_owned(), false));
        }
    }

    fn restart(&mut self) {
        for at in 0..self.slots.len() {
            if self.slots[at].ended.is_some() {
                continue;
            }
            let slot = &self.slots[at];
            if slot.held || (slot.is_passed() && slot.is_settled()) {
                self.end(at, Close::Vouched);
            } else {
                self.end(at, Close::Unconfirmed);
                self.slots[at].discarded = true;
            }
        }
        self.labels.clear();
        self.ids.clear();
        self.reasons.clear();
    }
}
