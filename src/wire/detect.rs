use crate::framing::{Frame, FramingKind};
use crate::wire::WireFormat;
#[derive(Debug, Default)]
pub(crate) struct Detector;
pub(crate) enum Verdict {
    Format(WireFormat),
    Wait,
}
impl Detector {
    pub(crate) fn framed(&mut self, _: FramingKind) {}
    pub(crate) fn decide(&mut self, _: Frame<'_>) -> Verdict {
        Verdict::Format(WireFormat::OpenAiChat)
    }
}
