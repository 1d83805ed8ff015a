//! JSON Schemas of tools.

use std::fmt;

use jsonschema::Validator;
use serde_json::{Map, Value};

use super::feedback::PROBLEMS;

/// A value is no JSON Schema, or refers to another document.
///
/// # Examples
///
/// ```
/// use callstitch::{Tool, ToolName};
/// use serde_json::json;
///
/// let error = Tool::declared(ToolName::new("get_tide")?).schema(&json!({"type": 7})).unwrap_err();
/// assert!(error.to_string().starts_with("no usable JSON Schema"));
/// # Ok::<(), callstitch::EmptyToolName>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SchemaError(String);

/// Compiles a schema. Nothing is fetched: the crate is built without its resolvers.
pub(super) fn compile(schema: &Value) -> Result<Validator, SchemaError> {
    jsonschema::validator_for(schema).map_err(|error| SchemaError(error.to_string()))
}

/// What is wrong, by place, without the values themselves. One more than is told, so that the rest can be counted as such.
pub(super) fn problems(schema: &Validator, object: &Map<String, Value>) -> Vec<String> {
    let object = Value::Object(object.clone());
    let errors = schema.iter_errors(&object).take(PROBLEMS + 1);
    errors
        .map(|error| {
            let place = error.instance_path().to_string();
            let place = if place.is_empty() {
                String::new()
            } else {
                format!("{place}: ")
            };
            format!("{place}{}", error.masked())
        })
        .collect()
}

impl fmt::Display for SchemaError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "no usable JSON Schema: {}", self.0)
    }
}

impl std::error::Error for SchemaError {}
