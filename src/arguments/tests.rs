//! What rooms above know of a text, and what the object does not show of it.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing
)]

use super::*;

#[test]
fn a_chosen_reading_is_repaired_and_keeps_the_text_as_sent() {
    let (raw, chosen) = ("{\"a\"{\"a\":1.0}", "{\"a\":1.0}");
    let repairs = vec![Repair::new(RepairKind::Restated, 4)];
    let settled = Arguments::restated(
        raw.to_owned(),
        chosen,
        repairs.clone(),
        &Settling::default(),
    );
    assert_eq!(
        (settled.state(), settled.raw()),
        (ArgumentsState::Repaired, raw)
    );
    assert_eq!(
        (settled.to_json().as_str(), settled.repairs()),
        (chosen, &repairs[..])
    );
    let cut = Arguments::restated(raw.to_owned(), "{\"a\":", repairs, &Settling::default());
    assert_eq!((cut.state(), cut.raw()), (ArgumentsState::Truncated, raw));
}

#[test]
fn arguments_with_a_part_missing_state_what_came_before_it() {
    let damaged = Arguments::damaged("{\"a\":\"1\"}".to_owned(), 7, ProblemKind::Lost);
    assert_eq!(
        (damaged.state(), damaged.raw()),
        (ArgumentsState::Malformed, "{\"a\":\"1\"}")
    );
    assert_eq!(damaged.to_json(), "{\"a\":\"1\"}");
    let error = damaged.object().unwrap_err();
    assert_eq!(
        error.to_string(),
        "arguments are malformed: a part of the text is missing at byte 7"
    );
}

#[test]
fn what_the_object_does_not_show_is_told() {
    let big =
        Arguments::parse(r#"{"a":18446744073709551616,"b":1e30,"c":-0,"d":18446744073709551615}"#);
    assert_eq!(
        big.fidelity(),
        Fidelity {
            repeated_key: false,
            inexact_integer: true
        }
    );
    assert_eq!(
        Arguments::parse(r#"{"b":1e30,"c":-0}"#).fidelity(),
        Fidelity::default()
    );
}

#[test]
fn views_of_plain_text_state_nothing() {
    let view = PartialArguments::of_text("*** Begin Patch");
    assert!(view.object().is_empty() && view.get(["a"]).is_none() && !view.is_complete(["a"]));
    let mut reader = crate::json::PartialReader::new(json::MAX_DEPTH);
    reader.advance("{\"a\":\"x");
    assert_eq!(
        PartialArguments::new("{\"a\":\"x", &reader)
            .get(["a"])
            .unwrap(),
        "x"
    );
}
