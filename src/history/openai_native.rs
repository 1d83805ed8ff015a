//! OpenAI's own tools that the client runs: each has an item type for its call and another for its result (OpenAI API reference,
//! "Create a model response", `ComputerCall`, `LocalShellCall`, `ShellCall`, `ApplyPatchCall`, `ToolSearchCall`,
//! `McpApprovalRequest`; WIRE_FORMATS 2.3).

use serde_json::{Map, Value, json};

use super::HistoryFormat;
use super::item::{Members, Node, object, text};
use super::read::{self, Read};
use super::result::{Answer, ToolResult};
use crate::arguments::{Arguments, Blank, Settling};
use crate::call::ToolCall;
use crate::delta::{Executor, ToolKind};
use crate::wire::responses_executor;

/// One tool.
struct Native {
    call: &'static str,
    /// The tool's name, by which a request offers it; the item has none.
    name: &'static str,
    /// The members that may hold the arguments, the usual one first.
    members: &'static [&'static str],
    result: &'static str,
}

const APPROVAL: &str = "mcp_approval_request";

static NATIVES: [Native; 6] = [
    Native {
        call: "computer_call",
        name: "computer",
        members: &["action", "actions"],
        result: "computer_call_output",
    },
    Native {
        call: "local_shell_call",
        name: "local_shell",
        members: &["action"],
        result: "local_shell_call_output",
    },
    Native {
        call: "shell_call",
        name: "shell",
        members: &["action"],
        result: "shell_call_output",
    },
    Native {
        call: "apply_patch_call",
        name: "apply_patch",
        members: &["operation"],
        result: "apply_patch_call_output",
    },
    Native {
        call: "tool_search_call",
        name: "tool_search",
        members: &["arguments"],
        result: "tool_search_output",
    },
    Native {
        call: APPROVAL,
        name: "",
        members: &["arguments"],
        result: "mcp_approval_response",
    },
];

fn of_kind(kind: &ToolKind) -> Option<&'static Native> {
    let ToolKind::BuiltIn(kind) = kind else {
        return None;
    };
    NATIVES.iter().find(|native| native.call == kind)
}

/// The call as its own item; `None` where it is none of these tools'.
pub(super) fn call(call: &ToolCall, id: &str, item_id: Option<&str>) -> Option<Node> {
    let native = of_kind(call.kind())?;
    let item = Members::new().with("type", native.call);
    if native.call == APPROVAL {
        let item = item
            .with("id", item_id.unwrap_or(id))
            .with("name", call.name())
            .with("server_label", call.server_name().unwrap_or_default())
            .with("arguments", text(call))
            .with_extras(call, HistoryFormat::OpenAiResponses);
        return Some(item.into());
    }
    let item = item.with("id", item_id.unwrap_or(id)).with("call_id", id);
    let (member, payload) = payload(native, call);
    let item = item.with(member, payload);
    let item = match native.call {
        "tool_search_call" => item.with("execution", "client"),
        "computer_call" => {
            let checks = call.extras().get("pending_safety_checks");
            item.with(
                "pending_safety_checks",
                checks.cloned().unwrap_or_else(|| json!([])),
            )
        }
        _ => item,
    };
    let item = item.with("status", "completed");
    Some(
        item.with_extras(call, HistoryFormat::OpenAiResponses)
            .into(),
    )
}

/// The member that holds the arguments, and what it holds: a member that is no object was read as the one member of one.
fn payload(native: &Native, call: &ToolCall) -> (&'static str, Node) {
    let usual = native.members.first().copied().unwrap_or("action");
    let arguments = call.arguments().map();
    let mut members = arguments.iter();
    if let (Some((key, value)), None) = (members.next(), members.next())
        && let Some(member) = native.members.iter().find(|member| **member == key)
        && !value.is_object()
    {
        return (member, value.clone().into());
    }
    (usual, object(call))
}

/// Who runs a call of this type whose item, or whose result's item, has these members. The decoder has the rule.
pub(super) fn executor(kind: &str, item: &Value) -> Executor {
    let said = json!({
        "type": kind,
        "call_id": item.get("call_id"),
        "execution": item.get("execution"),
        "environment": item.get("environment"),
    });
    let executor = responses_executor(&said.to_string());
    executor.unwrap_or(Executor::Client)
}

/// Whether the item says that it was cut (WIRE_FORMATS 2.5).
pub(super) fn is_cut(item: &Value) -> bool {
    read::is(item, "status", "incomplete")
}

/// The arguments that a member of the item holds. Of an item that was cut nothing is no empty object (WIRE_FORMATS 11.4.2).
pub(super) fn arguments(item: &Value, member: Option<&Value>) -> Arguments {
    let text = match member {
        _ if !is_cut(item) => return read::text_arguments(member),
        Some(Value::String(text)) => text.clone(),
        None | Some(Value::Null) => String::new(),
        other => return read::text_arguments(other),
    };
    let settling = Settling {
        blank: Blank::Cut,
        ..Settling::default()
    };
    Arguments::settle(text, &settling)
}

/// The call that such an item states; `None` where it is of another type.
pub(super) fn read_call(item: &Value) -> Option<Read<ToolCall>> {
    let native = NATIVES
        .iter()
        .find(|native| read::is(item, "type", native.call))?;
    let found = native
        .members
        .iter()
        .find_map(|member| Some((*member, item.get(*member)?)));
    let arguments = match found {
        Some((member, value @ (Value::Array(_) | Value::Bool(_) | Value::Number(_)))) => {
            let wrapped: Map<_, _> = [(member.to_owned(), value.clone())].into_iter().collect();
            Arguments::from(wrapped)
        }
        _ => arguments(item, found.map(|(_, value)| value)),
    };
    let own = [
        "type",
        "id",
        "call_id",
        "name",
        "server_label",
        "status",
        "execution",
    ];
    let mut extras = read::extras(item, &own);
    extras.retain(|key, _| !native.members.contains(&key.as_str()));
    let item_id = read::text(item, "id");
    let id = read::text(item, "call_id").or_else(|| item_id.clone());
    let name = read::text(item, "name").unwrap_or_else(|| native.name.to_owned());
    Some(read::call(id, name, arguments, extras).map(|mut call| {
        call.0.kind = ToolKind::BuiltIn(native.call.into());
        call.0.executor = executor(native.call, item);
        call.0.server_name = read::text(item, "server_label");
        call.0.item_id = item_id;
        call
    }))
}

/// The result as its own item; `None` where the call is none of these tools'. A JSON answer is the item's output as it is; a
/// text goes where the output has a place for it. An approval is given by `true`, or by an object that says so with a reason, and
/// by nothing else.
pub(super) fn result(result: &ToolResult, id: &str) -> Option<Value> {
    let native = of_kind(&result.kind)?;
    let said = match &result.answer {
        Answer::Error(why) => why.clone(),
        answer => answer.to_text(),
    };
    let failed = result.answer.is_error();
    Some(match (native.call, &result.answer) {
        ("computer_call", Answer::Json(output))
            if read::is(output, "type", "computer_screenshot") =>
        {
            json!({ "type": native.result, "call_id": id, "output": output })
        }
        // The only output there is, is a picture of the screen: a text is its address.
        ("computer_call", _) => json!({
            "type": native.result,
            "call_id": id,
            "output": { "type": "computer_screenshot", "image_url": said },
        }),
        // The reference has `id`, the guide `call_id`.
        ("local_shell_call", _) => {
            json!({ "type": native.result, "id": id, "call_id": id, "output": said })
        }
        ("shell_call", Answer::Json(output @ Value::Array(_))) => {
            json!({ "type": native.result, "call_id": id, "output": output })
        }
        ("shell_call", _) => {
            let (stdout, stderr) = if failed {
                ("", said.as_str())
            } else {
                (said.as_str(), "")
            };
            let outcome = json!({ "type": "exit", "exit_code": i32::from(failed) });
            let output = json!([{ "stdout": stdout, "stderr": stderr, "outcome": outcome }]);
            json!({ "type": native.result, "call_id": id, "output": output })
        }
        ("apply_patch_call", _) => {
            let status = if failed { "failed" } else { "completed" };
            let item = json!({ "type": native.result, "call_id": id, "status": status });
            with_text(item, "output", said)
        }
        ("tool_search_call", answer) => {
            let tools = match answer {
                Answer::Json(tools @ Value::Array(_)) => tools.clone(),
                _ => json!([]),
            };
            json!({ "type": native.result, "call_id": id, "execution": "client", "status": "completed", "tools": tools })
        }
        (_, answer) => {
            let (approve, reason) = decision(answer, said);
            let item =
                json!({ "type": native.result, "approval_request_id": id, "approve": approve });
            with_text(item, "reason", reason)
        }
    })
}

/// The item with a member that need not be there, where it says something.
fn with_text(mut item: Value, key: &str, said: String) -> Value {
    if let Value::Object(members) = &mut item
        && !said.is_empty()
    {
        members.insert(key.to_owned(), said.into());
    }
    item
}

/// What was decided and why. A decision with its reason is an object of these two members and no other.
fn decision(answer: &Answer, said: String) -> (bool, String) {
    match answer {
        Answer::Json(Value::Bool(approve)) => (*approve, String::new()),
        Answer::Json(Value::Null) => (false, String::new()),
        Answer::Json(Value::Object(stated)) if stated.len() == 2 => {
            match (stated.get("approve"), stated.get("reason")) {
                (Some(Value::Bool(approve)), Some(Value::String(reason))) => {
                    (*approve, reason.clone())
                }
                _ => (false, said),
            }
        }
        _ => (false, said),
    }
}

/// The answer that a stated decision is: a refusal for a reason is an error that says it.
fn decided(item: &Value) -> Answer {
    let approve = item.get("approve") == Some(&Value::Bool(true));
    match read::text(item, "reason") {
        None => Answer::Json(approve.into()),
        Some(reason) if approve => Answer::Json(json!({ "approve": true, "reason": reason })),
        Some(reason) => Answer::Error(reason),
    }
}

/// The result that such an item states; `None` where it is of another type. What the provider answered itself is no result.
pub(super) fn read_result(item: &Value) -> Option<Read<ToolResult>> {
    let native = NATIVES
        .iter()
        .find(|native| read::is(item, "type", native.result))?;
    if executor(native.call, item) == Executor::Provider {
        return Some(Err(read::HistoryError::NotAnItem));
    }
    let id = ["call_id", "approval_request_id", "id"];
    let id = id.iter().find_map(|key| read::text(item, key));
    let Some(id) = id else {
        return Some(Err(read::HistoryError::Member("call_id")));
    };
    let answer = match native.call {
        APPROVAL => decided(item),
        "tool_search_call" => Answer::Json(item.get("tools").cloned().unwrap_or_default()),
        _ => match item.get("output") {
            output if read::is(item, "status", "failed") => {
                Answer::Error(read::answer_text(output))
            }
            None | Some(Value::Null) => Answer::Text(String::new()),
            Some(Value::String(text)) => Answer::Text(text.clone()),
            Some(output) => Answer::Json(output.clone()),
        },
    };
    let name = Some(native.name.to_owned()).filter(|name| !name.is_empty());
    let mut result = ToolResult::stated(Some(id), name, answer);
    result.kind = ToolKind::BuiltIn(native.call.into());
    Some(Ok(result))
}
