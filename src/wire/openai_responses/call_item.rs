//! A call item, and what it says of its call.

use std::borrow::Cow;

use super::items::{Item, ItemType};
use super::seen::{Identity, Seen};
use crate::delta::{ArgumentsPart, CallDelta, CallKey, Delta, DeltaSink, Executor, Route};
use crate::json::cursor::Text;

/// One call item with its texts decoded.
pub(super) struct CallItem<'a, 'i> {
    pub(super) item: &'i Item<'a>,
    pub(super) kind: &'static ItemType,
    pub(super) index: Option<i64>,
    pub(super) call_id: Cow<'a, str>,
    pub(super) item_id: Cow<'a, str>,
    pub(super) name: Cow<'a, str>,
}

impl<'a, 'i> CallItem<'a, 'i> {
    /// `None` for an item that is no call.
    pub(super) fn new(item: &'i Item<'a>, index: Option<i64>) -> Option<Self> {
        let kind = item.call()?;
        let text = |text: Option<Text<'a>>| text.map(Text::to_cow).unwrap_or_default();
        Some(CallItem {
            item,
            kind,
            index,
            call_id: text(item.call_id),
            item_id: text(item.id),
            name: item.name(kind),
        })
    }

    /// Whether the caller may have to answer it.
    pub(super) fn is_asked(&self) -> bool {
        self.item.executor(self.kind) != Executor::Provider
    }

    pub(super) fn identity(&self) -> Identity<'_> {
        Identity {
            index: self.index,
            call_id: &self.call_id,
            item_id: &self.item_id,
            name: &self.name,
        }
    }

    /// The id that the call is answered by. A finished item without a call id is known by its own id, as MCP calls are
    /// everywhere.
    pub(super) fn answered_by(&self) -> Option<&str> {
        let ids = [&*self.call_id, &*self.item_id];
        ids.into_iter().find(|id| !id.is_empty())
    }

    /// The key of a call that was noted at this place.
    pub(super) fn key<'k>(&'k self, seen: &'k Seen, at: usize) -> CallKey<'k> {
        let (index, item_id) = seen.address(at);
        CallKey {
            index,
            id: self.answered_by(),
            item_id,
            position: (0, 1),
            ..CallKey::default()
        }
    }

    /// Speaks what the announcement says of the call, of which so many bytes are held here.
    pub(super) fn speak_announced(
        &self,
        key: CallKey<'_>,
        route: Route,
        arguments: ArgumentsPart<'_>,
        held_bytes: usize,
        sink: &mut dyn DeltaSink,
    ) {
        let said = CallDelta {
            arguments,
            held_bytes,
            ..CallDelta::new()
        };
        self.speak(key, route, said, sink);
    }

    /// Speaks all that the item says of the call beside this.
    fn speak(&self, key: CallKey<'_>, route: Route, said: CallDelta<'_>, sink: &mut dyn DeltaSink) {
        let (server, status) = (
            self.item.server_label.map(Text::to_cow),
            self.item.status.map(Text::to_cow),
        );
        let mut call = said.name(&*self.name);
        call.key = key;
        call.route = route;
        call.kind = Some(&self.kind.kind);
        call.executor = Some(self.item.executor(self.kind));
        call.server_name = server.as_deref();
        call.status = status.as_deref();
        call.cut = status.as_deref() == Some("incomplete");
        call.extras = &self.item.extras;
        sink.delta(&Delta::Call(call));
    }

    /// Speaks the finished call without closing it.
    pub(super) fn speak_whole(&self, key: CallKey<'_>, route: Route, sink: &mut dyn DeltaSink) {
        let arguments = self.item.arguments(self.kind);
        let arguments = arguments
            .as_deref()
            .map_or(ArgumentsPart::None, ArgumentsPart::Restated);
        let said = CallDelta {
            arguments,
            authoritative: true,
            ..CallDelta::new()
        };
        self.speak(key, route, said, sink);
    }
}
