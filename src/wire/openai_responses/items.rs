//! The items of a response: which of them are calls, who runs them, and where their arguments stand (WIRE_FORMATS 2.3).

use std::borrow::Cow;

use smallvec::SmallVec;

use crate::delta::{Executor, TextKind, ToolKind};
use crate::json::cursor::{Cursor, Fault, Text};

/// What is known of one item type that is a call.
#[derive(Debug)]
pub(super) struct ItemType {
    /// The item's `type`.
    wire: &'static str,
    /// Function, custom, or the type as a built-in.
    pub(super) kind: ToolKind,
    runs: Runs,
    /// The tool's name where the item has none: the type without `_call`, by which a request offers the tool.
    name: &'static str,
    /// The members that may hold the arguments, the best first.
    arguments: &'static [&'static str],
}

#[derive(Debug)]
enum Runs {
    Client,
    Provider,
    /// By the member `execution`; without it by the call id, which the provider's own variant lacks.
    ByExecution,
    /// The provider runs it in a container, the client anywhere else.
    ByEnvironment,
    /// xAI reports its own searches as custom tool calls, told only by the prefix of their call ids.
    ByCallId,
}

const fn built_in(
    wire: &'static str,
    runs: Runs,
    name: &'static str,
    arguments: &'static [&'static str],
) -> ItemType {
    ItemType {
        wire,
        kind: ToolKind::BuiltIn(Cow::Borrowed(wire)),
        runs,
        name,
        arguments,
    }
}

/// Every other type is no call: messages, reasoning, outputs, `mcp_list_tools`, `compaction`, and what is not known.
static CALLS: [ItemType; 14] = [
    ItemType {
        wire: "function_call",
        kind: ToolKind::Function,
        runs: Runs::Client,
        name: "",
        arguments: &["arguments"],
    },
    ItemType {
        wire: "custom_tool_call",
        kind: ToolKind::Custom,
        runs: Runs::ByCallId,
        name: "",
        arguments: &["input"],
    },
    built_in("mcp_call", Runs::Provider, "", &["arguments"]),
    built_in("mcp_approval_request", Runs::Client, "", &["arguments"]),
    built_in(
        "tool_search_call",
        Runs::ByExecution,
        "tool_search",
        &["arguments"],
    ),
    built_in(
        "web_search_call",
        Runs::Provider,
        "web_search",
        &["action", "arguments"],
    ),
    built_in(
        "file_search_call",
        Runs::Provider,
        "file_search",
        &["queries"],
    ),
    built_in(
        "code_interpreter_call",
        Runs::Provider,
        "code_interpreter",
        &["code"],
    ),
    built_in(
        "image_generation_call",
        Runs::Provider,
        "image_generation",
        &[],
    ),
    built_in(
        "computer_call",
        Runs::Client,
        "computer",
        &["action", "actions"],
    ),
    built_in("local_shell_call", Runs::Client, "local_shell", &["action"]),
    built_in("shell_call", Runs::ByEnvironment, "shell", &["action"]),
    built_in(
        "apply_patch_call",
        Runs::Client,
        "apply_patch",
        &["operation"],
    ),
    built_in("program", Runs::Provider, "program", &["code"]),
];

impl ItemType {
    /// The member of the arguments that an announcement has empty: it comes in parts, or with the finished item.
    pub(super) fn grows(&self) -> &'static str {
        match self.wire {
            "code_interpreter_call" => "code",
            "local_shell_call" => "command",
            "shell_call" => "commands",
            "apply_patch_call" => "diff",
            _ => "",
        }
    }

    /// Whether the arguments are an object in the item, and not a text that pieces spell out.
    pub(super) fn states_an_object(&self) -> bool {
        match self.arguments {
            [] | ["input"] => false,
            ["arguments"] => matches!(self.runs, Runs::ByExecution),
            _ => true,
        }
    }

    /// The id that a call of this type is known by before it is finished. The call id of a client's tool search changes until
    /// then; types that are never answered by a call id are known by the item's own.
    pub(super) fn announced_id<'i>(&self, call_id: &'i str, item_id: &'i str) -> Option<&'i str> {
        let id = match self.runs {
            Runs::ByExecution => "",
            Runs::Provider => item_id,
            Runs::Client if self.wire == "mcp_approval_request" => item_id,
            Runs::Client | Runs::ByEnvironment | Runs::ByCallId => call_id,
        };
        Some(id).filter(|id| !id.is_empty())
    }
}

/// The members named in [`CALLS`], of which an item holds one or two.
const ARGUMENTS: [&str; 7] = [
    "arguments",
    "input",
    "action",
    "actions",
    "operation",
    "queries",
    "code",
];

/// Members that must go back verbatim with the call.
const EXTRAS: [&str; 6] = [
    "namespace",
    "caller",
    "pending_safety_checks",
    "environment",
    "container_id",
    "fingerprint",
];

/// One item, read and not yet spoken.
#[derive(Default)]
pub(super) struct Item<'a> {
    kind: Option<Text<'a>>,
    pub(super) id: Option<Text<'a>>,
    pub(super) call_id: Option<Text<'a>>,
    name: Option<Text<'a>>,
    pub(super) server_label: Option<Text<'a>>,
    pub(super) status: Option<Text<'a>>,
    execution: Option<Text<'a>>,
    in_container: bool,
    arguments: SmallVec<[(&'static str, &'a str); 2]>,
    pub(super) extras: SmallVec<[(&'static str, &'a str); 2]>,
    /// The parts of a message, or the raw text of reasoning.
    content: Option<&'a str>,
    /// The parts of a reasoning summary.
    summary: Option<&'a str>,
    /// The opaque text of a reasoning item.
    encrypted: Option<Text<'a>>,
}

impl<'a> Item<'a> {
    /// Reads an item; `null` where the value is no object.
    pub(super) fn read(cursor: &mut Cursor<'a>) -> Result<Item<'a>, Fault> {
        let mut item = Item::default();
        cursor.members(|cursor, key| {
            match key {
                b"type" => item.kind = cursor.text()?,
                b"id" => item.id = cursor.label()?,
                b"call_id" => item.call_id = cursor.label()?,
                b"name" => item.name = cursor.label()?,
                b"server_label" => item.server_label = cursor.label()?,
                b"status" => item.status = cursor.label()?,
                b"execution" => item.execution = cursor.text()?,
                b"content" => item.content = Some(cursor.raw()?),
                b"summary" => item.summary = Some(cursor.raw()?),
                b"encrypted_content" => {
                    item.encrypted = cursor.text()?.filter(|text| !text.raw.is_empty())
                }
                _ => {
                    let value = Some(cursor.raw()?).filter(|&value| value != "null");
                    let (Some(value), name) = (value, |known: &&&str| known.as_bytes() == key)
                    else {
                        return Ok(());
                    };
                    item.arguments
                        .extend(ARGUMENTS.iter().find(name).map(|&name| (name, value)));
                    item.extras
                        .extend(EXTRAS.iter().find(name).map(|&name| (name, value)));
                    item.in_container |= key == b"environment" && is_container(value);
                }
            }
            Ok(())
        })?;
        Ok(item)
    }

    /// What call this item is, if it is one.
    pub(super) fn call(&self) -> Option<&'static ItemType> {
        let kind = self.kind.map_or(Cow::Borrowed(""), Text::to_cow);
        let has = |member: &str| self.arguments.iter().any(|(name, _)| *name == member);
        let kind = match &*kind {
            // Where the type is missing a name tells a call, and its member which (Q72).
            "" if self.name.is_some() && has("input") && !has("arguments") => "custom_tool_call",
            "" if self.name.is_some() => "function_call",
            kind => kind,
        };
        CALLS.iter().find(|known| known.wire == kind)
    }

    /// Who runs it.
    pub(super) fn executor(&self, kind: &ItemType) -> Executor {
        let client = match kind.runs {
            Runs::Client => true,
            Runs::Provider => false,
            Runs::ByExecution => match self.execution {
                Some(execution) => execution.raw != "server",
                None => self.call_id.is_some(),
            },
            Runs::ByEnvironment => !self.in_container,
            Runs::ByCallId
                if self
                    .call_id
                    .is_some_and(|id| id.raw.starts_with("xs_call_")) =>
            {
                return Executor::Unknown;
            }
            Runs::ByCallId => true,
        };
        if client {
            Executor::Client
        } else {
            Executor::Provider
        }
    }

    /// The tool's name; empty where neither the item nor its type has one.
    pub(super) fn name(&self, kind: &ItemType) -> Cow<'a, str> {
        self.name.map_or(Cow::Borrowed(kind.name), Text::to_cow)
    }

    /// The member that holds the arguments: its name and JSON text.
    fn member(&self, kind: &ItemType) -> Option<(&'static str, &'a str)> {
        let member = |name: &&'static str| self.arguments.iter().find(|(found, _)| found == name);
        kind.arguments.iter().find_map(member).copied()
    }

    /// The argument text that a finished item states: what the model wrote as text, an object member as it is, and a member
    /// that is neither as the one member of an object (`{"code":"…"}`).
    pub(super) fn arguments(&self, kind: &ItemType) -> Option<Cow<'a, str>> {
        let (name, value) = self.member(kind)?;
        let is_text = matches!(name, "arguments" | "input");
        Some(match Cursor::new(value).text() {
            Ok(Some(text)) if is_text => text.to_cow(),
            Ok(None) if is_text || value.starts_with('{') => Cow::Borrowed(value),
            _ => Cow::Owned(format!("{{\"{name}\":{value}}}")),
        })
    }

    /// The texts of a message or a reasoning item.
    pub(super) fn texts(&self) -> SmallVec<[(TextKind, Text<'a>); 2]> {
        let mut texts = SmallVec::new();
        let kind = match self.kind.map(Text::to_cow).as_deref() {
            Some("message") => TextKind::Answer,
            Some("reasoning") => TextKind::Reasoning,
            _ => return texts,
        };
        for parts in [self.summary, self.content].into_iter().flatten() {
            let _ = Cursor::new(parts).elements(|cursor| {
                cursor
                    .members(|cursor, key| {
                        match key {
                            b"text" => texts.extend(cursor.text()?.map(|text| (kind, text))),
                            b"refusal" => {
                                texts.extend(cursor.text()?.map(|text| (TextKind::Refusal, text)))
                            }
                            _ => cursor.skip()?,
                        }
                        Ok(())
                    })
                    .map(drop)
            });
        }
        texts.extend(self.encrypted.map(|text| (TextKind::Signature, text)));
        texts
    }

    /// The text with which an announced item begins (R10). Only a text that deltas continue can be a beginning: an action
    /// or operation in an announcement may be a husk, and the whole one comes with the finished item (else see `Unfinished`).
    pub(super) fn beginning(&self, kind: &ItemType) -> Option<Text<'a>> {
        let (["arguments"] | ["input"]) = kind.arguments else {
            return None;
        };
        let (_, value) = self.member(kind)?;
        Cursor::new(value)
            .text()
            .ok()
            .flatten()
            .filter(|text| !text.raw.is_empty())
    }
}

/// Who runs the call that an item's text states; `None` where it is no call. A history asks too.
pub(crate) fn executor_of(item: &str) -> Option<Executor> {
    let item = Item::read(&mut Cursor::new(item)).ok()?;
    let kind = item.call()?;
    Some(item.executor(kind))
}

/// `{"type":"container_auto"}`, `{"type":"container_reference",…}`; the other one is `local`.
fn is_container(environment: &str) -> bool {
    let mut found = false;
    let _ = Cursor::new(environment).members(|cursor, key| {
        match key {
            b"type" => {
                found = cursor
                    .text()?
                    .is_some_and(|kind| kind.raw.starts_with("container"))
            }
            _ => cursor.skip()?,
        }
        Ok(())
    });
    found
}
