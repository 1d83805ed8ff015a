//! Pieces of argument text, and whose they are.

use super::events::{Event, MCP_CALL};
use super::seen::Seen;
use crate::delta::{ArgumentsPart, CallDelta, Delta, DeltaSink, Executor, Route, ToolKind};
use crate::json::cursor::Text;

/// A piece of argument text, or its end, with the text restated perhaps. Where the index is the label of one known call it
/// says all: ids that rotate or are only temporary (R9) are noise then, and not handed on. Else the event may be all there is
/// of its call.
pub(super) fn speak_arguments(
    seen: &Seen,
    event: &Event<'_>,
    kind: Option<&'static ToolKind>,
    arguments: ArgumentsPart<'_>,
    sink: &mut dyn DeltaSink,
) {
    let is_label = seen.is_label(event.output_index);
    if let (true, ArgumentsPart::Fragment(text)) = (is_label, arguments) {
        return sink.delta(&Delta::Arguments {
            choice: 0,
            index: event.output_index,
            route: Route::Labelled,
            text,
        });
    }
    let mut call = CallDelta::new();
    call.route = Route::Labelled;
    call.arguments = arguments;
    let is_piece = matches!(
        arguments,
        ArgumentsPart::Fragment(_) | ArgumentsPart::Whole(_)
    );
    call.closes_text = !is_piece;
    if is_label {
        call.key.index = event.output_index;
        return sink.delta(&Delta::Call(call));
    }
    let [item_id, call_id, name] =
        [event.item_id(), event.call_id, event.name].map(|text| text.map(Text::to_cow));
    call = call.id(call_id.as_deref()).name(name.as_deref());
    call.key.index =
        seen.index_of_piece(event.output_index, item_id.as_deref().unwrap_or_default());
    call.key.item_id = item_id.as_deref();
    call.kind = kind;
    call.executor = (kind == Some(&MCP_CALL)).then_some(Executor::Provider);
    sink.delta(&Delta::Call(call));
}
