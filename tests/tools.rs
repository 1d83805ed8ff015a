//! Tools: what a call is to them, what the model is told, and running calls while the stream goes on.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing
)]

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use callstitch::history::Answer;
use callstitch::tools::Json;
use callstitch::{
    Arguments, CallState, Event, ExecutionStatus, RefusalKind, Tool, ToolCall, ToolCallParser,
    ToolName, ToolSet, WireFormat,
};
use serde::Deserialize;
use serde_json::{Map, Value, json};

fn name(name: &str) -> ToolName {
    ToolName::new(name).unwrap()
}

fn call(tool: &str, arguments: impl Into<Arguments>) -> ToolCall {
    ToolCall::new(name(tool), arguments)
}

#[derive(Debug, Deserialize, PartialEq)]
struct Tide {
    port: String,
    #[serde(default)]
    days: u8,
}

fn tide_tools() -> ToolSet {
    ToolSet::from_iter([
        Tool::function(name("get_tide"), |tide: Tide| {
            format!("{} m at {}", tide.days, tide.port)
        }),
        Tool::function(name("get_moon"), |_: Map<String, Value>| {
            Json(json!({"phase": 3}))
        }),
        Tool::declared(name("ask_user")),
        Tool::free_form(name("run_sql"), |sql: &str| sql.to_uppercase()),
    ])
}

fn feedback(call: &ToolCall) -> String {
    tide_tools().resolve(call).feedback().unwrap()
}

#[test]
fn an_unknown_name_is_told_with_the_known_ones_and_the_nearest() {
    for (asked, nearest) in [
        ("get_tides", "get_tide"),
        ("getTide", "get_tide"),
        ("functions.get_moon", "get_moon"),
        ("GET-MOON", "get_moon"),
        ("run_sq", "run_sql"),
    ] {
        let call = call(asked, "{}");
        let tools = tide_tools();
        let refusal = tools.resolve(&call).into_refusal().unwrap();
        assert_eq!(refusal.nearest(), Some(nearest), "{asked}");
        let told = refusal.feedback();
        assert!(told.contains(asked) && told.contains("ask_user"), "{told}");
    }
    let far = call("launch_rocket", "{}");
    let tools = tide_tools();
    let refusal = tools.resolve(&far).into_refusal().unwrap();
    assert_eq!(refusal.nearest(), None);
    assert_eq!(refusal.known().len(), 4);
    assert_eq!(
        ToolSet::new().resolve(&far).feedback().unwrap(),
        "There is no tool named launch_rocket. There are no tools."
    );
}

#[test]
fn a_known_name_in_another_namespace_is_told_with_the_namespaces_that_have_it() {
    let bare = || Tool::declared(name("t"));
    let of = |namespace: &str| bare().namespace(namespace);
    let near = || Tool::declared(name("tt"));
    for (tools, told) in [
        (vec![bare()], "It is there without a namespace."),
        (vec![of("n"), near()], "It is there in: n."),
        (
            vec![of("n"), bare(), of("m"), near()],
            "It is there without a namespace, and in: n, m.",
        ),
        (vec![bare().deferred()], "It is there in: t."),
    ] {
        let tools = ToolSet::from_iter(tools);
        let asked = ToolCall::builder().name("t").extra("namespace", "zz");
        let asked = asked.build().unwrap();
        let refusal = tools.resolve(&asked).into_refusal().unwrap();
        assert_eq!(refusal.kind(), RefusalKind::UnknownTool);
        assert_eq!(refusal.nearest(), None);
        let no = "There is no tool named t in the namespace zz. ";
        assert_eq!(refusal.feedback(), format!("{no}{told}"));
    }
    // A name that no tool has is told as any other.
    let asked = ToolCall::builder().name("tu").extra("namespace", "zz");
    let asked = asked.build().unwrap();
    let told = ToolSet::from_iter([of("n"), near()])
        .resolve(&asked)
        .feedback();
    assert!(told.unwrap().contains("There is no tool named tu."));
}

#[test]
fn feedback_is_bounded_whatever_the_call_says() {
    let tools: ToolSet = (0..500)
        .map(|n| Tool::declared(name(&format!("tool_{n}_{}", "x".repeat(300)))))
        .collect();
    let long = call(&"y".repeat(100_000), "{}");
    assert!(tools.resolve(&long).feedback().unwrap().len() < 8_000);
    let long = ToolCall::builder()
        .name("t")
        .extra("namespace", "y".repeat(100_000));
    let tools: ToolSet = (0..500)
        .map(|n| Tool::declared(name("t")).namespace(format!("n_{n}_{}", "x".repeat(300))))
        .collect();
    let told = tools.resolve(&long.build().unwrap()).feedback().unwrap();
    assert!(told.contains("and 480 more") && told.len() < 8_000);
    let tool = Tool::declared(name("t")).check(|_| Err(vec!["z".repeat(100_000); 50]));
    let tools = ToolSet::new().with(tool);
    assert!(tools.resolve(&call("t", "{}")).feedback().unwrap().len() < 2_000);
}

#[test]
fn arguments_that_are_not_json_are_told_with_their_place() {
    let told = feedback(&call("get_tide", "{\"port\": Oban}"));
    assert!(
        told.contains("at byte 9") && told.contains("JSON object"),
        "{told}"
    );
    let told = feedback(&call("get_tide", "[1]"));
    assert!(told.contains("not an object"), "{told}");
}

#[test]
fn arguments_that_do_not_fit_are_told_in_the_types_words() {
    let told = feedback(&call("get_tide", "{\"days\":1}"));
    assert!(
        told.contains("missing field `port`") && !told.contains("line 1"),
        "{told}"
    );
    let refusal = tide_tools()
        .resolve(&call("get_tide", "{\"port\":7}"))
        .into_refusal()
        .unwrap();
    assert_eq!(refusal.kind(), RefusalKind::Mismatch);
    assert_eq!(refusal.problems().len(), 1);
}

#[cfg(feature = "schema")]
#[test]
fn five_schema_problems_are_told_and_none_of_the_values() {
    let properties: Map<String, Value> = (0..9)
        .map(|n| (format!("p{n}"), json!({"type": "integer"})))
        .collect();
    let schema = json!({"type": "object", "properties": properties, "additionalProperties": false});
    let tools = ToolSet::new().with(Tool::declared(name("t")).schema(&schema).unwrap());
    let wrong: Map<String, Value> = (0..9).map(|n| (format!("p{n}"), json!("secret"))).collect();
    let wrong = call("t", wrong);
    let told = tools.resolve(&wrong).feedback().unwrap();
    assert_eq!(told.matches("integer").count(), 5, "{told}");
    assert!(
        told.contains("and more") && !told.contains("secret"),
        "{told}"
    );
    assert!(tools.resolve(&call("t", "{\"p1\":1}")).is_valid());
    assert!(
        Tool::declared(name("t"))
            .schema(&json!({"type": 7}))
            .is_err()
    );
    let elsewhere = json!({"$ref": "https://example.com/schema.json"});
    assert!(Tool::declared(name("t")).schema(&elsewhere).is_err());
}

fn from_body(format: WireFormat, body: &str) -> Vec<ToolCall> {
    let mut parser = ToolCallParser::new(format);
    let whole = |event: Result<Event<'_>, _>| event.ok()?.into_call();
    let mut calls: Vec<_> = parser.push(body.as_bytes()).filter_map(whole).collect();
    calls.extend(parser.finish().filter_map(whole));
    calls
}

#[test]
fn a_call_cut_by_the_output_limit_is_told_to_send_less() {
    let cut = r#"data: {"choices":[{"delta":{"tool_calls":[{"index":0,"id":"c","function":{"name":"get_tide","arguments":"{\"port\":\"Ob"}}]}}]}

"#;
    let limited = format!(
        "{cut}data: {{\"choices\":[{{\"delta\":{{}},\"finish_reason\":\"length\"}}]}}\n\ndata: [DONE]\n\n"
    );
    let call = &from_body(WireFormat::OpenAiChat, &limited)[0];
    assert_eq!(call.state(), CallState::Truncated);
    let told = feedback(call);
    assert!(
        told.contains("output limit") && told.contains("with less"),
        "{told}"
    );
    // A connection that broke is another matter.
    let told = feedback(&from_body(WireFormat::OpenAiChat, cut)[0]);
    assert!(
        told.contains("broke off") && !told.contains("less"),
        "{told}"
    );
}

#[test]
fn only_a_reason_that_means_the_output_limit_is_told_as_one() {
    let told = |reason: &str| {
        let cut = r#"data: {"choices":[{"delta":{"tool_calls":[{"index":0,"id":"c","function":{"name":"get_tide","arguments":"{\"port\":\"Ob"}}]}}]}

"#;
        let body = format!(
            "{cut}data: {{\"choices\":[{{\"delta\":{{}},\"finish_reason\":\"{reason}\"}}]}}\n\ndata: [DONE]\n\n"
        );
        let call = &from_body(WireFormat::OpenAiChat, &body)[0];
        assert_eq!(call.evidence().finish_reason.as_deref(), Some(reason));
        // What is kept of the reason says the same.
        let kept = serde_json::to_value(call).unwrap();
        let kept: ToolCall = serde_json::from_value(kept).unwrap();
        assert_eq!(&kept, call);
        assert_eq!(feedback(&kept), feedback(call));
        feedback(call)
    };
    for reason in ["length", "max_tokens", "model_context_window_exceeded"] {
        assert!(told(reason).contains("output limit"), "{reason}");
    }
    for reason in [
        "rate_limit",
        "time_limit",
        "unlimited",
        "content_filter",
        "stop",
    ] {
        let told = told(reason);
        assert!(
            told.contains("broke off") && !told.contains("limit"),
            "{reason}: {told}"
        );
    }
}

#[test]
fn a_call_is_judged_once_before_it_is_run() {
    let judged = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&judged);
    let tool = Tool::function(name("t"), |_: Map<String, Value>| "done");
    let tools = ToolSet::new().with(tool.check(move |arguments| {
        counted.fetch_add(1, Ordering::SeqCst);
        Ok(arguments.clone())
    }));
    let call = call("t", "{}");
    assert!(tools.execute_now(&call).unwrap().did_run());
    assert_eq!(judged.swap(0, Ordering::SeqCst), 1);
    assert!(futures::executor::block_on(tools.execute(&call)).did_run());
    assert_eq!(judged.load(Ordering::SeqCst), 1);
}

#[test]
fn plain_text_and_objects_are_not_taken_for_each_other() {
    let tools = tide_tools();
    let sql = call("run_sql", Arguments::free_form("select 1".into(), false));
    let ran = tools.execute_now(&sql).unwrap();
    assert_eq!(
        ran.result().unwrap().answer,
        Answer::Text("SELECT 1".into())
    );
    for wrong in [
        call("run_sql", "{}"),
        call("get_moon", Arguments::free_form("x".into(), false)),
    ] {
        let refusal = tools.resolve(&wrong).into_refusal().unwrap();
        assert_eq!(refusal.kind(), RefusalKind::WrongForm);
    }
}

#[test]
fn refusals_and_outcomes_show_no_arguments() {
    let tools = tide_tools();
    let wrong = call("get_tide", "{\"port\":[\"x1y2\"]}");
    let outcome = tools.execute_now(&wrong).unwrap();
    let refusal = outcome.refusal().unwrap();
    for shown in [
        format!("{outcome:?}"),
        format!("{refusal:?}"),
        refusal.to_string(),
        format!("{:?}", tools.resolve(&wrong)),
    ] {
        assert!(!shown.contains("x1y2"), "{shown}");
    }
}

#[test]
fn an_outcome_is_answered_and_notes_its_status() {
    let tools = tide_tools();
    let ran = tools
        .execute_now(&call("get_tide", "{\"port\":\"Oban\",\"days\":2}"))
        .unwrap();
    assert_eq!(ran.result().unwrap().answer.to_text(), "2 m at Oban");
    assert_eq!(ran.call().execution_status(), ExecutionStatus::Completed);
    let nobody = tools.execute_now(&call("ask_user", "{}")).unwrap();
    assert_eq!(nobody.refusal().unwrap().kind(), RefusalKind::NoHandler);
    assert_eq!(nobody.call().execution_status(), ExecutionStatus::Failed);
    assert!(nobody.result().unwrap().answer.is_error());
    let theirs = tools
        .execute_now(&ToolCall::builtin(name("get_tide"), "{\"port\":\"Oban\"}"))
        .unwrap();
    assert!(theirs.result().is_none() && !theirs.did_run());
    // A call without a name is not sent back, so nothing answers it there; the caller is told.
    let unnamed = ToolCall::from_value(json!({"id": "call_1", "arguments": {}})).unwrap();
    let unnamed = tools.execute_now(&unnamed).unwrap();
    assert_eq!(unnamed.refusal().unwrap().kind(), RefusalKind::Unnamed);
    assert_eq!(unnamed.call().execution_status(), ExecutionStatus::Failed);
    assert!(unnamed.result().is_none() && !unnamed.did_run());
}

#[test]
fn an_async_handler_needs_the_async_verb() {
    let tools = ToolSet::new().with(Tool::function_async(name("t"), |tide: Tide| async move {
        Ok::<_, String>(tide.port)
    }));
    let call = call("t", "{\"port\":\"Oban\"}");
    assert!(tools.execute_now(&call).is_err());
    let outcome = futures::executor::block_on(tools.execute(&call));
    assert_eq!(
        outcome.result().unwrap().answer,
        Answer::Text("Oban".into())
    );
}

#[test]
fn numbers_reach_a_handler_with_every_digit() {
    #[derive(Deserialize)]
    struct Big {
        n: u128,
    }
    let tools = ToolSet::new().with(Tool::function(name("t"), |big: Big| big.n.to_string()));
    let call = call("t", "{\"n\":340282366920938463463374607431768211455}");
    let outcome = tools.execute_now(&call).unwrap();
    assert_eq!(
        outcome.result().unwrap().answer.to_text(),
        u128::MAX.to_string()
    );
}

#[derive(Debug, Deserialize, PartialEq)]
#[serde(rename_all = "snake_case")]
enum Ask<'a> {
    GetTide {
        port: &'a str,
    },
    GetMoon(Moon),
    Now,
    #[serde(borrow)]
    RunSql(&'a str),
}

#[derive(Debug, Deserialize, PartialEq)]
struct Moon {
    day: u8,
}

#[test]
fn a_call_is_read_as_an_enum_that_borrows() {
    let tide = call("get_tide", "{\"port\":\"Oban\"}");
    assert_eq!(tide.resolve(), Ok(Ask::GetTide { port: "Oban" }));
    assert_eq!(
        call("get_moon", "{\"day\":3}").resolve(),
        Ok(Ask::GetMoon(Moon { day: 3 }))
    );
    assert_eq!(call("now", "").resolve(), Ok(Ask::Now));
    assert_eq!(call("now", "{\"zone\":\"UTC\"}").resolve(), Ok(Ask::Now));
    let sql = call("run_sql", Arguments::free_form("select 1".into(), false));
    assert_eq!(sql.resolve(), Ok(Ask::RunSql("select 1")));
    // A key that comes twice: the last one counts, as in the object.
    let twice = call("get_moon", "{\"day\":3,\"day\":4}");
    assert_eq!(twice.resolve(), Ok(Ask::GetMoon(Moon { day: 4 })));
}

#[test]
fn an_unknown_variant_is_told_from_content_that_does_not_fit() {
    let kind = |call: &ToolCall| call.resolve::<Ask<'_>>().unwrap_err().kind();
    assert_eq!(kind(&call("get_tides", "{}")), RefusalKind::UnknownTool);
    assert_eq!(kind(&call("get_tides", "{\"cut")), RefusalKind::UnknownTool);
    assert_eq!(
        kind(&call("get_moon", "{\"day\":\"three\"}")),
        RefusalKind::Mismatch
    );
    assert_eq!(kind(&call("get_moon", "{}")), RefusalKind::Mismatch);
    assert_eq!(kind(&call("get_moon", "{\"day\":")), RefusalKind::Truncated);
    assert_eq!(kind(&call("now", "{\"a\":")), RefusalKind::Truncated);
    assert_eq!(kind(&call("get_moon", "nonsense")), RefusalKind::Unreadable);
    assert_eq!(
        kind(&ToolCall::builtin(name("now"), "{}")),
        RefusalKind::ProviderExecuted
    );
    let error = call("get_moon", "{\"day\":\"three\"}")
        .resolve::<Ask<'_>>()
        .unwrap_err();
    assert!(error.feedback().contains("invalid type") && !error.feedback().contains("line 1"));
    assert!(!error.to_string().contains("three"));
    let error = call("get_tides", "{}").resolve::<Ask<'_>>().unwrap_err();
    assert_eq!(error.known(), ["get_tide", "get_moon", "now", "run_sql"]);
}

#[test]
fn types_that_are_no_enum_see_one_member_by_the_calls_name() {
    let by_name: HashMap<String, Value> = call("get_moon", "{\"day\":3}").resolve().unwrap();
    assert_eq!(by_name["get_moon"], json!({"day": 3}));
}

/// What serde's own JSON reader would read from `{"get_moon": {"day": 3}}`, also where the text repeats a key, and where a check
/// changed the object.
#[test]
fn a_call_and_its_arguments_are_read_through_options_and_newtypes() {
    #[derive(Debug, Deserialize, PartialEq, Eq, Hash)]
    struct Key(String);
    #[derive(Debug, Deserialize, PartialEq)]
    struct Around<T>(T);
    #[derive(Debug, Deserialize, PartialEq)]
    struct OneOf {
        get_tide: Option<Map<String, Value>>,
        get_moon: Option<Moon>,
    }
    #[derive(Debug, Deserialize, PartialEq)]
    #[serde(rename_all = "snake_case")]
    enum Sql {
        RunSql(Around<Option<Around<String>>>),
    }
    #[derive(Debug, Deserialize, PartialEq)]
    #[serde(rename_all = "snake_case")]
    enum When {
        Full(Moon),
        Now,
    }

    for text in ["{\"day\":3}", "{\"day\":4,\"day\":3}"] {
        let moon = call("get_moon", text);
        let day = || Moon { day: 3 };
        let asked = || Ask::GetMoon(day());
        assert_eq!(moon.resolve(), Ok(Around(Some(asked()))), "{text}");
        assert_eq!(moon.resolve(), Ok(Some(Around(asked()))), "{text}");
        let one = OneOf {
            get_tide: None,
            get_moon: Some(day()),
        };
        assert_eq!(moon.resolve(), Ok(one), "{text}");
        let by_name: HashMap<Key, Around<Option<Moon>>> = moon.resolve().unwrap();
        assert_eq!(by_name[&Key("get_moon".into())], Around(Some(day())));

        let read = |moon: Around<Option<Moon>>| format!("{moon:?}");
        let plain = Tool::function(name("get_moon"), read);
        let checked = Tool::function(name("get_moon"), read).check(|object| Ok(object.clone()));
        for tool in [plain, checked] {
            let outcome = ToolSet::new().with(tool).execute_now(&moon).unwrap();
            let answer = outcome.result().unwrap().answer.to_text();
            assert_eq!(answer, "Around(Some(Moon { day: 3 }))", "{text}");
        }
    }
    let nested = call("when", "{\"full\":{\"day\":3,\"day\":4}}");
    let by_name: HashMap<String, Option<When>> = nested.resolve().unwrap();
    assert_eq!(by_name["when"], Some(When::Full(Moon { day: 4 })));

    let free = |text: &str| call("run_sql", Arguments::free_form(text.into(), false));
    let text = Around(Some(Around("select 1".to_owned())));
    assert_eq!(free("select 1").resolve(), Ok(Sql::RunSql(text)));
    let by_name: HashMap<String, When> = free("now").resolve().unwrap();
    assert_eq!(by_name["run_sql"], When::Now);
}

/// Running calls while the stream goes on.
#[cfg(feature = "stream")]
mod running {
    use super::*;
    use callstitch::history::{Entry, HistoryFormat, check};
    use callstitch::tools::RunCalls;
    use callstitch::{ByteStreamExt, Error, ErrorKind, Outcome};
    use futures::stream::FusedStream;
    use futures::{Stream, StreamExt};
    use std::time::Duration;

    /// Calls in the order given, and perhaps an error.
    fn calls(calls: Vec<ToolCall>, error: bool) -> impl Stream<Item = Result<ToolCall, Error>> {
        let error = error.then(|| Err(Error::new(ErrorKind::Truncated, 7, "cut")));
        futures::stream::iter(calls.into_iter().map(Ok).chain(error))
    }

    fn slow_tools(most: &Arc<AtomicUsize>) -> ToolSet {
        let (now, most) = (Arc::new(AtomicUsize::new(0)), most.clone());
        ToolSet::new().with(Tool::function_async(
            name("wait"),
            move |args: Map<String, Value>| {
                let (now, most) = (now.clone(), most.clone());
                async move {
                    most.fetch_max(now.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
                    let ms = args.get("ms").and_then(Value::as_u64).unwrap_or(0);
                    tokio::time::sleep(Duration::from_millis(ms)).await;
                    now.fetch_sub(1, Ordering::SeqCst);
                    ms.to_string()
                }
            },
        ))
    }

    fn wait(ms: u64) -> ToolCall {
        call("wait", json!({"ms": ms}))
    }

    fn answers(outcomes: &[Result<Outcome, Error>]) -> Vec<String> {
        let outcomes = outcomes.iter().flatten();
        outcomes
            .map(|outcome| {
                outcome
                    .result()
                    .map_or("-".into(), |result| result.answer.to_text())
            })
            .collect()
    }

    #[tokio::test(start_paused = true)]
    async fn results_come_as_they_finish_and_no_more_run_than_may() {
        let most = Arc::new(AtomicUsize::new(0));
        let tools = slow_tools(&most);
        let run = calls(vec![wait(90), wait(30), wait(60), wait(10)], false).run(&tools, 2);
        let outcomes: Vec<_> = run.collect().await;
        // 90 and 30 begin; 60 follows 30, and 10 follows whichever is next.
        assert_eq!(
            answers(&outcomes),
            ["30", "90", "60", "10"]
                .map(str::to_owned)
                .to_vec()
                .as_slice(),
            "{outcomes:?}"
        );
        assert_eq!(most.load(Ordering::SeqCst), 2);
    }

    #[tokio::test(start_paused = true)]
    async fn calls_run_while_the_stream_goes_on() {
        let tools = slow_tools(&Arc::new(AtomicUsize::new(0)));
        let (sender, receiver) = futures::channel::mpsc::unbounded();
        let mut run = receiver.run(&tools, 4);
        sender.unbounded_send(Ok(wait(10))).unwrap();
        // The stream has not ended, and the first outcome is there.
        let first = run.next().await.unwrap().unwrap();
        assert_eq!(first.result().unwrap().answer.to_text(), "10");
        sender.unbounded_send(Ok(wait(5))).unwrap();
        drop(sender);
        assert_eq!(
            run.next()
                .await
                .unwrap()
                .unwrap()
                .result()
                .unwrap()
                .answer
                .to_text(),
            "5"
        );
        assert!(run.next().await.is_none() && run.is_terminated());
    }

    #[tokio::test(start_paused = true)]
    async fn an_error_stops_new_starts_and_comes_after_all_that_ran() {
        let most = Arc::new(AtomicUsize::new(0));
        let tools = slow_tools(&most);
        let mut run = calls(vec![wait(30), wait(20), wait(10)], true).run(&tools, 1);
        let mut outcomes = Vec::new();
        while let Some(outcome) = run.next().await {
            outcomes.push(outcome);
        }
        let kinds: Vec<_> = outcomes
            .iter()
            .flatten()
            .map(|outcome| outcome.refusal().map(|refusal| refusal.kind()))
            .collect();
        assert_eq!(
            kinds,
            [
                Some(RefusalKind::NotStarted),
                Some(RefusalKind::NotStarted),
                None
            ]
        );
        assert_eq!(
            outcomes.last().unwrap().as_ref().unwrap_err().kind(),
            ErrorKind::Truncated
        );
        assert_eq!(most.load(Ordering::SeqCst), 1);
        assert!(run.next().await.is_none() && run.is_terminated());
    }

    #[tokio::test(start_paused = true)]
    async fn what_waits_at_an_error_is_refused_for_its_own_reason_if_it_has_one() {
        let tools = slow_tools(&Arc::new(AtomicUsize::new(0)));
        let builtin = ToolCall::builtin(name("wait"), "{}");
        let waiting = vec![wait(9), builtin, call("nobody", "{}"), wait(1)];
        let outcomes: Vec<_> = calls(waiting, true).run(tools, 1).collect().await;
        let told = outcomes.iter().flatten();
        let told: Vec<_> = told
            .filter_map(|outcome| Some((outcome.refusal()?.kind(), outcome.result().is_some())))
            .collect();
        assert_eq!(
            told,
            [
                (RefusalKind::ProviderExecuted, false),
                (RefusalKind::UnknownTool, true),
                (RefusalKind::NotStarted, true),
            ]
        );
        assert!(outcomes.last().unwrap().is_err());
    }

    #[tokio::test(start_paused = true)]
    async fn refusals_are_outcomes_and_what_a_provider_ran_is_not_run() {
        let tools = slow_tools(&Arc::new(AtomicUsize::new(0)));
        let builtin = ToolCall::builtin(name("wait"), "{}");
        let all = vec![
            call("nobody", "{}"),
            call("wait", "{\"ms\":"),
            builtin,
            ToolCall::from_value(json!({"id": "call_1", "arguments": {}})).unwrap(),
            wait(1),
        ];
        let outcomes: Vec<_> = calls(all, false).run(tools, 0).collect().await;
        assert_eq!(outcomes.len(), 5);
        let ran: Vec<_> = outcomes
            .iter()
            .flatten()
            .filter(|outcome| outcome.did_run())
            .collect();
        assert_eq!(ran.len(), 1);
        // What comes out is a history that stands on its own.
        let (calls, results): (Vec<_>, Vec<_>) = outcomes
            .into_iter()
            .flatten()
            .map(Outcome::into_parts)
            .unzip();
        let entries = calls.into_iter().map(Entry::Call);
        let entries = entries.chain(results.into_iter().flatten().map(Entry::Result));
        assert_eq!(check(entries), []);
    }

    #[tokio::test(start_paused = true)]
    async fn a_stream_of_bytes_becomes_results_to_send() {
        let body = br#"data: {"choices":[{"delta":{"tool_calls":[{"index":0,"id":"call_1","function":{"name":"wait","arguments":"{\"ms\":5}"}}]}}]}

data: {"choices":[{"delta":{"tool_calls":[{"index":1,"id":"call_2","function":{"name":"wait","arguments":"{\"ms\":1}"}}]}}]}

data: [DONE]

"#;
        let tools = slow_tools(&Arc::new(AtomicUsize::new(0)));
        let body = futures::stream::iter(body.chunks(11).map(Ok::<_, std::io::Error>));
        let outcomes: Vec<_> = body
            .tool_calls(WireFormat::OpenAiChat)
            .run(&tools, 8)
            .collect()
            .await;
        let messages: Vec<_> = outcomes
            .iter()
            .flatten()
            .filter_map(Outcome::result)
            .map(|result| result.to_wire(HistoryFormat::OpenAiChat))
            .collect();
        assert_eq!(
            messages,
            [
                json!({"role": "tool", "tool_call_id": "call_2", "content": "1"}),
                json!({"role": "tool", "tool_call_id": "call_1", "content": "5"}),
            ]
        );
    }

    #[test]
    fn running_calls_may_go_to_another_thread() {
        fn is_send<T: Send>(_: &T) {}
        let run = calls(vec![], false).run(ToolSet::new(), 1);
        is_send(&run);
        let (tools, call) = (ToolSet::new(), wait(1));
        is_send(&tools.execute(&call));
    }
}
