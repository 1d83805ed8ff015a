//! Calls grown by hand, from deltas that no accumulator routes.

use std::fmt;

use serde_json::{Map, Value};

use super::{Closing, PartialCall};
use crate::anomaly::AnomalyKind;
use crate::arguments::{Blank, RepairLevel, Settling};
use crate::call::builder::{BuildError, Faults, Field, FieldProblem};
use crate::call::settle::differs;
use crate::call::{CallIndex, Evidence, ToolCall};
use crate::config::IdSource;
use crate::delta::{ArgumentsPart, CallDelta, ClosedBy, Fragment, ToolKind};
use crate::json;

/// What the caller gave to a growing call.
#[derive(Debug, Clone, Default)]
pub(super) struct Given {
    pub(super) made_id: Option<String>,
    pub(super) display_text: Option<String>,
    pub(super) metadata: Map<String, Value>,
}

/// Two parts that are not of one call.
///
/// # Examples
///
/// ```
/// use callstitch::{CallDelta, MergeError, PartialCall};
///
/// let mut call = PartialCall::from_delta(&CallDelta::new().choice(0));
/// let error = call.merge(&CallDelta::new().choice(1)).unwrap_err();
/// assert_eq!(error, MergeError::ChoiceMismatch { held: 0, got: 1 });
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum MergeError {
    /// Their indexes differ.
    IndexMismatch {
        /// The index of the call.
        held: i64,
        /// The index of the part.
        got: i64,
    },
    /// They belong to different completions.
    ChoiceMismatch {
        /// The choice of the call.
        held: u32,
        /// The choice of the part.
        got: u32,
    },
}

impl PartialCall {
    /// A call of which this is the first part. For calls made by hand; a stream's are made by an
    /// [`Accumulator`](crate::Accumulator), which also decides whose each delta is and keeps the limits. There are none here.
    /// Never fails. Cost: a copy of the part.
    ///
    /// # Examples
    ///
    /// ```
    /// use callstitch::{CallDelta, MergeError, PartialCall};
    ///
    /// let mut call = PartialCall::from_delta(&CallDelta::new().index(0).id("call_1").name("get_tide"));
    /// call.merge(&CallDelta::new().index(0).arguments("{\"port\":"))?;
    /// call.merge(&CallDelta::new().index(0).arguments("\"Oban\"}"))?;
    /// let other = call.merge(&CallDelta::new().index(1));
    /// assert_eq!(other, Err(MergeError::IndexMismatch { held: 0, got: 1 }));
    /// assert_eq!(call.complete().unwrap().arguments().object().unwrap()["port"], "Oban");
    /// # Ok::<(), callstitch::MergeError>(())
    /// ```
    #[must_use]
    pub fn from_delta(part: &CallDelta<'_>) -> Self {
        let mut call = PartialCall::new(CallIndex(0), part.key.choice);
        call.fold(part);
        call
    }

    /// Folds a part into this call; one that says nothing of a field leaves it as it is. Returns the liberty that the part took,
    /// if any. Cost: O(part).
    ///
    /// A [`Fragment`](ArgumentsPart::Fragment) is appended byte for byte, also where it equals the piece before. So is a
    /// [`Whole`](ArgumentsPart::Whole) value: it counts alone where a whole value came before it, or only its own beginning, and
    /// is one more piece after any other text. A [`Restated`](ArgumentsPart::Restated) text that says something else than the
    /// pieces is [told](AnomalyKind::RestatedDiffers), and counts in their place when the call is
    /// [completed](PartialCall::complete); until then [`raw`](PartialCall::raw) shows the pieces. Pieces after a whole value or a
    /// restated text are ignored.
    ///
    /// # Errors
    ///
    /// [`MergeError`] where the part says that it is another call's; nothing is changed then.
    ///
    /// # Examples
    ///
    /// ```
    /// use callstitch::{CallDelta, PartialCall};
    ///
    /// let mut call = PartialCall::from_delta(&CallDelta::new().index(0).name("get_tide"));
    /// call.merge(&CallDelta::new().arguments("{\"port\":"))?;
    /// call.merge(&CallDelta::new().arguments("\"Oban\"}"))?;
    /// assert_eq!(call.raw(), "{\"port\":\"Oban\"}");
    /// assert!(call.merge(&CallDelta::new().index(1)).is_err());
    /// # Ok::<(), callstitch::MergeError>(())
    /// ```
    pub fn merge(&mut self, part: &CallDelta<'_>) -> Result<Option<AnomalyKind>, MergeError> {
        self.same_call(part.key.choice, part.key.index)?;
        Ok(self.fold(part))
    }

    /// Folds a part into a call that may not exist yet. Cost: O(part).
    ///
    /// # Errors
    ///
    /// As [`merge`](PartialCall::merge).
    ///
    /// # Examples
    ///
    /// ```
    /// use callstitch::{CallDelta, PartialCall};
    ///
    /// let mut held = None;
    /// for text in ["{\"port\":", "\"Oban\"}"] {
    ///     held = Some(PartialCall::merge_into(held, &CallDelta::new().index(0).arguments(text))?);
    /// }
    /// assert_eq!(held.unwrap().raw(), "{\"port\":\"Oban\"}");
    /// # Ok::<(), callstitch::MergeError>(())
    /// ```
    pub fn merge_into(held: Option<Self>, part: &CallDelta<'_>) -> Result<Self, MergeError> {
        match held {
            None => Ok(PartialCall::from_delta(part)),
            Some(mut call) => {
                call.merge(part)?;
                Ok(call)
            }
        }
    }

    /// Folds another growing call, of which this one holds the beginning, into this one. Display text of the part wins where
    /// it has one; metadata is merged key by key. Cost: a copy of the part, O(n).
    ///
    /// # Errors
    ///
    /// As [`merge`](PartialCall::merge).
    ///
    /// # Examples
    ///
    /// ```
    /// use callstitch::{CallDelta, PartialCall};
    ///
    /// let mut call = PartialCall::from_delta(&CallDelta::new().index(0).name("get_tide").arguments("{\"port\":"));
    /// let rest = PartialCall::from_delta(&CallDelta::new().index(0).arguments("\"Oban\"}"));
    /// call.merge_call(&rest)?;
    /// assert_eq!(call.raw(), "{\"port\":\"Oban\"}");
    /// # Ok::<(), callstitch::MergeError>(())
    /// ```
    pub fn merge_call(&mut self, part: &PartialCall) -> Result<Option<AnomalyKind>, MergeError> {
        self.same_call(part.choice, part.wire_index)?;
        let mut delta = CallDelta::new().index(part.wire_index);
        delta.key.choice = self.choice;
        delta.key.id = part.id.as_deref();
        delta.key.item_id = part.item_id.as_deref();
        delta.name = part.name();
        delta.kind = Some(&part.kind).filter(|kind| **kind != ToolKind::Function);
        delta.executor = part.executor;
        delta.server_name = part.server_name.as_deref();
        delta.status = part.status.as_deref();
        delta.cut = part.cut;
        let extras = part.extras.iter();
        let extras: Vec<_> = extras
            .map(|(name, raw)| (name.as_str(), raw.as_str()))
            .collect();
        delta.extras = &extras;
        let mut anomaly = self.fold(&delta);
        let restated = part.restated.text(&part.text);
        // A text that is all the call's is no piece of it.
        let pieces = Some(part.text.as_str()).filter(|pieces| restated != Some(pieces));
        let pieces = pieces.map(|pieces| Fragment::new(pieces).with_halves(None, part.high));
        let texts = [
            part.initial.as_deref().map(ArgumentsPart::Initial),
            pieces.map(ArgumentsPart::Fragment),
            restated.map(ArgumentsPart::Restated),
        ];
        for text in texts.into_iter().flatten() {
            anomaly = anomaly.or(self.fold_arguments(text));
        }
        if let Some(given) = part.given.as_deref() {
            let held = self.given();
            held.metadata.extend(given.metadata.clone());
            if given.display_text.is_some() {
                held.display_text.clone_from(&given.display_text);
            }
        }
        Ok(anomaly)
    }

    /// The call, where it has all that it needs: an id, a name, and arguments that are an object, or nothing, which is `{}`.
    /// Saying it again gives an equal call; after an error the growing call is as it was. Cost: a copy, which is settled, O(n).
    ///
    /// # Errors
    ///
    /// Every field that is wrong, at once. For a call without an id see [`ensure_id`](PartialCall::ensure_id); for one that
    /// will not be completed, [`abandon`](PartialCall::abandon).
    ///
    /// # Examples
    ///
    /// ```
    /// use callstitch::{CallDelta, Field, FieldProblem, PartialCall};
    ///
    /// let mut call = PartialCall::from_delta(&CallDelta::new().name("get_tide").arguments("{}"));
    /// let error = call.complete().unwrap_err();
    /// assert_eq!(error.of(Field::Id), Some(FieldProblem::Missing));
    /// call.merge(&CallDelta::new().id("call_1"))?;
    /// assert!(call.complete().unwrap().is_usable());
    /// # Ok::<(), callstitch::MergeError>(())
    /// ```
    pub fn complete(&self) -> Result<ToolCall, BuildError> {
        let mut faults = Faults::default();
        if self.public_id().is_none() {
            faults.add(Field::Id, FieldProblem::Missing);
        }
        if self.name.is_empty() {
            faults.add(Field::Name, FieldProblem::Missing);
        }
        let call = self.ended(Settling::default(), false);
        faults.arguments(call.arguments());
        faults.or(|| call)
    }

    /// The call as far as it came, for one that will not be completed: usable only where its text is a whole object that is not
    /// empty. Never fails; an id that is missing is made. Cost: a copy, which is settled, O(n).
    ///
    /// # Examples
    ///
    /// ```
    /// use callstitch::{CallDelta, PartialCall};
    ///
    /// let cut = PartialCall::from_delta(&CallDelta::new().name("get_tide").arguments("{\"port\":\"Ob"));
    /// let call = cut.abandon();
    /// assert!(!call.is_usable());
    /// assert_eq!(call.arguments().recovered().unwrap()["port"], "Ob");
    /// ```
    #[must_use]
    pub fn abandon(mut self) -> ToolCall {
        self.ensure_id(crate::config::default_ids());
        let settling = Settling {
            repair: RepairLevel::None,
            blank: Blank::Cut,
            ..Settling::default()
        };
        self.ended(settling, true)
    }

    /// The id of the call; where it has none, one is made, once, and the finished call says so.
    ///
    /// # Examples
    ///
    /// ```
    /// use callstitch::{CallDelta, IdSource, PartialCall};
    ///
    /// #[derive(Debug)]
    /// struct Ours;
    ///
    /// impl IdSource for Ours {
    ///     fn next_id(&self) -> String {
    ///         "call_ours".to_owned()
    ///     }
    /// }
    ///
    /// let mut call = PartialCall::from_delta(&CallDelta::new().name("get_now"));
    /// assert_eq!(call.ensure_id(&Ours), "call_ours");
    /// assert!(call.complete().unwrap().is_synthetic_id());
    /// ```
    pub fn ensure_id(&mut self, ids: &dyn IdSource) -> &str {
        if self.id.is_none() && self.public_id().is_none() {
            self.given().made_id = Some(ids.next_id());
        }
        self.public_id().unwrap_or_default()
    }

    /// A text for people.
    ///
    /// # Examples
    ///
    /// ```
    /// use callstitch::{CallDelta, PartialCall};
    ///
    /// let mut call = PartialCall::from_delta(&CallDelta::new().name("get_tide"));
    /// call.set_display_text("Looking up the tide");
    /// assert_eq!(call.display_text(), Some("Looking up the tide"));
    /// ```
    #[must_use]
    pub fn display_text(&self) -> Option<&str> {
        self.given.as_ref()?.display_text.as_deref()
    }

    /// Sets the text for people.
    ///
    /// # Examples
    ///
    /// ```
    /// use callstitch::{CallDelta, PartialCall};
    ///
    /// let mut call = PartialCall::from_delta(&CallDelta::new().name("get_tide").id("call_1"));
    /// call.set_display_text("Looking up the tide");
    /// assert_eq!(call.complete().unwrap().display_text(), Some("Looking up the tide"));
    /// ```
    pub fn set_display_text(&mut self, text: impl Into<String>) {
        self.given().display_text = Some(text.into());
    }

    /// The caller's notes. Free: borrowed.
    ///
    /// # Examples
    ///
    /// ```
    /// use callstitch::{CallDelta, PartialCall};
    ///
    /// let mut call = PartialCall::from_delta(&CallDelta::new().name("get_tide"));
    /// assert!(call.metadata().is_empty());
    /// call.metadata_mut().insert("turn".to_owned(), 3.into());
    /// assert_eq!(call.metadata()["turn"], 3);
    /// ```
    #[must_use]
    pub fn metadata(&self) -> &Map<String, Value> {
        match &self.given {
            Some(given) => &given.metadata,
            None => json::empty(),
        }
    }

    /// The caller's notes, to be changed. They go over into the finished call.
    ///
    /// # Examples
    ///
    /// ```
    /// use callstitch::{CallDelta, PartialCall};
    ///
    /// let mut call = PartialCall::from_delta(&CallDelta::new().name("get_tide").id("call_1"));
    /// call.metadata_mut().insert("turn".to_owned(), 3.into());
    /// assert_eq!(call.complete().unwrap().metadata()["turn"], 3);
    /// ```
    pub fn metadata_mut(&mut self) -> &mut Map<String, Value> {
        &mut self.given().metadata
    }

    fn given(&mut self) -> &mut Given {
        self.given.get_or_insert_default()
    }

    fn public_id(&self) -> Option<&str> {
        let made = || self.given.as_ref()?.made_id.as_deref();
        self.id.as_deref().or_else(made)
    }

    fn same_call(&self, choice: u32, index: Option<i64>) -> Result<(), MergeError> {
        if choice != self.choice {
            let held = self.choice;
            return Err(MergeError::ChoiceMismatch { held, got: choice });
        }
        match (self.wire_index, index) {
            (Some(held), Some(got)) if held != got => Err(MergeError::IndexMismatch { held, got }),
            _ => Ok(()),
        }
    }

    fn fold(&mut self, part: &CallDelta<'_>) -> Option<AnomalyKind> {
        if self.wire_index.is_none() && part.key.index.is_some() {
            self.wire_index = part.key.index;
            self.index = CallIndex(
                part.key
                    .index
                    .and_then(|at| at.try_into().ok())
                    .unwrap_or(0),
            );
        }
        let own = |text: &str| Some(text.to_owned()).filter(|text| !text.is_empty());
        if self.id.is_none() || part.authoritative {
            self.id = part.key.id.and_then(own).or(self.id.take());
        }
        self.item_id = part.key.item_id.and_then(own).or(self.item_id.take());
        self.describe(part);
        let name = part.name.filter(|name| !name.is_empty());
        let anomaly = name.and_then(|name| self.take_name(name));
        anomaly.or(self.fold_arguments(part.arguments))
    }

    fn fold_arguments(&mut self, part: ArgumentsPart<'_>) -> Option<AnomalyKind> {
        let stands = self.restated.is_some() || (self.last_is_whole && self.is_whole());
        match part {
            ArgumentsPart::Fragment(fragment) if stands => {
                let says = !fragment.text.is_empty() || fragment.high.is_some();
                says.then_some(AnomalyKind::LateFragment)
            }
            ArgumentsPart::Restated(text) => {
                let differs = differs(text, &self.text, &self.scan());
                self.take_arguments(part, false);
                differs.then_some(AnomalyKind::RestatedDiffers)
            }
            part => self.take_arguments(part, false),
        }
    }

    fn ended(&self, mut settling: Settling, unconfirmed: bool) -> ToolCall {
        if self.cut {
            settling.blank = Blank::Cut;
        }
        let closing = Closing {
            settling,
            unconfirmed,
            open: false,
            cut: self.cut,
            evidence: Evidence {
                closed_by: ClosedBy::ByHand,
                ..Evidence::by_hand()
            },
            id: (
                self.public_id().unwrap_or_default().to_owned(),
                self.id.is_none(),
            ),
        };
        let text_only = PartialCall {
            reader: None,
            ..self.clone()
        };
        text_only.end(closing).call
    }
}

impl PartialCall {
    /// Whether [`complete`](PartialCall::complete) would give a call. Costs what that does, O(n): not for every delta.
    ///
    /// # Examples
    ///
    /// ```
    /// use callstitch::{CallDelta, PartialCall};
    ///
    /// let mut call = PartialCall::from_delta(&CallDelta::new().name("get_now").id("call_1").arguments("{"));
    /// assert!(!call.is_complete());
    /// call.merge(&CallDelta::new().arguments("}"))?;
    /// assert!(call.is_complete());
    /// # Ok::<(), callstitch::MergeError>(())
    /// ```
    #[must_use]
    pub fn is_complete(&self) -> bool {
        self.complete().is_ok()
    }
}

impl fmt::Display for MergeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            MergeError::IndexMismatch { held, got } => {
                write!(f, "a part of call {got} is no part of call {held}")
            }
            MergeError::ChoiceMismatch { held, got } => {
                write!(f, "a part of choice {got} is no part of choice {held}")
            }
        }
    }
}

impl std::error::Error for MergeError {}
