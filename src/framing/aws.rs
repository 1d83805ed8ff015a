//! The AWS binary event stream, `application/vnd.amazon.eventstream` (WIRE_FORMATS 5.1).
//!
//! ```text
//!  0        4          8              12        12+H                total-4
//!  | total  | headers  | CRC of 0..8  | headers | payload           | CRC of all before |
//!  |        | length H |              |         |                   |                   |
//! ```
//!
//! Written here because the AWS crates for it bring a type system and an async stack for some two hundred lines.
//!
//! 1. The prelude's checksum and lengths are checked as soon as its 12 bytes are there; the buffer grows with the bytes that
//!    arrive, never by a length read from the wire. A frame wholly inside a chunk is read in place.
//! 2. The message checksum is checked before anything of the frame is given out.
//! 3. A wrong checksum, length or header is fatal: frame boundaries cannot be trusted after it.
//! 4. A body that begins as JSON does, with a bracket, white space or a BOM, cannot be a frame (it would be longer than 150 MB): it
//!    is an ordinary JSON error and given as [`Origin::Unterminated`] at its end.
//! 5. A frame of an unknown `:message-type` is skipped.

use super::{FrameLimits, advance, clear, give, over_limit, without_bom};
use crate::error::{Error, ErrorKind};
use crate::framing::{FrameSink, Origin};

/// Bytes before the headers.
const PRELUDE: usize = 12;
/// Bytes of a frame without headers and payload.
const OVERHEAD: usize = 16;
/// What AWS's own clients refuse (botocore, `eventstream.py`).
const MAX_HEADERS: usize = 128 << 10;
const MAX_PAYLOAD: usize = 24 << 20;

/// The machine.
pub(crate) struct Aws {
    limits: FrameLimits,
    /// Bytes pushed so far.
    offset: u64,
    /// The body is not in frames but one JSON text.
    is_json: bool,
    /// The beginning of the frame that is not whole yet.
    carry: Vec<u8>,
    /// That frame's prelude, once it is there.
    prelude: Option<Prelude>,
}

/// The lengths of a frame, checked: `OVERHEAD + headers <= total`, and both parts below what AWS allows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Prelude {
    total: usize,
    headers: usize,
}

impl Prelude {
    /// Checks the checksum and the lengths. The error says what is wrong.
    pub(super) fn read(bytes: &[u8; PRELUDE]) -> Result<Self, &'static str> {
        let [t0, t1, t2, t3, h0, h1, h2, h3, c0, c1, c2, c3] = *bytes;
        let total = u32::from_be_bytes([t0, t1, t2, t3]) as usize;
        let headers = u32::from_be_bytes([h0, h1, h2, h3]) as usize;
        if crc32fast::hash(&[t0, t1, t2, t3, h0, h1, h2, h3])
            != u32::from_be_bytes([c0, c1, c2, c3])
        {
            return Err("the prelude's checksum is wrong");
        }
        let Some(payload) = total
            .checked_sub(OVERHEAD)
            .and_then(|rest| rest.checked_sub(headers))
        else {
            return Err("the frame is shorter than its parts");
        };
        if headers > MAX_HEADERS {
            return Err("the headers are longer than 128 KiB");
        }
        if payload > MAX_PAYLOAD {
            return Err("the payload is longer than 24 MiB");
        }
        Ok(Prelude { total, headers })
    }

    fn payload(self) -> usize {
        self.total - OVERHEAD - self.headers
    }
}

impl Aws {
    pub(super) fn new(limits: FrameLimits) -> Self {
        Aws {
            limits,
            offset: 0,
            is_json: false,
            carry: Vec::new(),
            prelude: None,
        }
    }

    pub(super) fn offset(&self) -> u64 {
        self.offset
    }

    pub(super) fn reset(&mut self) {
        self.offset = 0;
        self.is_json = false;
        self.close();
    }

    fn close(&mut self) {
        self.prelude = None;
        clear(&mut self.carry);
    }

    pub(super) fn push(&mut self, chunk: &[u8], sink: &mut impl FrameSink) -> Result<(), Error> {
        if self.offset == 0 {
            let begins =
                |byte: &u8| matches!(byte, b'{' | b'[' | 0xEF) || byte.is_ascii_whitespace();
            self.is_json = chunk.first().is_some_and(begins);
        }
        self.offset = advance(self.offset, chunk.len());
        let result = if self.is_json {
            self.push_json(chunk)
        } else {
            self.push_frames(chunk, sink)
        };
        if result.is_err() {
            self.close();
        }
        result
    }

    fn push_json(&mut self, chunk: &[u8]) -> Result<(), Error> {
        let limit = self.limits.frame;
        if self.carry.len() + chunk.len() > limit {
            return Err(over_limit("a frame", limit, limit as u64));
        }
        self.carry.extend_from_slice(chunk);
        Ok(())
    }

    fn push_frames(&mut self, chunk: &[u8], sink: &mut impl FrameSink) -> Result<(), Error> {
        let mut rest = chunk;
        loop {
            let start = self.offset - rest.len() as u64 - self.carry.len() as u64;
            let prelude = match self.prelude {
                Some(prelude) => prelude,
                None => {
                    if !self.carry.is_empty() {
                        rest = self.carry_up_to(PRELUDE, rest);
                    }
                    let bytes = if self.carry.is_empty() {
                        rest
                    } else {
                        &self.carry
                    };
                    let Some(bytes) = bytes.first_chunk() else {
                        self.carry.extend_from_slice(rest);
                        return Ok(());
                    };
                    let prelude = Prelude::read(bytes).map_err(|what| broken(what, start))?;
                    if prelude.payload() > self.limits.frame {
                        return Err(over_limit("a frame", self.limits.frame, start));
                    }
                    *self.prelude.insert(prelude)
                }
            };
            if self.carry.is_empty() {
                let Some((frame, after)) = rest.split_at_checked(prelude.total) else {
                    self.carry.extend_from_slice(rest);
                    return Ok(());
                };
                read_frame(frame, prelude, start, sink)?;
                self.prelude = None;
                rest = after;
            } else {
                rest = self.carry_up_to(prelude.total, rest);
                if self.carry.len() < prelude.total {
                    return Ok(());
                }
                read_frame(&self.carry, prelude, start, sink)?;
                self.close();
            }
        }
    }

    /// Moves bytes to the carry until it holds `len`. Gives what is left.
    fn carry_up_to<'c>(&mut self, len: usize, rest: &'c [u8]) -> &'c [u8] {
        let missing = len.saturating_sub(self.carry.len());
        let (part, after) = rest.split_at_checked(missing).unwrap_or((rest, &[]));
        self.carry.extend_from_slice(part);
        after
    }

    pub(super) fn finish(&mut self, sink: &mut impl FrameSink) -> Result<(), Error> {
        let held = self.carry.len();
        if self.is_json {
            let (text, at) = without_bom(&self.carry, 0);
            let space = text.len() - text.trim_ascii_start().len();
            let text = text.trim_ascii_start();
            give(sink, text, None, Origin::Unterminated, advance(at, space));
        }
        self.close();
        if held == 0 || self.is_json {
            return Ok(());
        }
        let message = format!("the body ends inside a frame, of which {held} bytes came");
        Err(Error::new(ErrorKind::Truncated, self.offset, message))
    }
}

/// What the headers say.
#[derive(Default)]
struct Headers<'a> {
    message_type: Option<&'a [u8]>,
    event_type: Option<&'a [u8]>,
    exception_type: Option<&'a [u8]>,
    error_code: Option<&'a [u8]>,
    error_message: Option<&'a [u8]>,
}

impl<'a> Headers<'a> {
    /// `None`: the bytes are no headers.
    fn read(mut bytes: &'a [u8]) -> Option<Self> {
        let mut headers = Headers::default();
        while let Some((&name_length, rest)) = bytes.split_first() {
            let (name, rest) = rest.split_at_checked(usize::from(name_length))?;
            let (&value_type, rest) = rest.split_first()?;
            let (length, rest) = match value_type {
                0 | 1 => (0, rest),
                2 => (1, rest),
                3 => (2, rest),
                4 => (4, rest),
                5 | 8 => (8, rest),
                6 | 7 => {
                    let (length, rest) = rest.split_first_chunk()?;
                    (usize::from(u16::from_be_bytes(*length)), rest)
                }
                9 => (16, rest),
                _ => return None,
            };
            let (value, rest) = rest.split_at_checked(length)?;
            if value_type == 7 {
                match name {
                    b":message-type" => headers.message_type = Some(value),
                    b":event-type" => headers.event_type = Some(value),
                    b":exception-type" => headers.exception_type = Some(value),
                    b":error-code" => headers.error_code = Some(value),
                    b":error-message" => headers.error_message = Some(value),
                    _ => {}
                }
            }
            bytes = rest;
        }
        Some(headers)
    }
}

/// Checks the whole frame and gives it to the sink. `frame` is `prelude.total` bytes long.
fn read_frame(
    frame: &[u8],
    prelude: Prelude,
    start: u64,
    sink: &mut impl FrameSink,
) -> Result<(), Error> {
    let (checked, crc) = frame
        .split_last_chunk()
        .ok_or_else(|| broken("no checksum", start))?;
    if crc32fast::hash(checked) != u32::from_be_bytes(*crc) {
        return Err(broken("the frame's checksum is wrong", start));
    }
    let (headers, payload) = checked
        .get(PRELUDE..)
        .and_then(|parts| parts.split_at_checked(prelude.headers))
        .ok_or_else(|| broken("the frame is shorter than its parts", start))?;
    let headers =
        Headers::read(headers).ok_or_else(|| broken("the headers are malformed", start))?;
    let (event, data, origin) = match headers.message_type {
        Some(b"event") | None => (headers.event_type, payload, Origin::Event),
        Some(b"exception") => (headers.exception_type, payload, Origin::Exception),
        Some(b"error") => {
            let message = headers.error_message.unwrap_or(payload);
            (headers.error_code, message, Origin::Exception)
        }
        Some(_) => return Ok(()),
    };
    give(sink, data, event, origin, start);
    Ok(())
}

#[cold]
fn broken(what: &str, start: u64) -> Error {
    Error::new(ErrorKind::Framing, start, format!("binary frame: {what}"))
}
