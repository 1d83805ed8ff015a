//! A chapter a task. Every example is compiled and run.
//!
//! | to | read |
//! |---|---|
//! | take the calls of a response | [`wrap_a_body`] |
//! | relay a response and watch it | [`relay_a_body`] |
//! | show a call while it is written | [`show_a_live_call`] |
//! | begin before it has ended | [`act_on_one_field_early`] |
//! | run calls as they come | [`run_tools_while_streaming`] |
//! | answer one that may not be run | [`answer_a_flagged_call`] |
//! | push bytes, frames or typed chunks | [`feed_it_by_hand`] |
//! | read another wire | [`write_a_decoder`] |
//! | bound memory, choose policies | [`tune_limits`] |
//! | know what providers do | [`quirks`] |
//! | handle an error | [`errors`] |
//! | replace a loop of one's own | [`from_a_hand_written_accumulator`] |
//! | know where it runs, and what may change | [`platforms`] |
//! | see what others make of the same bytes | [`compared`] |

/// A chapter; those whose examples need streams are there where streams are.
macro_rules! chapters {
    ($($(#[$feature:meta])? $name:ident $file:literal,)*) => {
        $(
            $(#[$feature])?
            #[doc = include_str!($file)]
            pub mod $name {}
        )*
    };
}

chapters! {
    #[cfg(feature = "stream")]
    wrap_a_body "guide/wrap_a_body.md",
    #[cfg(feature = "stream")]
    relay_a_body "guide/relay_a_body.md",
    #[cfg(feature = "stream")]
    show_a_live_call "guide/show_a_live_call.md",
    #[cfg(feature = "stream")]
    act_on_one_field_early "guide/act_on_one_field_early.md",
    #[cfg(feature = "stream")]
    run_tools_while_streaming "guide/run_tools_while_streaming.md",
    answer_a_flagged_call "guide/answer_a_flagged_call.md",
    #[cfg(feature = "stream")]
    feed_it_by_hand "guide/feed_it_by_hand.md",
    write_a_decoder "guide/write_a_decoder.md",
    tune_limits "guide/tune_limits.md",
    quirks "guide/quirks.md",
    errors "guide/errors.md",
    #[cfg(feature = "stream")]
    from_a_hand_written_accumulator "guide/from_a_hand_written_accumulator.md",
    platforms "guide/platforms.md",
    #[cfg(feature = "stream")]
    compared "guide/compared.md",
}
