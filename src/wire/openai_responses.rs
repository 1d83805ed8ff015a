//! OpenAI Responses and the servers compatible with it (WIRE_FORMATS 2).
//!
//! Letter to the next reader. One call can be learnt three times: from its argument events, from its finished item, and from
//! the response that the terminal embeds; each of them is all there is on some server (R1, R3, R4). So every item is looked
//! up in [`Seen`] before it is spoken, and nothing is told twice. What closes a call is its finished item; the `.done`
//! of its arguments only vouches for their text, for the item may still correct the ids (R5). The event's own `type` decides; the
//! `event:` line may be missing, late or renamed.

mod call_item;
mod events;
mod items;
mod pieces;
mod seen;
#[cfg(test)]
mod tests;
mod texts;
mod unfinished;

use std::borrow::Cow;

use smallvec::SmallVec;

use crate::anomaly::AnomalyKind;
use crate::delta::{
    ArgumentsPart, CallDelta, CallKey, ClosedBy, Delta, DeltaSink, FinishMeaning, Route, TextKind,
    ToolKind,
};
use crate::framing::Frame;
use crate::json::cursor::{Cursor, Fault, Text};
use crate::wire::Decoder;
use crate::wire::payload::{
    Arguments, Json, JsonDecoder, Reopened, is_foreign_error, report_error, report_finish,
};

use call_item::CallItem;
use events::{Event, EventKind, Response, begun_id, read_event};
use items::Item;
pub(crate) use items::executor_of;
use pieces::speak_arguments;
use seen::Seen;
use texts::{Source, TEXT_KINDS, Told};
use unfinished::{AllUnfinished, Unfinished};

pub(super) fn decoder() -> Box<dyn Decoder> {
    Box::new(Json::<OpenAiResponses>::default())
}

#[derive(Default)]
struct OpenAiResponses {
    stage: Stage,
    /// None until a response or an item begins.
    opened: Option<Box<Opened>>,
    seen: Seen,
    /// A call was told that the caller must answer.
    asks: bool,
    /// None until a text is told.
    told: Option<Box<Told>>,
    /// Counts the events that are no pieces: each may change what the next piece says.
    epoch: u32,
    /// Holds a decoded text while it is spoken.
    scratch: Vec<u8>,
}

/// What is known of the response beside its calls: what tells one that is created twice from one that begins again, and what is
/// not told yet.
#[derive(Default)]
struct Opened {
    /// The response's id, where it has one.
    id: Option<String>,
    /// Twice, where a `response.created` repeated that id.
    reopened: Reopened,
    /// Of the calls seen those whose arguments are an object that was not told yet.
    unfinished: AllUnfinished,
}

/// Where in a response the stream is. A body can hold several, one after another.
///
/// ```text
/// Fresh --item or piece--> Running --terminal--> Ended
///   ^                         |                    |
///   +---- response.created ---+--------------------+   (with a Restart)
/// ```
#[derive(Debug, Default, PartialEq)]
enum Stage {
    #[default]
    Fresh,
    Running,
    Ended,
}

impl JsonDecoder for OpenAiResponses {
    const ECHOES: bool = true;

    fn reads(&mut self, kind: &str, beginning: &str) -> bool {
        match EventKind::of(kind) {
            // It repeats a request, which may be long, behind all that it says.
            Some(EventKind::Created) if self.stage == Stage::Fresh => {
                self.opened.get_or_insert_default().id = begun_id(beginning);
                false
            }
            kind => kind.is_some(),
        }
    }

    fn epoch(&self) -> u32 {
        self.epoch
    }

    fn echoes_index(&self, index: i64) -> bool {
        self.seen.is_label(Some(index))
    }

    fn document(
        &mut self,
        cursor: &mut Cursor<'_>,
        frame: Frame<'_>,
        sink: &mut dyn DeltaSink,
    ) -> Result<(), Fault> {
        let event = read_event(cursor)?;
        cursor.end()?;
        let stated = event.kind.map(Text::to_cow);
        let kind = stated.as_deref().or(frame.event).unwrap_or_default();
        if !kind.ends_with(".delta") {
            self.epoch = self.epoch.wrapping_add(1);
        }
        match EventKind::of(kind) {
            Some(EventKind::Piece(of)) => self.speak_piece(&event, of, sink),
            Some(EventKind::Restated(of)) => self.speak_restated(&event, of, sink),
            Some(EventKind::Text(kind, source)) => self.speak_text(&event, kind, source, sink),
            Some(EventKind::PartAdded) => self.speak_part(&event, None, sink),
            Some(EventKind::PartDone) => self.speak_part(&event, event.whole, sink),
            Some(EventKind::ItemAdded) => self.speak_added(&event, sink),
            Some(EventKind::ItemDone) => self.speak_finished(&event, sink),
            Some(EventKind::Created) => self.begin(event.response, sink),
            Some(EventKind::Terminal) => self.end(kind, event.response, sink),
            Some(EventKind::Error) => self.fail(cursor.document(), sink),
            None if is_foreign_error(cursor.document(), stated.as_deref()) => {
                self.fail(cursor.document(), sink)
            }
            None => {}
        }
        Ok(())
    }

    fn over(&mut self, well: bool, sink: &mut dyn DeltaSink) {
        self.speak_unfinished(well, sink);
    }
}

impl OpenAiResponses {
    fn speak_piece(
        &mut self,
        event: &Event<'_>,
        kind: Option<&'static ToolKind>,
        sink: &mut dyn DeltaSink,
    ) {
        let arguments = match event.delta {
            Arguments::Text(text) => ArgumentsPart::Fragment(text.fragment(&mut self.scratch)),
            Arguments::Value { raw, .. } => ArgumentsPart::Whole(raw),
            Arguments::Null => return sink.delta(&Delta::Anomaly(AnomalyKind::NullArguments)),
            Arguments::Absent => return,
        };
        speak_arguments(&self.seen, event, kind, arguments, sink);
        self.stage = Stage::Running;
    }

    /// The `.done` of a call's arguments, which may lack its text (R11): of a call that is known it says all the same that its
    /// text is all there.
    fn speak_restated(
        &mut self,
        event: &Event<'_>,
        kind: Option<&'static ToolKind>,
        sink: &mut dyn DeltaSink,
    ) {
        let whole = event.whole.map(Text::to_cow);
        let whole = whole.or(event.value.map(Cow::Borrowed));
        self.go_on(sink);
        if whole.is_some() || self.seen.is_label(event.output_index) {
            let whole = whole.as_deref();
            let arguments = whole.map_or(ArgumentsPart::None, ArgumentsPart::Restated);
            speak_arguments(&self.seen, event, kind, arguments, sink);
            self.stage = Stage::Running;
        }
    }

    fn speak_text(
        &mut self,
        event: &Event<'_>,
        kind: TextKind,
        source: Source,
        sink: &mut dyn DeltaSink,
    ) {
        self.stage = Stage::Running;
        let text = match (event.delta, source) {
            (Arguments::Text(text), Source::Piece) => Some(text),
            (_, Source::Piece) => None,
            _ => event.whole,
        };
        if let Some(text) = text.filter(|text| !text.raw.is_empty())
            && self
                .told
                .get_or_insert_default()
                .may_tell(kind, event.output_index, source)
        {
            sink.delta(&Delta::Text {
                choice: 0,
                kind,
                text: text.fragment(&mut self.scratch),
            });
        }
    }

    /// `output_item.added`: the header of a call. Its first pieces may have come before it (R14).
    fn speak_added(&mut self, event: &Event<'_>, sink: &mut dyn DeltaSink) {
        let item = event.item.as_deref();
        let call = item.and_then(|item| Some((item, CallItem::new(item, event.output_index)?)));
        let repeated = call.as_ref();
        let repeated = repeated.and_then(|(_, call)| self.seen.announced(&call.identity()));
        self.begin_item(event.output_index, repeated.is_some(), sink);
        let Some((item, call)) = call else {
            // A call says nothing of the texts under its index: their item may still be open (R19).
            if let Some(told) = &mut self.told {
                told.begin_item(event.output_index);
            }
            return;
        };
        let who = call.identity();
        if repeated.is_some_and(|at| self.seen.is_closed(at)) {
            return;
        }
        let (at, route) = repeated.map_or_else(|| self.seen.add(&who), |at| (at, Route::Labelled));
        self.asks |= call.is_asked();
        let key = CallKey {
            id: call.kind.announced_id(&call.call_id, &call.item_id),
            ..call.key(&self.seen, at)
        };
        let beginning = item.beginning(call.kind).filter(|_| repeated.is_none());
        let arguments = beginning.map_or(ArgumentsPart::None, |text| {
            ArgumentsPart::Fragment(text.fragment(&mut self.scratch))
        });
        let unfinished = Unfinished::new(&call).filter(|_| repeated.is_none());
        let held = unfinished.as_ref().map_or(0, |unfinished| unfinished.bytes);
        call.speak_announced(key, route, arguments, held, sink);
        if let Some(unfinished) = unfinished {
            let opened = self.opened.get_or_insert_default();
            opened.unfinished.0.insert(at, unfinished);
        }
    }

    /// A part of a call's arguments that no delta carries.
    fn speak_part(&mut self, event: &Event<'_>, text: Option<Text<'_>>, sink: &mut dyn DeltaSink) {
        let item_id = event.item_id().map(Text::to_cow).unwrap_or_default();
        let at = self.seen.spoken_of(event.output_index, &item_id);
        let (Some(at), Some(opened)) = (at, &mut self.opened) else {
            return;
        };
        let Some(held) = opened.unfinished.0.get_mut(&at) else {
            return;
        };
        held.take(
            event.part.unwrap_or(0),
            text.map(|text| text.to_cow().into_owned()),
        );
        let mut call = CallDelta::new();
        (call.key.index, call.key.item_id) = self.seen.address(at);
        call.route = Route::Labelled;
        call.held_bytes = held.bytes;
        sink.delta(&Delta::Call(call));
    }

    /// No finished item comes any more: what was held is said, or that nothing came.
    fn speak_unfinished(&mut self, ended_well: bool, sink: &mut dyn DeltaSink) {
        let Some(opened) = &mut self.opened else {
            return;
        };
        for (at, unfinished) in std::mem::take(&mut opened.unfinished).0 {
            let so_far = unfinished.so_far(ended_well);
            let mut call = CallDelta::new().id(&*unfinished.id);
            (call.key.index, call.key.item_id) = self.seen.address(at);
            call.route = Route::Labelled;
            call.cut = so_far.is_none();
            // It is told now, and held no more; 0 would say nothing of that.
            call.held_bytes = 1;
            if let Some(so_far) = &so_far {
                call.arguments = ArgumentsPart::Initial(&so_far.text);
                call.closes_text = so_far.closed;
            }
            sink.delta(&Delta::Call(call));
        }
    }

    /// `output_item.done`: the whole item, which closes its call.
    fn speak_finished(&mut self, event: &Event<'_>, sink: &mut dyn DeltaSink) {
        self.stage = Stage::Running;
        let Some(item) = event.item.as_deref() else {
            return;
        };
        let Some(call) = CallItem::new(item, event.output_index) else {
            return self.speak_texts(item, event.output_index, sink);
        };
        self.go_on(sink);
        let known = self.seen.restated(&call.identity());
        // A call that was cut stays open until the terminal says what cut it.
        let is_cut = item.status.is_some_and(|status| status.raw == "incomplete");
        if let Some(at) = self.speak_call(&call, known, sink).filter(|_| !is_cut) {
            self.close(&call, at, sink);
        }
    }

    /// Speaks a finished call, unless it was closed before. It is not closed here: a terminal's reason comes in between.
    fn speak_call(
        &mut self,
        call: &CallItem<'_, '_>,
        known: Option<usize>,
        sink: &mut dyn DeltaSink,
    ) -> Option<usize> {
        let (at, route) = match known {
            Some(at) if self.seen.is_closed(at) => return None,
            Some(at) => {
                self.seen.learn(at, &call.identity());
                (at, Route::Labelled)
            }
            None => self.seen.add(&call.identity()),
        };
        self.asks |= call.is_asked();
        if let Some(opened) = &mut self.opened {
            opened.unfinished.0.remove(&at);
        }
        call.speak_whole(call.key(&self.seen, at), route, sink);
        Some(at)
    }

    fn close(&mut self, call: &CallItem<'_, '_>, at: usize, sink: &mut dyn DeltaSink) {
        sink.delta(&Delta::Close {
            key: call.key(&self.seen, at),
            by: ClosedBy::Restated,
        });
        self.seen.close(at);
    }

    /// The texts of a finished message or reasoning item, as far as they were not told piece by piece.
    fn speak_texts(&mut self, item: &Item<'_>, index: Option<i64>, sink: &mut dyn DeltaSink) {
        let texts = item.texts();
        for kind in TEXT_KINDS {
            let mut of_kind = texts
                .iter()
                .filter(|(found, text)| *found == kind && !text.raw.is_empty())
                .peekable();
            if of_kind.peek().is_some()
                && self
                    .told
                    .get_or_insert_default()
                    .may_tell(kind, index, Source::Item)
            {
                for (_, text) in of_kind {
                    sink.delta(&Delta::Text {
                        choice: 0,
                        kind,
                        text: text.fragment(&mut self.scratch),
                    });
                }
            }
        }
    }

    fn fail(&mut self, document: &str, sink: &mut dyn DeltaSink) {
        self.speak_unfinished(false, sink);
        report_error(document, None, sink);
    }

    /// A response begins. One that began already is over or abandoned, unless it is this one.
    fn begin(&mut self, response: Option<Box<Response<'_>>>, sink: &mut dyn DeltaSink) {
        let id = response.and_then(|response| Some(response.id?.to_cow().into_owned()));
        let same = id.is_some() && self.opened.as_ref().is_some_and(|opened| opened.id == id);
        let repeated = same && self.stage == Stage::Running;
        if self.stage != Stage::Fresh && !repeated {
            self.restart(sink);
        }
        let opened = self.opened.get_or_insert_default();
        opened.id = id;
        opened.reopened.open(repeated);
    }

    /// Labels and ids of what came so far mean nothing any more.
    fn restart(&mut self, sink: &mut dyn DeltaSink) {
        sink.delta(&Delta::Restart);
        *self = OpenAiResponses {
            // Counted on: what was remembered of the response before is not of this one.
            epoch: self.epoch,
            scratch: std::mem::take(&mut self.scratch),
            ..OpenAiResponses::default()
        };
    }

    /// An item begins. In a response that was created again an index that is used again, of another item, tells that all begins
    /// again.
    fn begin_item(&mut self, index: Option<i64>, known: bool, sink: &mut dyn DeltaSink) {
        let opened = self.opened.get_or_insert_default();
        if !known && opened.reopened.begins_again(index) {
            let id = opened.id.take();
            self.restart(sink);
            self.opened.get_or_insert_default().id = id;
        }
        let opened = self.opened.get_or_insert_default();
        opened.reopened.begin(index, sink);
        self.stage = Stage::Running;
    }

    /// The response that was created again goes on.
    fn go_on(&mut self, sink: &mut dyn DeltaSink) {
        if let Some(opened) = &mut self.opened {
            opened.reopened.go_on(sink);
        }
    }

    fn end(
        &mut self,
        terminal: &str,
        response: Option<Box<Response<'_>>>,
        sink: &mut dyn DeltaSink,
    ) {
        if std::mem::replace(&mut self.stage, Stage::Ended) == Stage::Ended {
            return;
        }
        self.go_on(sink);
        let response = response.unwrap_or_default();
        // The response's own status outranks an event that only says that all is well.
        let status = response.status.map(Text::to_cow);
        let outcome = match (
            terminal.strip_prefix("response.").unwrap_or(terminal),
            status.as_deref(),
        ) {
            ("completed", Some(status @ ("incomplete" | "failed" | "cancelled"))) => status,
            (terminal, _) => terminal,
        };
        let failed = matches!(outcome, "failed" | "cancelled");
        // The places of a snapshot need not be those of the events, so a kind of text is told from there only if none of it was.
        let told = self.told.as_ref();
        let told = told.map(|told| told.kinds()).unwrap_or_default();
        for (item, at) in response.output.iter().zip(0..) {
            if item.texts().iter().all(|(kind, _)| !told.contains(kind)) {
                self.speak_texts(item, Some(at), sink);
            }
        }
        let calls: Vec<_> = response
            .output
            .iter()
            .zip(0..)
            .filter_map(|(item, at)| CallItem::new(item, Some(at)))
            .collect();
        let identities: Vec<_> = calls.iter().map(CallItem::identity).collect();
        let mut open: SmallVec<[_; 4]> = SmallVec::new();
        for (call, known) in calls.iter().zip(self.seen.repeated(&identities)) {
            open.extend(self.speak_call(call, known, sink).map(|at| (call, at)));
        }
        self.speak_unfinished(outcome == "completed", sink);
        if !failed {
            self.speak_reason(outcome, response.reason, sink);
        }
        for (call, at) in open {
            // What a failed response did not complete stays open, and the error flags it.
            if !failed
                || call
                    .item
                    .status
                    .is_some_and(|status| status.raw == "completed")
            {
                self.close(call, at, sink);
            }
        }
        if let Some(usage) = response.usage {
            sink.delta(&Delta::Usage(usage));
        }
        match response.error {
            _ if !failed => sink.delta(&Delta::End),
            Some(error) => report_error(error, None, sink),
            None => {
                let message = format!("the response was {outcome} without a reason");
                sink.delta(&Delta::Error {
                    last: true,
                    message: &message,
                    code: Some(outcome),
                });
            }
        }
    }

    /// `completed` says nothing of calls, and every other reason but a filter's means that the answer was cut.
    fn speak_reason(&self, outcome: &str, reason: Option<Text<'_>>, sink: &mut dyn DeltaSink) {
        let reason = reason.map(Text::to_cow).filter(|_| outcome == "incomplete");
        let reason = reason.as_deref().unwrap_or(outcome);
        let meaning = match outcome {
            "incomplete" if reason == "content_filter" => FinishMeaning::Filtered,
            "incomplete" => FinishMeaning::Length,
            _ if self.asks => FinishMeaning::ToolCalls,
            _ => FinishMeaning::Stop,
        };
        report_finish(0, reason, meaning, sink);
    }
}
