//! What a tool's handler gives back.

use std::fmt;

use serde::Serialize;
use serde_json::{Map, Value};

use crate::history::Answer;

/// What a handler may return: text, a JSON value, nothing, or a [`Result`] of one of them whose error the model reads.
///
/// # Examples
///
/// ```
/// use callstitch::history::Answer;
/// use callstitch::tools::IntoAnswer;
///
/// assert_eq!("3.1 m".into_answer(), Answer::Text("3.1 m".to_owned()));
/// assert!(Err::<String, _>("no such port").into_answer().is_error());
/// ```
pub trait IntoAnswer {
    /// The answer. Never fails: what cannot be written is an [`Answer::Error`]. Cost: O(answer).
    fn into_answer(self) -> Answer;
}

/// Any value that serde writes, as a handler's answer.
///
/// # Examples
///
/// ```
/// use callstitch::tools::{IntoAnswer, Json};
/// use callstitch::history::Answer;
/// use serde_json::json;
///
/// #[derive(serde::Serialize)]
/// struct Tide { height: f64 }
///
/// assert_eq!(Json(Tide { height: 3.1 }).into_answer(), Answer::Json(json!({"height": 3.1})));
/// ```
#[derive(Debug, Clone, Copy)]
pub struct Json<T>(pub T);

impl<T: Serialize> IntoAnswer for Json<T> {
    fn into_answer(self) -> Answer {
        match serde_json::to_value(self.0) {
            Ok(value) => Answer::Json(value),
            Err(error) => Answer::Error(format!("the tool's answer cannot be written: {error}")),
        }
    }
}

impl IntoAnswer for Answer {
    fn into_answer(self) -> Answer {
        self
    }
}

impl IntoAnswer for Value {
    fn into_answer(self) -> Answer {
        Answer::Json(self)
    }
}

impl IntoAnswer for Map<String, Value> {
    fn into_answer(self) -> Answer {
        Answer::Json(Value::Object(self))
    }
}

impl IntoAnswer for String {
    fn into_answer(self) -> Answer {
        Answer::Text(self)
    }
}

impl IntoAnswer for &str {
    fn into_answer(self) -> Answer {
        Answer::Text(self.to_owned())
    }
}

impl IntoAnswer for () {
    fn into_answer(self) -> Answer {
        Answer::Text("done".to_owned())
    }
}

impl<T: IntoAnswer, E: fmt::Display> IntoAnswer for Result<T, E> {
    fn into_answer(self) -> Answer {
        match self {
            Ok(value) => value.into_answer(),
            Err(error) => Answer::Error(error.to_string()),
        }
    }
}
