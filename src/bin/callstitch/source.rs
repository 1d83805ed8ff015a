//! A body in pieces.

use std::io::{self, Read};
use std::time::Duration;

use crate::{CallsArgs, open, unreadable};

/// The size of a piece of a binary body that is replayed.
const BINARY_PIECE: usize = 128;

/// Reads the body and gives it on piece by piece, at the pace asked for, until it ends or `take` wants no more.
/// Gives the error that ended it, where one did.
///
/// # Errors
///
/// Where the file cannot be opened, and those of `take`.
pub(crate) fn read(
    args: &CallsArgs,
    mut take: impl FnMut(&[u8]) -> io::Result<bool>,
) -> io::Result<Option<io::Error>> {
    let mut body = open(args.file.as_ref())?;
    let mut buffer = vec![0; 64 << 10];
    loop {
        let read = match body.read(&mut buffer) {
            Ok(0) => return Ok(None),
            Ok(read) => read,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Ok(Some(unreadable(args.file.as_ref(), &error))),
        };
        let mut rest = buffer.get(..read).unwrap_or_default();
        while !rest.is_empty() {
            let length = piece(rest, args);
            let (piece, after) = rest.split_at_checked(length).unwrap_or((rest, &[]));
            rest = after;
            if let Some(pace) = args.pace {
                std::thread::sleep(Duration::from_millis(pace));
            }
            if !take(piece)? {
                return Ok(None);
            }
        }
    }
}

/// How long the next piece is: what was asked for; a line and the blank ones after it for a replay; else all there is.
fn piece(rest: &[u8], args: &CallsArgs) -> usize {
    if let Some(size) = args.chunk_size {
        return size as usize;
    }
    if args.pace.is_none() {
        return rest.len();
    }
    let Some(end) = rest.iter().position(|byte| *byte == b'\n') else {
        return BINARY_PIECE;
    };
    if rest.iter().take(end).any(|byte| *byte == 0) {
        return BINARY_PIECE;
    }
    let blank = rest
        .iter()
        .skip(end)
        .take_while(|byte| matches!(byte, b'\n' | b'\r'))
        .count();
    end + blank
}
