use super::Decoder;
pub(super) fn decoder() -> Box<dyn Decoder> {
    super::openai_chat::decoder()
}
