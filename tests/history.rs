//! A finished call and its result, to and from each wire's history item.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing
)]

#[path = "common/corpus.rs"]
mod corpus;

use std::collections::HashSet;

use callstitch::history::{
    Answer, Entry, HistoryFormat, HistoryProblem, IdMap, ToolResult, calls_messages, check,
    check_messages, entries, results_messages,
};
use callstitch::{Arguments, CallState, Executor, ToolCall, ToolKind, ToolName, WireFormat};
use serde_json::{Value, json};

fn call(id: &str, arguments: impl Into<Arguments>) -> ToolCall {
    ToolCall::new(ToolName::new("get_tide").unwrap(), arguments).with_id(id)
}

fn oban() -> ToolCall {
    call("Qz81mPw0t", r#"{"port":"Oban","days":2}"#)
}

/// Each wire's shape of one call, one text result, one JSON result and one error, as its provider documents them.
#[test]
fn each_wire_has_its_documented_shape() {
    let id = "Qz81mPw0t";
    let object = json!({"port": "Oban", "days": 2});
    let text = r#"{"port":"Oban","days":2}"#;
    let chat_call =
        json!({"id": id, "type": "function", "function": {"name": "get_tide", "arguments": text}});
    let chat = |content: &str| json!({"role": "tool", "tool_call_id": id, "content": content});
    let chat_results = [
        chat("3.1 m"),
        chat(r#"{"height":3.1}"#),
        chat("Error: no such port"),
    ];
    let output =
        |output: &str| json!({"type": "function_call_output", "call_id": id, "output": output});
    let adaline = |data: &str| json!({"modality": "tool-response", "index": 0, "id": id, "name": "get_tide", "data": data});
    let ollama = |content: &str| json!({"role": "tool", "tool_name": "get_tide", "tool_call_id": id, "content": content});
    let mistral = |content: &str| json!({"role": "tool", "tool_call_id": id, "name": "get_tide", "content": content});
    let gemini = |response: Value| json!({"functionResponse": {"id": id, "name": "get_tide", "response": response}});
    let bedrock = |content: Value, status: &str| json!({"toolResult": {"toolUseId": id, "content": [content], "status": status}});
    let step = |result: Value| json!({"type": "function_result", "call_id": id, "name": "get_tide", "result": result});
    let mut failed = step(json!("no such port"));
    failed["is_error"] = json!(true);
    let table = [
        (
            HistoryFormat::OpenAiChat,
            chat_call.clone(),
            chat_results.clone(),
        ),
        (HistoryFormat::Cohere, chat_call.clone(), chat_results),
        (
            HistoryFormat::Mistral,
            chat_call,
            [
                mistral("3.1 m"),
                mistral(r#"{"height":3.1}"#),
                mistral("Error: no such port"),
            ],
        ),
        (
            HistoryFormat::OpenAiResponses,
            json!({"type": "function_call", "call_id": id, "name": "get_tide", "arguments": text}),
            [
                output("3.1 m"),
                output(r#"{"height":3.1}"#),
                output("Error: no such port"),
            ],
        ),
        (
            HistoryFormat::Anthropic,
            json!({"type": "tool_use", "id": id, "name": "get_tide", "input": object}),
            [
                json!({"type": "tool_result", "tool_use_id": id, "content": "3.1 m"}),
                json!({"type": "tool_result", "tool_use_id": id, "content": r#"{"height":3.1}"#}),
                json!({"type": "tool_result", "tool_use_id": id, "content": "no such port", "is_error": true}),
            ],
        ),
        (
            HistoryFormat::Gemini,
            json!({"functionCall": {"id": id, "name": "get_tide", "args": object}}),
            [
                gemini(json!({"output": "3.1 m"})),
                gemini(json!({"height": 3.1})),
                gemini(json!({"error": "no such port"})),
            ],
        ),
        (
            HistoryFormat::GeminiInteractions,
            json!({"type": "function_call", "id": id, "name": "get_tide", "arguments": object}),
            [step(json!("3.1 m")), step(json!({"height": 3.1})), failed],
        ),
        (
            HistoryFormat::Bedrock,
            json!({"toolUse": {"toolUseId": id, "name": "get_tide", "input": object}}),
            [
                bedrock(json!({"text": "3.1 m"}), "success"),
                bedrock(json!({"json": {"height": 3.1}}), "success"),
                bedrock(json!({"text": "no such port"}), "error"),
            ],
        ),
        (
            HistoryFormat::Ollama,
            json!({"id": id, "function": {"name": "get_tide", "arguments": object}}),
            [
                ollama("3.1 m"),
                ollama(r#"{"height":3.1}"#),
                ollama("Error: no such port"),
            ],
        ),
        (
            HistoryFormat::Adaline,
            json!({"modality": "tool-call", "index": 0, "id": id, "name": "get_tide", "arguments": text}),
            [
                adaline("3.1 m"),
                adaline(r#"{"height":3.1}"#),
                adaline("Error: no such port"),
            ],
        ),
    ];
    assert_eq!(table.len(), HistoryFormat::all().count());
    let call = oban();
    let results = [
        ToolResult::text(&call, "3.1 m"),
        ToolResult::json(&call, json!({"height": 3.1})),
        ToolResult::error(&call, "no such port"),
    ];
    for (format, item, shapes) in table {
        assert_eq!(call.to_wire(format).unwrap(), item, "{format}");
        for (result, shape) in results.iter().zip(shapes) {
            assert_eq!(result.to_wire(format), shape, "{format}");
            let back = ToolResult::from_wire(format, &shape).unwrap();
            // A wire that repeats no name cannot give it back; one without errors says them as text.
            let mut again = result.clone();
            again.name.clone_from(&back.name);
            let plain = |item: Value| item.to_string().replace("Error: ", "");
            assert_eq!(
                plain(back.to_wire(format)),
                plain(again.to_wire(format)),
                "{format}"
            );
        }
        let back = ToolCall::from_wire(format, &item).unwrap();
        assert_eq!((back.id(), back.name()), (id, "get_tide"));
        assert_eq!(
            back.arguments().object().unwrap(),
            call.arguments().object().unwrap()
        );
    }
}

fn native(kind: &'static str, name: &str, arguments: Value) -> ToolCall {
    let call = ToolCall::builder()
        .id("call_n")
        .name(name)
        .arguments(arguments);
    call.kind(ToolKind::BuiltIn(kind.into())).build().unwrap()
}

/// OpenAI's own tools that the client runs go back as the items that they came as, and as functions elsewhere.
#[test]
fn native_tools_have_items_of_their_own() {
    let format = HistoryFormat::OpenAiResponses;
    let click = json!({"type": "click", "button": "left", "x": 1, "y": 2});
    for (call, member, result) in [
        (
            native("computer_call", "computer", click.clone()),
            json!({"action": click.clone()}),
            "computer_call_output",
        ),
        (
            native(
                "computer_call",
                "computer",
                json!({"actions": [click.clone()]}),
            ),
            json!({"actions": [click.clone()]}),
            "computer_call_output",
        ),
        (
            native(
                "local_shell_call",
                "local_shell",
                json!({"type": "exec", "command": ["ls"], "env": {}}),
            ),
            json!({"action": {"type": "exec", "command": ["ls"], "env": {}}}),
            "local_shell_call_output",
        ),
        (
            native("shell_call", "shell", json!({"commands": ["ls"]})),
            json!({"action": {"commands": ["ls"]}}),
            "shell_call_output",
        ),
        (
            native(
                "apply_patch_call",
                "apply_patch",
                json!({"type": "delete_file", "path": "a"}),
            ),
            json!({"operation": {"type": "delete_file", "path": "a"}}),
            "apply_patch_call_output",
        ),
        (
            native("tool_search_call", "tool_search", json!({"goal": "tides"})),
            json!({"arguments": {"goal": "tides"}}),
            "tool_search_output",
        ),
    ] {
        let item = call.to_wire(format).unwrap();
        assert_eq!(
            (&item["type"], &item["call_id"]),
            (&json!(call.kind().as_str()), &json!("call_n"))
        );
        for (key, value) in member.as_object().unwrap() {
            assert_eq!(&item[key], value);
        }
        let back = ToolCall::from_wire(format, &item).unwrap();
        assert_eq!(
            (back.kind(), back.name(), back.arguments()),
            (call.kind(), call.name(), call.arguments())
        );
        assert_eq!(back.to_wire(format).unwrap(), item);
        let answer = ToolResult::text(&call, "done").to_wire(format);
        assert_eq!(answer["type"], result);
        let turn = [item, answer];
        assert_eq!(check_messages(format, &turn), [], "{turn:?}");
        assert_eq!(
            call.to_wire(HistoryFormat::Anthropic).unwrap()["name"],
            call.name()
        );
    }
    let asked = native("mcp_approval_request", "list_berths", json!({"quay": 2}));
    let yes = ToolResult::json(&asked, true).to_wire(format);
    assert_eq!(
        yes,
        json!({"type": "mcp_approval_response", "approval_request_id": "call_n", "approve": true})
    );
    for no in [
        ToolResult::text(&asked, "yes"),
        ToolResult::error(&asked, "no"),
        ToolResult::json(&asked, false),
    ] {
        assert_eq!(no.to_wire(format)["approve"], false);
    }
}

/// Where a wire keeps both in one type of item, its members say who runs the call (WIRE_FORMATS 2.3, 5.2).
#[test]
fn a_call_that_its_provider_ran_is_the_providers_in_a_history_too() {
    let responses = HistoryFormat::OpenAiResponses;
    let search = |members: Value| {
        let mut item =
            json!({"type": "tool_search_call", "id": "tsc_1", "arguments": {"paths": ["crm"]}});
        item.as_object_mut()
            .unwrap()
            .extend(members.as_object().unwrap().clone());
        let mut output = item.clone();
        output["type"] = "tool_search_output".into();
        output["id"] = "tso_1".into();
        output["tools"] = json!([]);
        vec![item, output]
    };
    let shell = |environment: Value| {
        vec![
            json!({"type": "shell_call", "call_id": "call_1", "action": {"commands": ["ls"]}, "environment": environment}),
            json!({"type": "shell_call_output", "call_id": "call_1", "output": []}),
        ]
    };
    let bedrock = |kind: &str| {
        let tool_use =
            json!({"toolUseId": "t", "name": "nova_grounding", "input": {}, "type": kind});
        let result = json!({"toolUseId": "t", "content": [{"text": "x"}]});
        vec![json!({"toolUse": tool_use}), json!({"toolResult": result})]
    };
    let custom = |id: &str| {
        vec![
            json!({"type": "custom_tool_call", "call_id": id, "name": "x_search", "input": "{}"}),
            json!({"type": "custom_tool_call_output", "call_id": id, "output": "x"}),
        ]
    };
    let (client, provider) = (Executor::Client, Executor::Provider);
    let container = json!({"type": "container_reference", "container_id": "c"});
    for (format, turn, executor) in [
        (
            responses,
            search(json!({"execution": "server", "call_id": null})),
            provider,
        ),
        (
            responses,
            search(json!({"execution": "server", "call_id": "call_1"})),
            provider,
        ),
        (responses, search(json!({"call_id": null})), provider),
        (responses, search(json!({"call_id": "call_1"})), client),
        (
            responses,
            search(json!({"execution": "client", "call_id": "call_1"})),
            client,
        ),
        (responses, shell(container), provider),
        (responses, shell(json!({"type": "local"})), client),
        (responses, shell(json!(null)), client),
        (responses, custom("xs_call_1"), Executor::Unknown),
        (responses, custom("call_1"), client),
        (HistoryFormat::Bedrock, bedrock("server_tool_use"), provider),
        (HistoryFormat::Bedrock, bedrock("tool_use"), client),
    ] {
        let call = ToolCall::from_wire(format, &turn[0]).unwrap();
        assert_eq!(call.executor(), executor, "{turn:?}");
        for to in HistoryFormat::all() {
            assert_eq!(
                call.to_wire(to).is_some(),
                !call.is_builtin(),
                "{to}: {turn:?}"
            );
        }
        let messages = |items: &[Value]| match format {
            HistoryFormat::Bedrock => vec![json!({"role": "assistant", "content": items})],
            _ => items.to_vec(),
        };
        assert_eq!(check_messages(format, &messages(&turn)), [], "{turn:?}");
        let missing = check_messages(format, &messages(&turn[..1])).len();
        assert_eq!(missing, usize::from(!call.is_builtin()), "{turn:?}");
    }
    // Its answer to itself is not sent back as the client's.
    let [_, output] = &search(json!({"execution": "server", "call_id": null}))[..] else {
        panic!()
    };
    assert!(ToolResult::from_wire(responses, output).is_err());
    // One result is in its place, a second is not.
    let [call, result] = &shell(json!({"type": "container_auto"}))[..] else {
        panic!()
    };
    let twice = [call.clone(), result.clone(), result.clone()];
    let problems = check_messages(responses, &twice);
    assert!(matches!(
        &problems[..],
        [HistoryProblem::DuplicateResult(_)]
    ));
}

/// What a tool answered may be pictures, documents and JSON beside text.
#[test]
fn no_part_of_a_results_content_is_lost() {
    let document = json!({"type": "document", "document": {"data": "{\"x\":1}"}});
    let picture =
        json!({"type": "image", "source": {"type": "url", "url": "https://example.com/a.png"}});
    let found =
        json!({"type": "search_result", "title": "t", "content": [{"type": "text", "text": "x"}]});
    let text = |text: &str| json!({"type": "text", "text": text});
    let joined = |part: &Value| format!("a\n{part}\nb");
    for part in [&document, &picture, &found] {
        let content = json!([text("a"), part, text("b"), null]);
        for (format, item) in [
            (
                HistoryFormat::OpenAiChat,
                json!({"role": "tool", "tool_call_id": "t", "content": content}),
            ),
            (
                HistoryFormat::Cohere,
                json!({"role": "tool", "tool_call_id": "t", "content": content}),
            ),
            (
                HistoryFormat::Mistral,
                json!({"role": "tool", "tool_call_id": "t", "content": content}),
            ),
            (
                HistoryFormat::Ollama,
                json!({"role": "tool", "tool_name": "t", "content": content}),
            ),
            (
                HistoryFormat::OpenAiResponses,
                json!({"type": "function_call_output", "call_id": "t", "output": content}),
            ),
            (
                HistoryFormat::Anthropic,
                json!({"type": "tool_result", "tool_use_id": "t", "content": content}),
            ),
        ] {
            let result = ToolResult::from_wire(format, &item).unwrap();
            assert_eq!(result.answer, Answer::Text(joined(part)), "{format}");
        }
        let failed =
            json!({"type": "function_result", "call_id": "t", "is_error": true, "result": content});
        let failed = ToolResult::from_wire(HistoryFormat::GeminiInteractions, &failed).unwrap();
        assert_eq!(failed.answer, Answer::Error(joined(part)));
    }
    let bedrock = |content: Value, status: &str| {
        let item = json!({"toolResult": {"toolUseId": "t", "content": content, "status": status}});
        ToolResult::from_wire(HistoryFormat::Bedrock, &item)
            .unwrap()
            .answer
    };
    let gemini = |response: Value| {
        let parts = json!([{"inlineData": {"mimeType": "image/png", "data": "AA=="}}]);
        let item = json!({"functionResponse": {"name": "t", "response": response, "parts": parts}});
        let answer = ToolResult::from_wire(HistoryFormat::Gemini, &item)
            .unwrap()
            .answer;
        assert!(answer.to_text().ends_with(&parts[0].to_string()));
        answer
    };
    assert!(gemini(json!({"error": "bad"})).is_error());
    for said in [json!({"output": "seen"}), json!({"a": "seen"})] {
        assert!(gemini(said).to_text().contains("seen"));
    }
    let json_text = r#"{"message":"no such port"}"#;
    let object = json!({"json": {"message": "no such port"}});
    assert_eq!(
        bedrock(json!([object]), "error"),
        Answer::Error(json_text.into())
    );
    assert_eq!(
        bedrock(json!([object]), "success"),
        Answer::Json(object["json"].clone())
    );
    for (content, text) in [
        (
            json!([{"json": {"a": 1}}, {"json": {"b": 2}}]),
            r#"{"a":1}
{"b":2}"#,
        ),
        (json!([{"json": {"a": 1}}, {"text": "x"}]), "{\"a\":1}\nx"),
        (
            json!([{"image": {"format": "png"}}]),
            r#"{"image":{"format":"png"}}"#,
        ),
        (json!(["x", {"text": "y"}]), "x\ny"),
        (json!([]), ""),
    ] {
        assert_eq!(bedrock(content, "success"), Answer::Text(text.into()));
    }
}

/// The output of a patch is optional: its status says how it went.
#[test]
fn a_failed_output_is_an_error_whatever_it_says() {
    let format = HistoryFormat::OpenAiResponses;
    let item =
        |status: &str| json!({"type": "apply_patch_call_output", "call_id": "t", "status": status});
    let with = |status: &str, output: Value| {
        let mut item = item(status);
        item["output"] = output;
        item
    };
    let parts = json!([{"type": "input_text", "text": "no such file"}]);
    for (stated, answer, sent) in [
        (item("failed"), Answer::Error("".into()), item("failed")),
        (
            with("failed", json!(null)),
            Answer::Error("".into()),
            item("failed"),
        ),
        (
            with("failed", json!("no such file")),
            Answer::Error("no such file".into()),
            with("failed", json!("no such file")),
        ),
        (
            with("failed", parts),
            Answer::Error("no such file".into()),
            with("failed", json!("no such file")),
        ),
        (
            item("completed"),
            Answer::Text("".into()),
            item("completed"),
        ),
        (
            with("completed", json!(null)),
            Answer::Text("".into()),
            item("completed"),
        ),
        (
            with("completed", json!("done")),
            Answer::Text("done".into()),
            with("completed", json!("done")),
        ),
    ] {
        let result = ToolResult::from_wire(format, &stated).unwrap();
        assert_eq!(result.answer, answer, "{stated}");
        assert_eq!(result.to_wire(format), sent, "{stated}");
    }
    for silent in ["local_shell_call_output", "shell_call_output"] {
        let result = ToolResult::from_wire(format, &json!({"type": silent, "call_id": "t"}));
        assert!(!result.unwrap().to_wire(format).to_string().contains("null"));
    }
}

#[test]
fn a_decision_on_an_approval_keeps_its_reason_and_gets_none_that_was_not_given() {
    let format = HistoryFormat::OpenAiResponses;
    let asked = native("mcp_approval_request", "list_berths", json!({}));
    let item = |approve: bool, reason: Option<&str>| {
        let mut item = json!({"type": "mcp_approval_response", "approval_request_id": "call_n", "approve": approve});
        if let Some(reason) = reason {
            item["reason"] = reason.into();
        }
        item
    };
    let risky = Some("too risky");
    for (answer, sent, refused) in [
        (Answer::Json(true.into()), item(true, None), false),
        (
            Answer::Json(json!({"approve": true, "reason": "too risky"})),
            item(true, risky),
            false,
        ),
        (Answer::Json(false.into()), item(false, None), false),
        (Answer::Error("too risky".into()), item(false, risky), true),
        (Answer::Text("too risky".into()), item(false, risky), true),
        (
            Answer::Json(json!({"approve": false, "reason": "too risky"})),
            item(false, risky),
            true,
        ),
        (Answer::Error("".into()), item(false, None), false),
        (Answer::Json(json!(null)), item(false, None), false),
    ] {
        let result = ToolResult::new(&asked, answer);
        assert_eq!(result.to_wire(format), sent);
        let back = ToolResult::from_wire(format, &sent).unwrap();
        assert_eq!(back.answer.is_error(), refused, "{sent}");
        assert_eq!(back.to_wire(format), sent);
    }
    // What only looks like an approval is none.
    for other in [
        json!({"approve": true}),
        json!({"approve": "true", "reason": "x"}),
        json!({"approve": true, "reason": "x", "amount": 1}),
        json!(1),
    ] {
        let sent = ToolResult::json(&asked, other).to_wire(format);
        assert_eq!(sent["approve"], false);
    }
    let unsaid = json!({"type": "mcp_approval_response", "approval_request_id": "call_n", "approve": "true"});
    let unsaid = ToolResult::from_wire(format, &unsaid).unwrap();
    assert_eq!(unsaid.to_wire(format), item(false, None));
}

/// Custom tools: an item of their own on OpenAI's wires, an object around the text on the others.
#[test]
fn free_text_goes_where_there_is_a_place_for_it() {
    let patch = call(
        "call_1",
        Arguments::free_form("*** Begin\n\"Patch\"".into(), false),
    );
    assert_eq!(*patch.kind(), ToolKind::Custom);
    for format in HistoryFormat::all() {
        let item = patch.to_wire(format).unwrap();
        let back = ToolCall::from_wire(format, &item).unwrap();
        match format {
            HistoryFormat::OpenAiChat | HistoryFormat::OpenAiResponses => {
                assert_eq!(back.arguments(), patch.arguments(), "{format}");
                assert_eq!(back.kind(), patch.kind());
            }
            _ => assert_eq!(
                back.arguments().object().unwrap()["input"],
                patch.arguments().raw(),
                "{format}"
            ),
        }
    }
    let answer = ToolResult::text(&patch, "done").to_wire(HistoryFormat::OpenAiResponses);
    assert_eq!(answer["type"], "custom_tool_call_output");
    // Cut text is text all the same.
    let cut = ToolCall::from_value(
        json!({"id": "c", "name": "patch", "kind": "custom", "status": "incomplete", "arguments": "*** Beg"}),
    );
    let cut = cut.unwrap();
    assert_eq!(
        cut.to_wire(HistoryFormat::Anthropic).unwrap()["input"],
        json!({"input": "*** Beg"})
    );
}

/// Text that the model did not finish never looks finished, in a stream or in an item of its response that was kept.
#[test]
fn an_item_whose_status_says_that_it_was_cut_has_no_empty_object_for_nothing() {
    let read = |kind: &str, member: &str, held: Value, status: &str| {
        let item = json!({"type": kind, "id": "i_1", "call_id": "c_1", "name": "n", member: held, "status": status});
        ToolCall::from_wire(HistoryFormat::OpenAiResponses, &item).unwrap()
    };
    for (kind, member) in [
        ("function_call", "arguments"),
        ("mcp_approval_request", "arguments"),
        ("tool_search_call", "arguments"),
        ("shell_call", "action"),
    ] {
        for held in [json!(""), json!(" "), json!("null"), json!(null)] {
            let cut = read(kind, member, held.clone(), "incomplete");
            assert_eq!(cut.state(), CallState::Truncated, "{kind} {held}");
            let problems = check([Entry::Call(cut)]);
            let said = problems[0].suggestion().unwrap();
            assert!(said.contains("cut off"), "{kind} {held}: {said}");
            for status in ["completed", "in_progress"] {
                let whole = read(kind, member, held.clone(), status);
                assert_eq!(whole.state(), CallState::Whole, "{kind} {held} {status}");
            }
        }
        // A whole object stays whole whatever the status says.
        for held in [json!("{\"day\":3}"), json!({"day": 3})] {
            let whole = read(kind, member, held, "incomplete");
            assert_eq!(whole.arguments().object().unwrap()["day"], 3, "{kind}");
        }
        let begun = read(kind, member, json!("{\"day\":"), "incomplete");
        assert_eq!(begun.state(), CallState::Truncated);
    }
    let text = |status: &str| read("custom_tool_call", "input", json!("*** Beg"), status);
    assert_eq!(text("incomplete").state(), CallState::Truncated);
    assert_eq!(text("incomplete").arguments().raw(), "*** Beg");
    assert_eq!(text("completed").state(), CallState::FreeForm);
}

#[test]
fn what_goes_back_verbatim_goes_to_the_wires_that_know_it() {
    let all = ToolCall::builder()
        .id("Qz81mPw0t")
        .name("get_tide")
        .extra("thoughtSignature", "c2ln")
        .extra("signature", "c2ln2")
        .extra(
            "extra_content",
            json!({"google": {"thought_signature": "c2ln"}}),
        )
        .extra("caller", json!({"type": "direct"}))
        .extra("namespace", "tides")
        .extra("x_own", 1)
        .build()
        .unwrap();
    let sent = |format: HistoryFormat| -> HashSet<String> {
        let item = all.to_wire(format).unwrap();
        item.as_object().unwrap().keys().cloned().collect()
    };
    for (format, own) in [
        (HistoryFormat::OpenAiChat, &["extra_content"][..]),
        (HistoryFormat::OpenAiResponses, &["caller", "namespace"]),
        (HistoryFormat::Anthropic, &["caller"]),
        (HistoryFormat::Gemini, &["thoughtSignature"]),
        (HistoryFormat::GeminiInteractions, &["signature"]),
        (HistoryFormat::Cohere, &[]),
        (HistoryFormat::Mistral, &[]),
        (HistoryFormat::Ollama, &[]),
    ] {
        let sent = sent(format);
        for key in all.extras().keys() {
            let known = own.contains(&key.as_str()) || key == "x_own";
            assert_eq!(sent.contains(key), known, "{format}: {key}");
        }
        let back = ToolCall::from_wire(format, &all.to_wire(format).unwrap()).unwrap();
        for key in own {
            assert_eq!(back.extras()[*key], all.extras()[*key]);
        }
    }
    for strict in [HistoryFormat::Bedrock, HistoryFormat::Adaline] {
        assert!(!all.to_wire(strict).unwrap().to_string().contains("c2ln"));
    }
}

/// Each wire's item with members that no wire is known for.
#[test]
fn a_member_that_was_read_goes_back_to_its_own_wire_and_to_no_other() {
    let own = |mut item: Value, at: &str| {
        let members = item.pointer_mut(at).unwrap().as_object_mut().unwrap();
        members.insert("x_read".into(), json!({"a": [1]}));
        members.insert("thought".into(), json!(false));
        members.insert("caller".into(), json!({"type": "unheard-of"}));
        item
    };
    for format in HistoryFormat::all() {
        let at = match format {
            HistoryFormat::Bedrock => "/toolUse",
            _ => "",
        };
        let item = own(oban().to_wire(format).unwrap(), at);
        let message = match format {
            HistoryFormat::Gemini => json!({"parts": [item]}),
            HistoryFormat::OpenAiResponses | HistoryFormat::GeminiInteractions => item.clone(),
            HistoryFormat::Anthropic | HistoryFormat::Bedrock | HistoryFormat::Adaline => {
                json!({"content": [item]})
            }
            _ => json!({"tool_calls": [item]}),
        };
        let [Entry::Call(entry)] = &entries(format, &[message])[..] else {
            panic!("{format}")
        };
        let call = ToolCall::from_wire(format, &item).unwrap();
        assert_eq!(call.extras().len(), 3, "{format}");
        let stored = serde_json::to_value(&call).unwrap();
        let stored = ToolCall::from_value(stored).unwrap();
        assert_eq!(stored, call);
        for call in [&call, entry, &stored] {
            for to in HistoryFormat::all() {
                let sent = call.to_wire(to).unwrap();
                if to == format {
                    assert_eq!(sent, item, "{format}");
                } else {
                    assert_eq!(sent, oban().to_wire(to).unwrap(), "{format} to {to}");
                }
            }
        }
    }
    // Members that another wire knows are its own wherever they were read.
    let item = json!({"type": "tool_use", "id": "t", "name": "f", "input": {}, "caller": {"type": "direct"}, "cache_control": {"type": "ephemeral"}});
    let call = ToolCall::from_wire(HistoryFormat::Anthropic, &item).unwrap();
    assert_eq!(call.to_wire(HistoryFormat::Anthropic).unwrap(), item);
    let responses = call.to_wire(HistoryFormat::OpenAiResponses).unwrap();
    assert_eq!(responses["caller"], item["caller"]);
    assert!(responses.get("cache_control").is_none());
    let asked = json!({"type": "mcp_approval_request", "id": "a", "name": "f", "server_label": "s", "arguments": "{}", "x_read": 1});
    let call = ToolCall::from_wire(HistoryFormat::OpenAiResponses, &asked).unwrap();
    assert_eq!(call.to_wire(HistoryFormat::OpenAiResponses).unwrap(), asked);
}

#[test]
fn numbers_keep_every_digit_in_an_items_text() {
    let big = call("c", r#"{"n":123456789012345678901234567890,"x":1.50}"#);
    for format in HistoryFormat::all() {
        let item = big.to_wire_json(format).unwrap();
        assert!(
            item.contains("123456789012345678901234567890") && item.contains("1.50"),
            "{format}: {item}"
        );
    }
}

#[test]
fn an_id_that_was_made_here_is_not_sent_to_wires_without_ids() {
    let made = ToolCall::new(ToolName::new("get_tide").unwrap(), "{}");
    for format in [HistoryFormat::Gemini, HistoryFormat::Ollama] {
        let (item, result) = (
            made.to_wire(format).unwrap(),
            ToolResult::text(&made, "x").to_wire(format),
        );
        assert!(!item.to_string().contains(made.id()) && !result.to_string().contains(made.id()));
        assert!(
            ToolCall::from_wire(format, &item)
                .unwrap()
                .is_synthetic_id()
        );
    }
    let item = made.to_wire(HistoryFormat::Anthropic).unwrap();
    assert_eq!(item["id"], made.id());
}

#[test]
fn ids_are_fitted_where_a_wire_limits_their_form_and_lead_back() {
    let kimi = "functions.get_tide:0";
    let long = "x".repeat(200);
    let form = |format: HistoryFormat, id: &str| match format {
        HistoryFormat::Mistral => {
            id.len() == 9 && id.bytes().all(|byte| byte.is_ascii_alphanumeric())
        }
        HistoryFormat::Anthropic | HistoryFormat::Bedrock => {
            id.bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || b"_-".contains(&byte))
                && (format == HistoryFormat::Anthropic || id.len() <= 64)
        }
        HistoryFormat::OpenAiResponses => id.len() <= 64,
        _ => true,
    };
    for format in HistoryFormat::all() {
        let mut ids = IdMap::new(format);
        let mut sent = HashSet::new();
        for id in [kimi, &long, "call_1", "Qz81mPw0t", "日本"] {
            let call = call(id, "{}");
            let stateless = call.to_wire(format).unwrap();
            assert_eq!(call.to_wire_with(format, &mut ids).unwrap(), stateless);
            let fitted = ids.to_wire(id).to_owned();
            assert!(form(format, &fitted), "{format}: {fitted}");
            assert_eq!(ids.original(&fitted), id);
            assert!(stateless.to_string().contains(&fitted) || !form(format, id));
            // The result says the same without the map.
            assert!(
                ToolResult::text(&call, "x")
                    .to_wire(format)
                    .to_string()
                    .contains(&fitted)
            );
            assert!(sent.insert(fitted));
        }
    }
    // Stored histories hold these digests: they must not change.
    assert_eq!(
        IdMap::new(HistoryFormat::Mistral).to_wire("call_1"),
        FITTED_CALL_1
    );
    // An id that looks like another's digest is told apart from it.
    let mut ids = IdMap::new(HistoryFormat::Mistral);
    ids.to_wire("call_1");
    let other = ids.to_wire(FITTED_CALL_1).to_owned();
    assert_ne!(other, FITTED_CALL_1);
    assert_eq!(
        (ids.original(&other), ids.original(FITTED_CALL_1)),
        (FITTED_CALL_1, "call_1")
    );
}

const FITTED_CALL_1: &str = "4Yy5LER1c";

#[test]
fn calls_without_a_result_and_results_without_a_call_are_found_on_every_wire() {
    let calls = [
        call("call_a", "{}"),
        call("call_b", "{\"port\":\"Ob"),
        call("call_c", "{}"),
    ];
    let mine = |call: &ToolCall| ToolResult::text(call, "x");
    let stray = ToolResult::text(
        &ToolCall::new(ToolName::new("get_moon").unwrap(), "{}").with_id("call_z"),
        "x",
    );
    for format in HistoryFormat::all() {
        let turn = |results: &[ToolResult]| {
            [
                calls_messages(format, &calls),
                results_messages(format, results),
            ]
            .concat()
        };
        let whole = turn(&calls.each_ref().map(mine));
        assert_eq!(check_messages(format, &whole), [], "{format}");
        assert_eq!(entries(format, &whole).len(), 6);
        let gaps = check_messages(format, &turn(&[mine(&calls[0]), stray.clone()]));
        let missing = gaps
            .iter()
            .filter(|gap| matches!(gap, HistoryProblem::MissingResult { .. }))
            .count();
        assert_eq!((gaps.len(), missing), (3, 2), "{format}: {gaps:?}");
        assert!(
            gaps.iter()
                .any(|gap| matches!(gap, HistoryProblem::OrphanResult(_)))
        );
        let twice = check_messages(
            format,
            &turn(&[
                mine(&calls[0]),
                mine(&calls[1]),
                mine(&calls[2]),
                mine(&calls[0]),
            ]),
        );
        assert!(
            matches!(&twice[..], [HistoryProblem::DuplicateResult(_)]),
            "{format}: {twice:?}"
        );
        // A result that comes before its call answers nothing.
        let early = [
            results_messages(format, &[mine(&calls[0])]),
            calls_messages(format, &calls[..1]),
        ]
        .concat();
        assert_eq!(check_messages(format, &early).len(), 2, "{format}");
        // Sending the suggestions mends it.
        let gaps = check_messages(format, &turn(&[]));
        let suggested: Vec<_> = gaps
            .into_iter()
            .map(|gap| match gap {
                HistoryProblem::MissingResult { suggestion, .. } => suggestion,
                other => panic!("{other}"),
            })
            .collect();
        assert_eq!(check_messages(format, &turn(&suggested)), [], "{format}");
    }
}

#[test]
fn wires_without_ids_pair_by_name_in_order() {
    let made = |name: &str| ToolCall::new(ToolName::new(name).unwrap(), "{}");
    let calls = [made("get_tide"), made("get_moon"), made("get_tide")];
    for format in [HistoryFormat::Ollama, HistoryFormat::Gemini] {
        let results = [2, 0, 1].map(|at: usize| ToolResult::text(&calls[at], "x"));
        let turn = [
            calls_messages(format, &calls),
            results_messages(format, &results),
        ]
        .concat();
        assert_eq!(check_messages(format, &turn), []);
        let turn = [
            calls_messages(format, &calls),
            results_messages(format, &results[..2]),
        ]
        .concat();
        let gaps = check_messages(format, &turn);
        assert!(
            matches!(&gaps[..], [HistoryProblem::MissingResult { call, .. }] if call.name() == "get_moon")
        );
    }
}

/// `""`, `null` and `"null"` are no ids (WIRE_FORMATS 11.2.3).
#[test]
fn an_absent_id_is_absent_in_calls_and_results_however_it_is_spelled() {
    for id in [
        None,
        Some(json!(null)),
        Some(json!("")),
        Some(json!("null")),
    ] {
        let with = |mut item: Value, key: &str| {
            if let Some(id) = &id {
                item[key] = id.clone();
            }
            item
        };
        let chat = |arguments: Value, repeats: &str| {
            let call = |name: &str| {
                with(
                    json!({"function": {"name": name, "arguments": arguments}}),
                    "id",
                )
            };
            let result = |name: &str| {
                with(
                    json!({"role": "tool", repeats: name, "content": name}),
                    "tool_call_id",
                )
            };
            vec![
                json!({"role": "assistant", "tool_calls": [call("f"), call("g")]}),
                result("g"),
                result("f"),
            ]
        };
        let gemini = |key: &str, body: &str| {
            let part = |name: &str| json!({key: with(json!({"name": name, body: {}}), "id")});
            json!({"role": "model", "parts": [part("f"), part("g")]})
        };
        let gemini = vec![
            gemini("functionCall", "args"),
            gemini("functionResponse", "response"),
        ];
        for (format, turn) in [
            (HistoryFormat::Mistral, chat(json!("{}"), "name")),
            (HistoryFormat::Ollama, chat(json!({}), "tool_name")),
            (HistoryFormat::Gemini, gemini),
        ] {
            let place = format!("{format}: {id:?}");
            assert_eq!(check_messages(format, &turn), [], "{place}");
            // What is sent again pairs again.
            let (mut calls, mut results) = (Vec::new(), Vec::new());
            for entry in entries(format, &turn) {
                match entry {
                    Entry::Call(call) => calls.push(call),
                    Entry::Result(result) => results.push(result),
                    other => panic!("{other:?}"),
                }
            }
            assert!(calls.iter().all(ToolCall::is_synthetic_id), "{place}");
            assert!(
                results
                    .iter()
                    .all(|result| result.call_id.is_none() && result.synthetic_id)
            );
            let again = [
                calls_messages(format, &calls),
                results_messages(format, &results),
            ]
            .concat();
            assert_eq!(check_messages(format, &again), [], "{place}");
            let unanswered = check_messages(format, &turn[..1]);
            assert_eq!(unanswered.len(), 2, "{place}");
        }
    }
    // Old servers want neither an id nor a name.
    let calls =
        json!({"role": "assistant", "tool_calls": [{"function": {"name": "f", "arguments": {}}}]});
    let nameless = json!({"role": "tool", "content": "x"});
    for format in [HistoryFormat::Mistral, HistoryFormat::Ollama] {
        let turn = [calls.clone(), nameless.clone()];
        assert_eq!(check_messages(format, &turn), [], "{format}");
        assert_eq!(check_messages(format, &turn[1..]).len(), 1, "{format}");
    }
}

#[test]
fn a_second_result_without_an_id_is_one_too_many_not_a_stray() {
    let made = |name: &str| ToolCall::new(ToolName::new(name).unwrap(), "{}");
    let (tide, moon, stray) = (made("get_tide"), made("get_moon"), made("get_sun"));
    for format in [HistoryFormat::Ollama, HistoryFormat::Gemini] {
        let turn = |calls: &[ToolCall], of: &[&ToolCall]| {
            let results: Vec<_> = of.iter().map(|call| ToolResult::text(call, "x")).collect();
            [
                calls_messages(format, calls),
                results_messages(format, &results),
            ]
            .concat()
        };
        let calls = [tide.clone(), moon.clone()];
        let problems = check_messages(format, &turn(&calls, &[&tide, &tide, &moon, &stray]));
        assert!(
            matches!(&problems[..], [HistoryProblem::DuplicateResult(second), HistoryProblem::OrphanResult(none)] if second.name == "get_tide" && none.name == "get_sun"),
            "{format}: {problems:?}"
        );
        // A later call of the tool has a result of its own.
        let later = [turn(&calls, &[&tide, &moon]), turn(&calls[..1], &[&tide])].concat();
        assert_eq!(check_messages(format, &later), [], "{format}");
        let early = [turn(&[], &[&tide]), turn(&calls[..1], &[&tide])].concat();
        let problems = check_messages(format, &early);
        assert!(
            matches!(&problems[..], [HistoryProblem::OrphanResult(_)]),
            "{format}"
        );
    }
}

#[test]
fn the_suggested_text_says_what_happened() {
    let suggested = |call: ToolCall| check([Entry::Call(call)])[0].suggestion().unwrap();
    assert!(suggested(call("c", "{\"port\":\"Ob")).contains("cut off"));
    assert!(suggested(call("c", "nonsense")).contains("could not be read"));
    assert!(suggested(call("c", "{}")).contains("was not run"));
    let builtin = ToolCall::builtin(ToolName::new("web_search").unwrap(), "{}");
    assert_eq!(check([Entry::Call(builtin)]), []);
}

#[test]
fn a_value_of_another_shape_is_refused_not_guessed() {
    for format in HistoryFormat::all() {
        for other in [
            json!(null),
            json!([]),
            json!("x"),
            json!({}),
            json!({"role": "user", "content": "hi"}),
            json!({"type": "text", "text": "x"}),
        ] {
            assert!(
                ToolCall::from_wire(format, &other).is_err(),
                "{format}: {other}"
            );
            assert!(
                ToolResult::from_wire(format, &other).is_err(),
                "{format}: {other}"
            );
            assert_eq!(entries(format, &[other]), []);
        }
    }
}

#[test]
fn an_unnamed_call_is_not_sent() {
    let unnamed = ToolCall::from_value(json!({"id": "c", "arguments": {}})).unwrap();
    for format in HistoryFormat::all() {
        assert!(unnamed.to_wire(format).is_none());
    }
    // So no result is due, and one is of no call that is there.
    assert_eq!(check([Entry::Call(unnamed.clone())]), []);
    let result = ToolResult::error(&unnamed, "no such tool");
    let problems = check([Entry::Call(unnamed), Entry::Result(result.clone())]);
    assert_eq!(problems, [HistoryProblem::OrphanResult(result)]);
}

#[test]
fn formats_have_the_wires_names() {
    for format in HistoryFormat::all() {
        assert_eq!(format.name().parse(), Ok(format));
    }
    for format in WireFormat::all() {
        assert_eq!(
            HistoryFormat::try_from(format).unwrap().name(),
            format.name()
        );
    }
    assert!(HistoryFormat::try_from(WireFormat::Auto).is_err());
    let error = "chatgpt".parse::<HistoryFormat>().unwrap_err().to_string();
    assert!(error.contains("openai-chat") && error.contains("adaline"));
}

/// Stream to value, to serde and back, to each wire's history and back: the call is unchanged in all that the wire can say.
#[test]
fn calls_of_every_recorded_stream_survive_storing_and_every_history() {
    let Some(streams) = corpus::streams() else {
        return;
    };
    let (mut bodies, mut calls, mut provider, mut flagged, mut trips) = (0, 0, 0, 0, 0);
    for (path, format) in &streams {
        bodies += 1;
        for call in corpus::calls(path, *format) {
            calls += 1;
            flagged += usize::from(!call.is_usable());
            let place = format!("{}: {call}", path.display());
            let text = serde_json::to_string(&call).unwrap();
            let back: ToolCall = serde_json::from_str(&text).unwrap();
            assert_eq!(back, call, "{place}\n{text}");
            assert_eq!(serde_json::to_string(&back).unwrap(), text, "{place}");
            if call.executor() == Executor::Provider {
                provider += 1;
                assert!(call.to_wire(HistoryFormat::OpenAiChat).is_none());
                continue;
            }
            for format in HistoryFormat::all() {
                trips += usize::from(survives(&call, format, &place));
            }
        }
    }
    println!(
        "corpus: {bodies} bodies, {calls} calls ({flagged} flagged, {provider} of providers), {trips} round trips"
    );
    assert!(calls > 100 && trips > 1000);
}

/// Whether the call came back from this wire's history, unchanged.
fn survives(call: &ToolCall, format: HistoryFormat, place: &str) -> bool {
    if call.tool_name().is_none() {
        return false;
    }
    let place = format!("{place} as {format}");
    let mut ids = IdMap::new(format);
    let item = call.to_wire_with(format, &mut ids).unwrap();
    let spelled: Value = serde_json::from_str(&call.to_wire_json(format).unwrap()).unwrap();
    assert_eq!(spelled, item, "{place}");
    let back = ToolCall::from_wire_with(format, &item, &ids).unwrap();
    assert_eq!(back.name(), call.name(), "{place}");
    if !back.is_synthetic_id() {
        assert_eq!(back.id(), call.id(), "{place}");
    }
    if *call.kind() != ToolKind::Custom {
        assert_eq!(back.arguments().map(), call.arguments().map(), "{place}");
    } else if *back.kind() == ToolKind::Custom {
        assert_eq!(back.arguments().raw(), call.arguments().raw(), "{place}");
    } else {
        let wrapped = back.arguments().object().unwrap();
        assert_eq!(wrapped["input"], call.arguments().raw(), "{place}");
    }
    // What went back verbatim is there again, and what is sent from it is the same.
    for (key, value) in back.extras() {
        assert_eq!(call.extras().get(key), Some(value), "{place}");
    }
    assert_eq!(back.to_wire(format).unwrap(), item, "{place}");
    true
}

#[cfg(feature = "cli")]
mod cli {
    use super::*;
    use std::io::Write;
    use std::process::{Command, Stdio};

    fn run(arguments: &[&str], input: &str) -> (Option<i32>, String, String) {
        let mut command = Command::new(env!("CARGO_BIN_EXE_callstitch"))
            .args(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        command
            .stdin
            .take()
            .unwrap()
            .write_all(input.as_bytes())
            .unwrap();
        let output = command.wait_with_output().unwrap();
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
        (
            output.status.code(),
            text(output.stdout),
            text(output.stderr),
        )
    }

    const BODY: &str = r#"data: {"choices":[{"delta":{"tool_calls":[{"index":0,"id":"call_1","function":{"name":"get_tide","arguments":"{\"n\": 123456789012345678901,\n \"port\":\"Oban\"}"},"extra_content":{"google":{"thought_signature":"c2ln"}}}]}}]}

data: [DONE]

"#;

    #[test]
    fn call_lines_become_history_items_one_a_line() {
        let (code, lines, _) = run(&["calls", "--json"], BODY);
        assert_eq!(code, Some(0));
        for format in HistoryFormat::all() {
            let (code, items, complaint) = run(&["history", "--to", format.name()], &lines);
            assert_eq!((code, complaint.as_str()), (Some(0), ""), "{format}");
            assert_eq!(items.lines().count(), 1, "{items}");
            assert!(items.contains("123456789012345678901"), "{items}");
            let item: Value = serde_json::from_str(&items).unwrap();
            let call = ToolCall::from_wire(format, &item).unwrap();
            assert_eq!(call.arguments().object().unwrap()["port"], "Oban");
        }
        let (_, chat, _) = run(&["history", "--to", "openai-chat"], &lines);
        let chat: Value = serde_json::from_str(&chat).unwrap();
        assert_eq!(chat["extra_content"]["google"]["thought_signature"], "c2ln");
    }

    #[test]
    fn arguments_as_deep_as_is_read_pass_through() {
        let deep = format!("{{\"a\":{}{}}}", "[".repeat(126), "]".repeat(126));
        let entry = json!({"index": 0, "id": "c", "function": {"name": "t", "arguments": deep}});
        let body = format!(
            "data: {}\n\ndata: [DONE]\n\n",
            json!({"choices": [{"delta": {"tool_calls": [entry]}}]})
        );
        let (code, lines, _) = run(&["calls", "--json"], &body);
        assert_eq!(code, Some(0));
        let (code, items, _) = run(&["history", "--to", "bedrock"], &lines);
        assert_eq!(code, Some(0));
        assert!(items.contains(&deep));
    }

    #[test]
    fn flagged_and_provider_calls_are_told_by_code_and_words() {
        let cut = r#"{"index":0,"id":"c","name":"t","arguments":{"a":"b"},"state":"truncated","raw":"{\"a\":\"b","repairs":[]}"#;
        let (code, items, _) = run(&["history", "--to", "anthropic", "-"], cut);
        assert_eq!(code, Some(3));
        assert_eq!(
            serde_json::from_str::<Value>(&items).unwrap()["input"],
            json!({"a": "b"})
        );
        let theirs = r#"{"index":0,"id":"ws_1","name":"web_search","executor":"provider","arguments":{},"state":"whole","raw":"{}"}"#;
        let (code, items, words) = run(&["history", "--to", "anthropic"], theirs);
        assert_eq!((code, items.as_str()), (Some(0), ""));
        assert!(words.contains("web_search(ws_1)"));
    }

    #[test]
    fn what_is_no_call_line_is_an_error_of_one_line() {
        let (code, _, words) = run(
            &["history", "--to", "anthropic"],
            "{\"id\":\"c\",\"name\":\"t\"}\nnonsense\n",
        );
        assert_eq!((code, words.lines().count()), (Some(1), 1));
        assert!(words.contains("line 2"), "{words}");
        assert_eq!(run(&["history", "--to", "chatgpt"], "").0, Some(2));
        assert_eq!(run(&["history"], "").0, Some(2));
    }
}

#[test]
fn an_answer_shows_itself_only_when_asked() {
    let result = ToolResult::json(&oban(), json!({"secret": "x1y2"}));
    assert!(!format!("{result:?}").contains("x1y2"));
    let stored = serde_json::to_value(&result).unwrap();
    assert_eq!(stored["answer"], json!({"json": {"secret": "x1y2"}}));
    assert_eq!(
        serde_json::from_value::<ToolResult>(stored).unwrap(),
        result
    );
    assert_eq!(
        Answer::Error("Error: twice".into()).to_text(),
        "Error: twice"
    );
}
