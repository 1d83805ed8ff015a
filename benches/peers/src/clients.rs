//! Whole clients, called as their users call them, on the bytes of a body and not on a server's.

use std::future::Future;
use std::sync::LazyLock;
use std::time::Duration;

use tokio::runtime::Runtime;

use crate::peer::Reading;

mod async_openai;
mod genai;
mod loopback;
mod rig;

pub use async_openai::ASYNC_OPENAI;
pub use genai::{GENAI, GENAI_APART};
pub use loopback::DRAINED;
pub use rig::RIG;

/// What a client asks for is of no account: the answer is there already.
const PROMPT: &str = "When does the tide turn?";
const MODEL: &str = "demo";
const KEY: &str = "none";

/// A client that waits for ever is told from a slow one by this.
const PATIENCE: Duration = Duration::from_secs(60);

/// As many threads as a program with such a client has by default.
static RUNTIME: LazyLock<Runtime> = LazyLock::new(|| Runtime::new().expect("a runtime"));

fn block_on(reading: impl Future<Output = Reading>) -> Reading {
    RUNTIME.block_on(async {
        let outcome = tokio::time::timeout(PATIENCE, reading).await;
        outcome.unwrap_or_else(|_| Reading {
            errors: vec!["never ends".into()],
            ..Reading::default()
        })
    })
}
