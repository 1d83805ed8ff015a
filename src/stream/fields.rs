//! One field of one call as a stream.

use std::marker::PhantomData;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use futures::Stream;
use futures::stream::FusedStream;
use pin_project_lite::pin_project;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::{BoxError, EventStream};
use crate::arguments::{ArgumentsError, FieldKind, PathSegment};
use crate::call::{CallIndex, ToolCall};
use crate::error::{Error, ErrorKind};
use crate::event::Event;
use crate::fields::{CallSelector, FieldFilter, FieldPart};

impl<S> EventStream<S> {
    /// The same stream, with the events of [fields](Event::Field) among the others. A [`FieldFilter`] follows one of them.
    ///
    /// # Examples
    ///
    /// ```
    /// use callstitch::{ByteStreamExt, Event, WireFormat};
    /// use futures::StreamExt;
    ///
    /// # futures::executor::block_on(async {
    /// # let body = futures::stream::iter(br#"data: {"choices":[{"delta":{"tool_calls":[{"index":0,"id":"call_1","function":{"name":"write_note","arguments":"{\"tags\":[\"tide\"],\"text\":\"Low tide\"}"}}]}}]}
    /// #
    /// # data: [DONE]
    /// #
    /// # "#.chunks(50).map(Ok::<_, std::io::Error>));
    /// let mut events = body.tool_events(WireFormat::OpenAiChat).field_events();
    /// let mut fields = 0;
    /// while let Some(event) = events.next().await {
    ///     fields += usize::from(matches!(event?, Event::Field { .. }));
    /// }
    /// assert!(fields > 0);
    /// # Ok::<(), callstitch::Error>(())
    /// # }).unwrap();
    /// ```
    pub fn field_events(mut self) -> Self {
        self.parser.field_events();
        self
    }

    /// The text of one string field as it arrives, of the first call that is selected: see [`FieldText`].
    ///
    /// # Examples
    ///
    /// ```
    /// use callstitch::{ByteStreamExt, WireFormat};
    /// use futures::TryStreamExt;
    ///
    /// # futures::executor::block_on(async {
    /// # let body = futures::stream::iter(br#"data: {"choices":[{"delta":{"tool_calls":[{"index":0,"id":"call_1","function":{"name":"write_note","arguments":"{\"tags\":[\"tide\"],\"text\":\"Low tide\"}"}}]}}]}
    /// #
    /// # data: [DONE]
    /// #
    /// # "#.chunks(50).map(Ok::<_, std::io::Error>));
    /// let text: String = body.tool_events(WireFormat::OpenAiChat).field_text("write_note", ["text"]).try_collect().await?;
    /// assert_eq!(text, "Low tide");
    /// # Ok::<(), callstitch::Error>(())
    /// # }).unwrap();
    /// ```
    pub fn field_text<'p, P: Into<PathSegment<'p>>>(
        self,
        calls: impl Into<CallSelector>,
        path: impl IntoIterator<Item = P>,
    ) -> FieldText<S> {
        FieldText {
            field: OneField::new(self, FieldFilter::new(calls, path)),
        }
    }

    /// The elements of one array as they finish, of the first call that is selected: see [`FieldItems`].
    ///
    /// # Examples
    ///
    /// ```
    /// use callstitch::{ByteStreamExt, WireFormat};
    /// use futures::TryStreamExt;
    ///
    /// # futures::executor::block_on(async {
    /// # let body = futures::stream::iter(br#"data: {"choices":[{"delta":{"tool_calls":[{"index":0,"id":"call_1","function":{"name":"write_note","arguments":"{\"tags\":[\"tide\"],\"text\":\"Low tide\"}"}}]}}]}
    /// #
    /// # data: [DONE]
    /// #
    /// # "#.chunks(50).map(Ok::<_, std::io::Error>));
    /// let tags = body.tool_events(WireFormat::OpenAiChat).field_items("write_note", ["tags"]);
    /// assert_eq!(tags.try_collect::<Vec<String>>().await?, ["tide"]);
    /// # Ok::<(), callstitch::Error>(())
    /// # }).unwrap();
    /// ```
    pub fn field_items<'p, T, P: Into<PathSegment<'p>>>(
        self,
        calls: impl Into<CallSelector>,
        path: impl IntoIterator<Item = P>,
    ) -> FieldItems<S, T> {
        FieldItems {
            field: OneField::new(self, FieldFilter::new(calls, path)),
            item: PhantomData,
        }
    }
}

pin_project! {
    /// The text of one string field, decoded, piece by piece.
    ///
    /// It ends with the call, not with the field: if it ends without an error, the pieces joined are the field of a call that
    /// may be run. Where the call was cut or cannot be run, or the field was said again or is no string, the last item is an
    /// [error](ErrorKind::Field). No pieces and no error: the call has no such field, or it is empty;
    /// [`call`](FieldText::call) tells, and is `None` if no such call came.
    ///
    /// Events that are not of this field pass unseen. To have them too, use [`FieldFilter`]s on an [`EventStream`].
    ///
    /// # Examples
    ///
    /// ```
    /// use callstitch::{ByteStreamExt, WireFormat};
    /// use futures::StreamExt;
    ///
    /// # futures::executor::block_on(async {
    /// # let body = futures::stream::iter(br#"data: {"choices":[{"delta":{"tool_calls":[{"index":0,"id":"call_1","function":{"name":"write_file","arguments":"{\"path\":\"tide.txt\",\"content\":\"06:12 lo"}}]}}]}
    /// #
    /// # data: {"choices":[{"delta":{"tool_calls":[{"index":0,"function":{"arguments":"w\\n\"}"}}]}}]}
    /// #
    /// # data: [DONE]
    /// #
    /// # "#.chunks(50).map(Ok::<_, std::io::Error>));
    /// let mut content = body.tool_events(WireFormat::OpenAiChat).field_text("write_file", ["content"]);
    /// let mut shown = Vec::new();
    /// while let Some(piece) = content.next().await {
    ///     shown.push(piece?);
    /// }
    /// assert_eq!(shown, ["06:12 lo", "w\n"]);
    /// assert_eq!(content.call().unwrap().arguments().object().unwrap()["path"], "tide.txt");
    /// let rest = content.into_events();
    /// # drop(rest);
    /// # Ok::<(), callstitch::Error>(())
    /// # }).unwrap();
    /// ```
    #[derive(Debug)]
    #[must_use = "streams do nothing unless polled"]
    pub struct FieldText<S> {
        #[pin]
        field: OneField<S>,
    }
}

pin_project! {
    /// The elements of one array, each when it is complete.
    ///
    /// It ends with the call, as [`FieldText`] does: without an error only if the call may be run, and the items are then
    /// all elements. An element that does not fit `T` is an [error](ErrorKind::Field), which ends the stream;
    /// [`serde_json::Value`] fits any.
    ///
    /// # Examples
    ///
    /// ```
    /// use callstitch::{ByteStreamExt, WireFormat};
    /// use futures::TryStreamExt;
    ///
    /// #[derive(serde::Deserialize, PartialEq, Debug)]
    /// struct Tide { at: String, metres: f64 }
    ///
    /// # futures::executor::block_on(async {
    /// # let body = futures::stream::iter(br#"data: {"choices":[{"delta":{"tool_calls":[{"index":0,"id":"call_1","function":{"name":"chart","arguments":"{\"tides\":[{\"at\":\"06:12\",\"met"}}]}}]}
    /// #
    /// # data: {"choices":[{"delta":{"tool_calls":[{"index":0,"function":{"arguments":"res\":0.4}]}"}}]}}]}
    /// #
    /// # data: [DONE]
    /// #
    /// # "#.chunks(50).map(Ok::<_, std::io::Error>));
    /// let mut tides = body.tool_events(WireFormat::OpenAiChat).field_items("chart", ["tides"]);
    /// while let Some(tide) = tides.try_next().await? {
    ///     let tide: Tide = tide;
    ///     assert_eq!(tide, Tide { at: "06:12".into(), metres: 0.4 });
    /// }
    /// assert!(tides.call().unwrap().is_usable());
    /// let rest = tides.into_events();
    /// # drop(rest);
    /// # Ok::<(), callstitch::Error>(())
    /// # }).unwrap();
    /// ```
    #[derive(Debug)]
    #[must_use = "streams do nothing unless polled"]
    pub struct FieldItems<S, T> {
        #[pin]
        field: OneField<S>,
        item: PhantomData<fn() -> T>,
    }
}

impl<S> FieldText<S> {
    /// The call, once it has ended.
    pub fn call(&self) -> Option<&ToolCall> {
        self.field.call.as_ref()
    }

    /// The events that follow, and the next calls.
    pub fn into_events(self) -> EventStream<S> {
        self.field.events
    }
}

impl<S, T> FieldItems<S, T> {
    /// The call, once it has ended.
    pub fn call(&self) -> Option<&ToolCall> {
        self.field.call.as_ref()
    }

    /// The events that follow, and the next calls.
    pub fn into_events(self) -> EventStream<S> {
        self.field.events
    }
}

impl<S, B, E> Stream for FieldText<S>
where
    S: Stream<Item = Result<B, E>>,
    B: AsRef<[u8]>,
    E: Into<BoxError>,
{
    type Item = Result<String, Error>;

    fn poll_next(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.project().field.poll_said(cx, |said| match said {
            Said::Text(text) => Ok(Some(text)),
            Said::Completed(Some(FieldKind::String)) => Ok(None),
            _ => Err(Fault::new("the field is no string")),
        })
    }
}

impl<S, B, E, T> Stream for FieldItems<S, T>
where
    S: Stream<Item = Result<B, E>>,
    B: AsRef<[u8]>,
    E: Into<BoxError>,
    T: DeserializeOwned,
{
    type Item = Result<T, Error>;

    fn poll_next(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.project().field.poll_said(cx, |said| match said {
            Said::Element(value) => match serde_json::from_value(value) {
                Ok(item) => Ok(Some(item)),
                Err(source) => Err(Fault {
                    message: "an element does not fit its type".to_owned(),
                    // serde's own words quote the element.
                    source: Some(ArgumentsError::mismatch(source)),
                }),
            },
            Said::Completed(Some(FieldKind::Array)) => Ok(None),
            _ => Err(Fault::new("the field is no array")),
        })
    }
}

impl<S, B, E> FusedStream for FieldText<S>
where
    S: Stream<Item = Result<B, E>>,
    B: AsRef<[u8]>,
    E: Into<BoxError>,
{
    fn is_terminated(&self) -> bool {
        self.field.ended
    }
}

impl<S, B, E, T> FusedStream for FieldItems<S, T>
where
    S: Stream<Item = Result<B, E>>,
    B: AsRef<[u8]>,
    E: Into<BoxError>,
    T: DeserializeOwned,
{
    fn is_terminated(&self) -> bool {
        self.field.ended
    }
}

pin_project! {
    /// The field of the first call that is selected and counts.
    #[derive(Debug)]
    struct OneField<S> {
        #[pin]
        events: EventStream<S>,
        filter: FieldFilter,
        // The call, once it began.
        of: Option<CallIndex>,
        // An item was handed out.
        given: bool,
        call: Option<ToolCall>,
        ended: bool,
    }
}

/// What the field says, free of the event that said it.
enum Said {
    Text(String),
    Element(Value),
    Completed(Option<FieldKind>),
    /// What was handed out, if anything was, does not stand.
    Void(&'static str),
    Ended(ToolCall),
    Failed(Error),
}

struct Fault {
    message: String,
    source: Option<ArgumentsError>,
}

impl Fault {
    fn new(message: impl Into<String>) -> Self {
        Fault {
            message: message.into(),
            source: None,
        }
    }

    fn at(self, offset: u64) -> Error {
        let error = Error::new(ErrorKind::Field, offset, self.message);
        match self.source {
            Some(source) => error.with_source(source),
            None => error,
        }
    }
}

impl<S> OneField<S> {
    fn new(events: EventStream<S>, filter: FieldFilter) -> Self {
        OneField {
            events: events.field_events(),
            filter,
            of: None,
            given: false,
            call: None,
            ended: false,
        }
    }
}

impl<S, B, E> OneField<S>
where
    S: Stream<Item = Result<B, E>>,
    B: AsRef<[u8]>,
    E: Into<BoxError>,
{
    /// Polls for the next item that `keep` makes of what the field says. An error is the last.
    fn poll_said<T>(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        mut keep: impl FnMut(Said) -> Result<Option<T>, Fault>,
    ) -> Poll<Option<Result<T, Error>>> {
        let mut this = self.project();
        while !*this.ended {
            let said = ready!(this.events.as_mut().poll_pick(cx, |event| match event {
                Ok(event) => say(event, this.filter, this.of),
                Err(error) => Some(Said::Failed(error)),
            }));
            let kept = match said {
                None => break,
                Some(Said::Failed(error)) => {
                    *this.ended = true;
                    return Poll::Ready(Some(Err(error)));
                }
                Some(Said::Ended(call)) => {
                    let state = this.call.insert(call).state();
                    if state.is_usable() {
                        break;
                    }
                    Err(Fault::new(format!("the call ended {state}")))
                }
                Some(Said::Void(_)) if !*this.given => Ok(None),
                Some(Said::Void(why)) => Err(Fault::new(why)),
                Some(said) => keep(said),
            };
            match kept {
                Ok(None) => {}
                Ok(Some(item)) => {
                    *this.given = true;
                    return Poll::Ready(Some(Ok(item)));
                }
                Err(fault) => {
                    *this.ended = true;
                    let offset = this.events.parser.offset();
                    return Poll::Ready(Some(Err(fault.at(offset))));
                }
            }
        }
        *this.ended = true;
        Poll::Ready(None)
    }
}

fn say(event: Event<'_>, filter: &mut FieldFilter, of: &mut Option<CallIndex>) -> Option<Said> {
    let (index, part) = filter.take(&event)?;
    if *of.get_or_insert(index) != index {
        return None;
    }
    let said = match part {
        FieldPart::Started => return None,
        FieldPart::Text(text) => Said::Text(text.to_owned()),
        FieldPart::Element(_, value) => Said::Element(value),
        FieldPart::Completed(value) => Said::Completed(value.kind()),
        FieldPart::Replaced => Said::Void("the field was said again"),
        FieldPart::Discarded => {
            *of = None;
            Said::Void("the call was begun again")
        }
        FieldPart::Ended(_) => return event.into_call().map(Said::Ended),
    };
    Some(said)
}
