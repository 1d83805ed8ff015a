//! An encoder for the AWS binary event stream, for tests. It shares no code with the decoder: its CRC is the bitwise
//! definition.

#![allow(clippy::unwrap_used, dead_code, unreachable_pub)]

/// A frame of `:message-type: event`, as Bedrock writes it: event type, content type, message type.
pub fn event(event_type: &str, payload: &str) -> Vec<u8> {
    let headers = [
        (":event-type", event_type),
        (":content-type", "application/json"),
        (":message-type", "event"),
    ];
    frame(&string_headers(&headers), payload.as_bytes())
}

/// A frame of `:message-type: exception`.
pub fn exception(exception_type: &str, payload: &str) -> Vec<u8> {
    let headers = [
        (":exception-type", exception_type),
        (":content-type", "application/json"),
        (":message-type", "exception"),
    ];
    frame(&string_headers(&headers), payload.as_bytes())
}

/// A frame of `:message-type: error`, which has no payload.
pub fn error(code: &str, message: &str) -> Vec<u8> {
    let headers = [
        (":error-code", code),
        (":error-message", message),
        (":message-type", "error"),
    ];
    frame(&string_headers(&headers), b"")
}

/// Headers whose values are strings (type 7).
pub fn string_headers(headers: &[(&str, &str)]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for (name, value) in headers {
        let mut typed = u16::try_from(value.len()).unwrap().to_be_bytes().to_vec();
        typed.extend_from_slice(value.as_bytes());
        bytes.extend_from_slice(&header(name, 7, &typed));
    }
    bytes
}

/// One header with a value of any type: `value` is what follows the type byte.
pub fn header(name: &str, value_type: u8, value: &[u8]) -> Vec<u8> {
    let mut bytes = vec![u8::try_from(name.len()).unwrap()];
    bytes.extend_from_slice(name.as_bytes());
    bytes.push(value_type);
    bytes.extend_from_slice(value);
    bytes
}

/// A frame around these header bytes and this payload, with both checksums.
pub fn frame(headers: &[u8], payload: &[u8]) -> Vec<u8> {
    let total = u32::try_from(headers.len() + payload.len() + 16).unwrap();
    let mut bytes = total.to_be_bytes().to_vec();
    bytes.extend_from_slice(&u32::try_from(headers.len()).unwrap().to_be_bytes());
    bytes.extend_from_slice(&crc32(&bytes).to_be_bytes());
    bytes.extend_from_slice(headers);
    bytes.extend_from_slice(payload);
    bytes.extend_from_slice(&crc32(&bytes).to_be_bytes());
    bytes
}

/// CRC-32 as gzip has it, one bit at a time.
pub fn crc32(bytes: &[u8]) -> u32 {
    !bytes.iter().fold(!0, |crc, &byte| {
        (0..8).fold(crc ^ u32::from(byte), |crc, _| {
            if crc & 1 == 1 {
                crc >> 1 ^ 0xEDB8_8320
            } else {
                crc >> 1
            }
        })
    })
}
