//! Running calls while the stream goes on: `Poll` and who is next, no decision about a call.

use std::borrow::Borrow;
use std::collections::VecDeque;
use std::fmt;
use std::future::Future;
use std::num::NonZeroUsize;
use std::pin::Pin;
use std::task::{Context, Poll};

use futures::Stream;
use futures::stream::{FusedStream, FuturesUnordered};
use pin_project_lite::pin_project;

use super::feedback::{Refusal, RefusalKind};
use super::tool::Running;
use super::{Begun, Outcome, ToolSet};
use crate::call::ToolCall;
use crate::error::Error;

pin_project! {
    /// The outcomes of a stream's calls, as they finish; made by [`RunCalls::run`].
    ///
    /// Fused. Cancel-safe: a `next()` that is dropped while it waits loses nothing. Dropping the stream drops what runs.
    ///
    /// # Examples
    ///
    /// ```
    /// use callstitch::tools::RunCalls;
    /// use callstitch::{ByteStreamExt, ToolSet, WireFormat};
    ///
    /// let body = futures::stream::empty::<Result<&[u8], std::io::Error>>();
    /// let tools = ToolSet::new();
    /// let outcomes = body.tool_calls(WireFormat::OpenAiChat).run(&tools, 4);
    /// assert_eq!(outcomes.running(), 0);
    /// ```
    #[must_use = "streams do nothing unless polled"]
    pub struct RunningCalls<S, T> {
        #[pin]
        calls: S,
        tools: T,
        most: usize,
        // Calls that came while as many ran as may. At most as many as the stream's own limit on calls.
        waiting: VecDeque<ToolCall>,
        running: FuturesUnordered<One>,
        ready: VecDeque<Outcome>,
        source: Source,
    }
}

/// ```text
///   Open ── a call ──▶ Open
///    │ └─── None ────▶ Ended
///    └───── error ───▶ Failed ── all that ran is said ──▶ Ended
/// ```
#[derive(Debug)]
enum Source {
    Open,
    Failed(Error),
    Ended,
}

/// Runs the calls of a stream while it goes on; [`run`](RunCalls::run) has an example.
pub trait RunCalls: Stream<Item = Result<ToolCall, Error>> + Sized {
    /// Starts each valid call as it completes, at most `concurrency` at once, and yields the outcomes as they finish: answers, and
    /// refusals with their feedback, each with the [result](Outcome::result) that the [`history`](crate::history) room sends,
    /// where one is due. What its provider runs is not run here. The stream of calls is read on while tools run.
    ///
    /// Where the stream ends in an error, nothing more is started: what runs is waited for, what waited comes out as
    /// [`RefusalKind::NotStarted`], and the error is the last item. So the items before it are all that ran.
    ///
    /// A handler that is not async runs inside the poll. A `concurrency` of 0 counts as 1.
    ///
    /// # Examples
    ///
    /// ```
    /// use callstitch::tools::RunCalls;
    /// use callstitch::{ByteStreamExt, Tool, ToolName, ToolSet, WireFormat};
    /// use futures::StreamExt;
    /// use serde_json::{Map, Value};
    ///
    /// # futures::executor::block_on(async {
    /// # let body = futures::stream::iter([Ok::<_, std::io::Error>(&br#"data: {"choices":[{"delta":{"tool_calls":[{"index":0,"id":"call_1","function":{"name":"get_now","arguments":"{}"}}]}}]}
    /// #
    /// # data: [DONE]
    /// #
    /// # "#[..])]);
    /// let now = Tool::function_async(ToolName::new("get_now")?, |_: Map<String, Value>| async { "10:04" });
    /// let tools = ToolSet::new().with(now);
    /// let mut outcomes = body.tool_calls(WireFormat::OpenAiChat).run(&tools, 4);
    /// while let Some(outcome) = outcomes.next().await {
    ///     let outcome = outcome?;
    ///     assert_eq!(outcome.result().unwrap().answer.to_text(), "10:04");
    /// }
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// # }).unwrap();
    /// ```
    fn run<T: Borrow<ToolSet>>(self, tools: T, concurrency: usize) -> RunningCalls<Self, T> {
        RunningCalls {
            calls: self,
            tools,
            most: NonZeroUsize::new(concurrency).map_or(1, NonZeroUsize::get),
            waiting: VecDeque::new(),
            running: FuturesUnordered::new(),
            ready: VecDeque::new(),
            source: Source::Open,
        }
    }
}

impl<S: Stream<Item = Result<ToolCall, Error>>> RunCalls for S {}

/// One running call.
struct One {
    call: Option<ToolCall>,
    running: Running,
}

impl Future for One {
    type Output = Option<Outcome>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let answer = std::task::ready!(self.running.as_mut().poll(cx));
        Poll::Ready(self.call.take().map(|call| Outcome::ran(call, answer)))
    }
}

impl<S, T> RunningCalls<S, T> {
    /// How many calls run now.
    #[must_use]
    pub fn running(&self) -> usize {
        self.running.len()
    }
}

impl<S, T> Stream for RunningCalls<S, T>
where
    S: Stream<Item = Result<ToolCall, Error>>,
    T: Borrow<ToolSet>,
{
    type Item = Result<Outcome, Error>;

    fn poll_next(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let mut this = self.project();
        loop {
            if let Some(outcome) = this.ready.pop_front() {
                return Poll::Ready(Some(Ok(outcome)));
            }
            if this.running.len() < *this.most
                && let Some(call) = this.waiting.pop_front()
            {
                let tools = Borrow::<ToolSet>::borrow(this.tools);
                let begun = Begun::of(&tools.resolve(&call));
                match begun {
                    Begun::Done(outcome) => this.ready.push_back(*outcome),
                    Begun::Running(running) => {
                        let call = Some(call);
                        this.running.push(One { call, running });
                    }
                }
                continue;
            }
            // The stream before the tools: one that always has an answer ready must not keep calls from being read.
            if matches!(this.source, Source::Open) {
                match this.calls.as_mut().poll_next(cx) {
                    Poll::Ready(Some(Ok(call))) => {
                        this.waiting.push_back(call);
                        continue;
                    }
                    Poll::Ready(Some(Err(error))) => {
                        *this.source = Source::Failed(error);
                        let tools = Borrow::<ToolSet>::borrow(this.tools);
                        this.ready.extend(this.waiting.drain(..).map(|call| {
                            // What would have been refused anyway is, for its own reason: a call that its provider runs
                            // wants no answer.
                            let refusal = tools.resolve(&call).into_refusal();
                            let not_started = || Refusal::new(RefusalKind::NotStarted, &call);
                            let refusal = refusal.unwrap_or_else(not_started);
                            Outcome::refused(call, refusal)
                        }));
                        continue;
                    }
                    Poll::Ready(None) => *this.source = Source::Ended,
                    Poll::Pending => {}
                }
            }
            match Pin::new(&mut *this.running).poll_next(cx) {
                Poll::Ready(Some(outcome)) => {
                    this.ready.extend(outcome);
                    continue;
                }
                Poll::Pending => return Poll::Pending,
                Poll::Ready(None) => {}
            }
            return match std::mem::replace(this.source, Source::Ended) {
                Source::Open => {
                    *this.source = Source::Open;
                    Poll::Pending
                }
                Source::Failed(error) => Poll::Ready(Some(Err(error))),
                Source::Ended => Poll::Ready(None),
            };
        }
    }
}

impl<S, T> FusedStream for RunningCalls<S, T>
where
    S: Stream<Item = Result<ToolCall, Error>>,
    T: Borrow<ToolSet>,
{
    fn is_terminated(&self) -> bool {
        matches!(self.source, Source::Ended)
            && self.running.is_empty()
            && self.waiting.is_empty()
            && self.ready.is_empty()
    }
}

impl<S, T> fmt::Debug for RunningCalls<S, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RunningCalls")
            .field("running", &self.running.len())
            .field("waiting", &self.waiting.len())
            .field("source", &self.source)
            .finish_non_exhaustive()
    }
}
