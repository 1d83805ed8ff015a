//! Which framing the first bytes of a body show.

use super::{BOM, FramingKind};

/// Proxies pad with one or two KiB.
pub(crate) const MAX_PADDING: usize = 64 << 10;

/// The framing of a body that begins with `prefix`. `None`: these bytes do not say yet (nothing, a part of a BOM, white
/// space, or a part of a binary prelude). An answer never changes when more bytes come.
///
/// | first byte after BOM and white space | framing |
/// |---|---|
/// | 0 or 1 at offset 0, and the prelude's checksum is right (frames stay under 2^25 bytes) | binary |
/// | `[` | one JSON array |
/// | `{` | lines: NDJSON, a bare error body, or one pretty-printed object |
/// | anything else: a field, a comment, plain text | server-sent events |
#[cfg(test)]
pub(crate) fn sniff(prefix: &[u8]) -> Option<FramingKind> {
    sniff_padded(prefix, MAX_PADDING)
}

/// As [`sniff`]. More white space than `most` before the first byte that is none is read as server-sent events, which it harms
/// least: a line of it is as long as any other.
pub(crate) fn sniff_padded(prefix: &[u8], most: usize) -> Option<FramingKind> {
    #[cfg(feature = "bedrock")]
    if matches!(prefix.first(), Some(0 | 1)) {
        let prelude = prefix.first_chunk()?;
        return Some(match super::aws::Prelude::read(prelude) {
            Ok(_) => FramingKind::Aws,
            Err(_) => FramingKind::Sse,
        });
    }
    let text = match prefix.strip_prefix(BOM) {
        Some(text) => text,
        None if BOM.starts_with(prefix) => return None,
        None => prefix,
    };
    let solid = text.trim_ascii_start();
    if text.len() - solid.len() > most {
        return Some(FramingKind::Sse);
    }
    sniff_solid(solid)
}

/// As [`sniff`], for bytes with nothing but a BOM and white space before them, which are not read again.
pub(crate) fn sniff_solid(bytes: &[u8]) -> Option<FramingKind> {
    match bytes.trim_ascii_start().first()? {
        b'[' => Some(FramingKind::JsonArray),
        b'{' => Some(FramingKind::Lines),
        _ => Some(FramingKind::Sse),
    }
}
