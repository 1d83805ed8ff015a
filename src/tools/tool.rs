//! One tool: its name, what its arguments must be, what runs it.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use super::output::IntoAnswer;
use crate::arguments::{Arguments, ArgumentsError};
use crate::call::{ToolCall, ToolName};
use crate::history::Answer;
use crate::json::Given;

/// A handler's running answer.
pub(super) type Running = Pin<Box<dyn Future<Output = Answer> + Send + 'static>>;

/// What is wrong with arguments, in words for the model.
pub(super) type Problems = Vec<String>;

type Object = Map<String, Value>;
type Check = dyn Fn(&Object) -> Result<Object, Problems> + Send + Sync;
type Fits = dyn Fn(&Arguments, Option<&Object>) -> Result<(), ArgumentsError> + Send + Sync;
type Now = dyn Fn(Input<'_>) -> Answer + Send + Sync;
type Later = dyn Fn(Input<'_>) -> Running + Send + Sync;

/// What a handler is given: the call, and the object that a check made of its arguments.
#[derive(Clone, Copy)]
pub(super) struct Input<'a> {
    pub(super) call: &'a ToolCall,
    pub(super) checked: Option<&'a Object>,
}

#[derive(Clone)]
pub(super) enum Handler {
    Now(Arc<Now>),
    Later(Arc<Later>),
}

/// A tool known at run time: a name, and as much as is known of its arguments and of who runs it. Cheap to clone.
///
/// # Examples
///
/// ```
/// use callstitch::{Tool, ToolName};
/// use serde::Deserialize;
///
/// #[derive(Deserialize)]
/// struct Tide { port: String }
///
/// let tide = Tool::function(ToolName::new("get_tide")?, |tide: Tide| format!("3.1 m at {}", tide.port));
/// let later = Tool::function_async(ToolName::new("book")?, |tide: Tide| async move { Ok::<_, String>(tide.port) });
/// let ours_to_run = Tool::declared(ToolName::new("ask_user")?);
/// # let _ = (tide, later, ours_to_run);
/// let patch = Tool::free_form(ToolName::new("apply_patch")?, |patch: &str| format!("{} bytes", patch.len()));
/// assert!(patch.is_free_form() && patch.has_handler());
/// let later = Tool::free_form_async(ToolName::new("run_sql")?, |sql: String| async move { sql });
/// assert_eq!(later.namespace("harbour").effective_namespace(), Some("harbour"));
/// let hidden = Tool::declared(ToolName::new("get_moon")?).deferred();
/// assert_eq!((hidden.name().as_str(), hidden.effective_namespace()), ("get_moon", Some("get_moon")));
/// # Ok::<(), callstitch::EmptyToolName>(())
/// ```
#[derive(Clone)]
pub struct Tool {
    name: ToolName,
    namespace: Option<String>,
    deferred: bool,
    free_form: bool,
    #[cfg(feature = "schema")]
    schema: Option<Arc<jsonschema::Validator>>,
    check: Option<Arc<Check>>,
    fits: Option<Arc<Fits>>,
    pub(super) handler: Option<Handler>,
}

impl Tool {
    /// A tool that something else runs: calls of it resolve, and are not executed here.
    #[must_use]
    pub fn declared(name: ToolName) -> Self {
        Tool {
            name,
            namespace: None,
            deferred: false,
            free_form: false,
            #[cfg(feature = "schema")]
            schema: None,
            check: None,
            fits: None,
            handler: None,
        }
    }

    /// A tool with a handler that answers at once. The arguments are read as its parameter's type; `Map<String, Value>` takes
    /// them as they are. Arguments that do not fit the type are [invalid](super::ResolutionState::Invalid). Cost of a call:
    /// they are read twice, to judge it and to run it.
    #[must_use]
    pub fn function<T, R>(name: ToolName, run: impl Fn(T) -> R + Send + Sync + 'static) -> Self
    where
        T: DeserializeOwned + 'static,
        R: IntoAnswer,
    {
        let now = move |input: Input<'_>| match input.read::<T>() {
            Ok(arguments) => run(arguments).into_answer(),
            Err(error) => Answer::Error(error.to_string()),
        };
        Tool::declared(name).reading::<T>(Handler::Now(Arc::new(now)))
    }

    /// As [`function`](Tool::function), with an async handler. Its future must own what it needs.
    #[must_use]
    pub fn function_async<T, R, F>(
        name: ToolName,
        run: impl Fn(T) -> F + Send + Sync + 'static,
    ) -> Self
    where
        T: DeserializeOwned + 'static,
        R: IntoAnswer,
        F: Future<Output = R> + Send + 'static,
    {
        let later = move |input: Input<'_>| -> Running {
            match input.read::<T>() {
                Ok(arguments) => {
                    let answer = run(arguments);
                    Box::pin(async move { answer.await.into_answer() })
                }
                Err(error) => Box::pin(std::future::ready(Answer::Error(error.to_string()))),
            }
        };
        Tool::declared(name).reading::<T>(Handler::Later(Arc::new(later)))
    }

    /// A custom tool, whose input is plain text.
    #[must_use]
    pub fn free_form<R: IntoAnswer>(
        name: ToolName,
        run: impl Fn(&str) -> R + Send + Sync + 'static,
    ) -> Self {
        let now = move |input: Input<'_>| run(input.call.arguments().raw()).into_answer();
        Tool {
            free_form: true,
            handler: Some(Handler::Now(Arc::new(now))),
            ..Tool::declared(name)
        }
    }

    /// As [`free_form`](Tool::free_form), with an async handler. Cost of a call: a copy of the text.
    #[must_use]
    pub fn free_form_async<R, F>(
        name: ToolName,
        run: impl Fn(String) -> F + Send + Sync + 'static,
    ) -> Self
    where
        R: IntoAnswer,
        F: Future<Output = R> + Send + 'static,
    {
        let later = move |input: Input<'_>| -> Running {
            let answer = run(input.call.arguments().raw().to_owned());
            Box::pin(async move { answer.await.into_answer() })
        };
        Tool {
            free_form: true,
            handler: Some(Handler::Later(Arc::new(later))),
            ..Tool::declared(name)
        }
    }

    /// The same tool in this namespace. A call that names a namespace resolves only to a tool of the same. Empty text is none, as
    /// in a call.
    #[must_use]
    pub fn namespace(mut self, namespace: impl Into<String>) -> Self {
        self.namespace = Some(namespace.into()).filter(|namespace| !namespace.is_empty());
        self
    }

    /// The same tool, loaded only when the model looks for it: without a namespace of its own, its name is its namespace
    /// (OpenAI's deferred functions).
    #[must_use]
    pub fn deferred(mut self) -> Self {
        self.deferred = true;
        self
    }

    /// The same tool, whose arguments this check accepts, perhaps changed (defaults filled in, numbers read from text), or refuses
    /// with words for the model.
    ///
    /// # Examples
    ///
    /// ```
    /// use callstitch::{Tool, ToolName};
    /// use serde_json::json;
    ///
    /// let tool = Tool::declared(ToolName::new("get_tide")?).check(|arguments| {
    ///     let mut arguments = arguments.clone();
    ///     arguments.entry("days").or_insert(json!(1));
    ///     Ok(arguments)
    /// });
    /// # let _ = tool;
    /// # Ok::<(), callstitch::EmptyToolName>(())
    /// ```
    #[must_use]
    pub fn check(
        mut self,
        check: impl Fn(&Map<String, Value>) -> Result<Map<String, Value>, Vec<String>>
        + Send
        + Sync
        + 'static,
    ) -> Self {
        self.check = Some(Arc::new(check));
        self
    }

    /// The same tool, whose arguments this JSON Schema describes. References to other documents are not followed. Cost: it is
    /// compiled once, here.
    ///
    /// # Errors
    ///
    /// [`SchemaError`](super::SchemaError) where the value is no schema.
    ///
    /// # Examples
    ///
    /// ```
    /// use callstitch::{Tool, ToolCall, ToolName, ToolSet};
    /// use serde_json::json;
    ///
    /// let name = ToolName::new("get_tide").unwrap();
    /// let schema = json!({"type": "object", "properties": {"days": {"type": "integer"}}, "required": ["port"]});
    /// let tools = ToolSet::from_iter([Tool::declared(name.clone()).schema(&schema)?]);
    /// let call = ToolCall::new(name, r#"{"days":"two"}"#);
    /// let refusal = tools.resolve(&call).into_refusal().unwrap();
    /// assert_eq!(refusal.problems().len(), 2);
    /// # Ok::<(), callstitch::SchemaError>(())
    /// ```
    #[cfg(feature = "schema")]
    #[cfg_attr(docsrs, doc(cfg(feature = "schema")))]
    pub fn schema(mut self, schema: &Value) -> Result<Self, super::SchemaError> {
        self.schema = Some(Arc::new(super::schema::compile(schema)?));
        Ok(self)
    }

    /// The tool's name.
    #[must_use]
    pub fn name(&self) -> &ToolName {
        &self.name
    }

    /// The tool's namespace; a deferred tool without one has its name.
    #[must_use]
    pub fn effective_namespace(&self) -> Option<&str> {
        let own = self.namespace.as_deref();
        own.or_else(|| self.deferred.then(|| self.name.as_str()))
    }

    /// Whether the tool takes plain text.
    #[must_use]
    pub fn is_free_form(&self) -> bool {
        self.free_form
    }

    /// Whether the tool can be executed here.
    #[must_use]
    pub fn has_handler(&self) -> bool {
        self.handler.is_some()
    }

    fn reading<T: DeserializeOwned>(mut self, handler: Handler) -> Self {
        self.fits = Some(Arc::new(
            |arguments: &Arguments, checked: Option<&Object>| {
                read::<T>(arguments, checked).map(drop)
            },
        ));
        self.handler = Some(handler);
        self
    }

    /// What the tool's schema says against the arguments; nothing where it has none.
    pub(super) fn against_schema(&self, arguments: &Arguments) -> Problems {
        #[cfg(feature = "schema")]
        if let (Some(schema), Ok(object)) = (&self.schema, arguments.object()) {
            return super::schema::problems(schema, object);
        }
        let _ = arguments;
        Vec::new()
    }

    /// What the tool's check makes of the arguments; `None` where it has none.
    pub(super) fn checked(&self, arguments: &Arguments) -> Result<Option<Object>, Problems> {
        let Some(check) = &self.check else {
            return Ok(None);
        };
        let object = arguments.object().ok();
        object.map(|object| check(object)).transpose()
    }

    /// Whether the handler can read the arguments.
    pub(super) fn fits(
        &self,
        arguments: &Arguments,
        checked: Option<&Object>,
    ) -> Result<(), ArgumentsError> {
        let fits = self.fits.as_ref();
        fits.map_or(Ok(()), |fits| fits(arguments, checked))
    }
}

impl Input<'_> {
    fn read<T: DeserializeOwned>(&self) -> Result<T, ArgumentsError> {
        read(self.call.arguments(), self.checked)
    }
}

/// The arguments as a type: as a check left them, else from the text, which has every digit.
fn read<T: DeserializeOwned>(
    arguments: &Arguments,
    checked: Option<&Object>,
) -> Result<T, ArgumentsError> {
    match checked {
        Some(object) => T::deserialize(Given(object)).map_err(ArgumentsError::mismatch),
        None => arguments.deserialize(),
    }
}

impl fmt::Debug for Tool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tool")
            .field("name", &self.name)
            .field("namespace", &self.effective_namespace())
            .field("free_form", &self.free_form)
            .field("has_handler", &self.has_handler())
            .finish_non_exhaustive()
    }
}
