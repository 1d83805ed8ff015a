//! Sixteen bytes at a time: where plain string content ends.

use wide::u8x16;

const WIDTH: usize = 16;
type Block = [u8; WIDTH];

/// A bit for each byte that is a quote, a backslash or a control character, the first byte's lowest.
#[inline(always)]
fn specials(block: &Block) -> u32 {
    let bytes = u8x16::new(*block);
    let quotes = bytes.cmp_eq(u8x16::splat(b'"'));
    let backslashes = bytes.cmp_eq(u8x16::splat(b'\\'));
    let controls = bytes.min(u8x16::splat(0x1f)).cmp_eq(bytes);
    (quotes | backslashes | controls).move_mask() as u32
}

/// As [`specials`], and of each byte that is not ASCII.
#[inline(always)]
fn not_plain_ascii(block: &Block) -> u32 {
    specials(block) | u8x16::new(*block).move_mask() as u32
}

/// Where the first quote, backslash or control character from `at` on is, or the end.
#[inline]
pub(crate) fn next_special(bytes: &[u8], at: usize) -> usize {
    next_marked(bytes, at, specials)
}

/// As [`next_special`], or the first byte that is not ASCII; quick close to the end too.
#[inline(always)]
pub(super) fn next_not_plain_ascii(bytes: &[u8], at: usize) -> usize {
    last_marked(bytes, at, not_plain_ascii)
        .unwrap_or_else(|| next_marked(bytes, at, not_plain_ascii))
}

/// The first marked byte from `at` on, or the end, where fewer bytes are left than a block has: they stand at the end of the last
/// block, after some that count for nothing. `None` where more are left, or there is no block.
#[inline(always)]
fn last_marked(bytes: &[u8], at: usize, marks: impl Fn(&Block) -> u32) -> Option<usize> {
    let left = bytes.len().saturating_sub(at);
    let last = bytes.last_chunk().filter(|_| left < WIDTH)?;
    let found = marks(last) >> (WIDTH - left);
    Some(at + (found.trailing_zeros() as usize).min(left))
}

/// Most strings end in their first block: what comes after it is looked at in a place apart.
#[inline(always)]
fn next_marked(bytes: &[u8], at: usize, marks: impl Fn(&Block) -> u32) -> usize {
    match first_block(bytes, at) {
        Some(block) => match marks(block) {
            0 => first_marked(bytes, at + WIDTH, marks),
            found => at + found.trailing_zeros() as usize,
        },
        None => first_marked(bytes, at, marks),
    }
}

/// As [`specials`], of four blocks.
#[inline(always)]
pub(super) fn specials_of_four(bytes: &[u8; 4 * WIDTH]) -> u64 {
    let (blocks, _) = bytes.as_chunks();
    let blocks = blocks.iter().rev();
    blocks.fold(0, |found, block| {
        found << WIDTH | u64::from(specials(block))
    })
}

/// How many bytes of plain content come before the first that is not, if it is among the first sixteen.
#[inline(always)]
pub(super) fn short_plain(bytes: &[u8]) -> Option<usize> {
    let found = specials(bytes.first_chunk()?);
    (found != 0).then_some(found.trailing_zeros() as usize)
}

/// The first sixteen bytes from `at` on. Close to the end zeros fill the block up.
#[inline(always)]
fn padded_block(bytes: &[u8], at: usize) -> Option<Block> {
    if let Some(block) = first_block(bytes, at) {
        return Some(*block);
    }
    let left = bytes.len().checked_sub(at).filter(|&left| left > 0)?;
    let last = u128::from_le_bytes(*bytes.last_chunk()?);
    Some((last >> (8 * (WIDTH - left))).to_le_bytes())
}

/// As [`padded_block`], with a bit for each byte that is a quote, a backslash or a control character.
#[inline(always)]
pub(super) fn block_of_string(bytes: &[u8], at: usize) -> Option<(Block, u32)> {
    let block = padded_block(bytes, at)?;
    Some((block, specials(&block)))
}

/// How many digits stand at `at` before the first other byte, if it is among the first sixteen.
#[inline(always)]
pub(super) fn short_digits(bytes: &[u8], at: usize) -> Option<usize> {
    let values = u8x16::new(padded_block(bytes, at)?) - u8x16::splat(b'0');
    let digits = values.min(u8x16::splat(9)).cmp_eq(values).move_mask();
    let count = digits.trailing_ones() as usize;
    (count < WIDTH).then_some(count)
}

/// How many spaces stand at `at`.
#[inline(always)]
pub(crate) fn spaces(bytes: &[u8], at: usize) -> usize {
    let mut end = at;
    while let Some(block) = padded_block(bytes, end) {
        let spaces = u8x16::new(block).cmp_eq(u8x16::splat(b' ')).move_mask();
        let count = spaces.trailing_ones() as usize;
        end += count;
        if count < WIDTH {
            return end - at;
        }
    }
    let rest = bytes.get(end..).unwrap_or_default().iter();
    end - at + rest.take_while(|byte| **byte == b' ').count()
}

/// Passes over string content that begins at `at`, escapes and all: where its closing quote is, or else where to go on byte by
/// byte, which is at a byte that needs a closer look (a control character, the backslash of what is no simple escape) or in the
/// last few bytes, never behind the first half of an escape.
pub(super) fn string_end(bytes: &[u8], mut at: usize) -> Result<usize, usize> {
    let mut pending = false;
    let mut few = true;
    loop {
        // A short string ends in the first block; four at once take little longer than one.
        let four = bytes
            .get(at..)
            .and_then(<[u8]>::first_chunk::<{ 4 * WIDTH }>);
        let (length, found) = match (four.filter(|_| !few), first_block(bytes, at)) {
            (Some(four), _) => {
                let (blocks, _) = four.as_chunks();
                (four.len(), look(blocks, &mut pending))
            }
            (None, Some(block)) => (block.len(), look(&[*block], &mut pending)),
            (None, None) => return Err(at - usize::from(pending)),
        };
        few = false;
        match found {
            Some(Look::End(place)) => return Ok(at + place),
            Some(Look::Odd(place)) => return Err(at + place),
            Some(Look::OddEscape(place)) => return Err(at + place - 1),
            None => at += length,
        }
    }
}

/// What is found in some blocks, and where.
enum Look {
    /// The closing quote.
    End(usize),
    /// A control character.
    Odd(usize),
    /// What follows a backslash and is no simple escape.
    OddEscape(usize),
}

/// Looks at up to four blocks; `pending` tells whether the byte before them escapes their first, and then the same of the last.
///
/// The blocks' bits end at the highest one. A run of backslashes escapes the byte after it if its length is odd. Adding the runs'
/// first bits to the runs carries a bit to the byte after each; whether that is an odd number of bytes on is told by the two
/// bits being of different parity. No branch depends on where the escapes lie.
#[inline(always)]
fn look(blocks: &[Block], pending: &mut bool) -> Option<Look> {
    const EVEN: u64 = 0x5555_5555_5555_5555;
    let before = 64 - blocks.len() * WIDTH;
    let (mut quotes, mut backslashes, mut controls, mut simple) = (0u64, 0u64, 0u64, 0u64);
    for block in blocks.iter().rev() {
        let chunk = u8x16::new(*block);
        let is = |byte| chunk.cmp_eq(u8x16::splat(byte));
        let next = |marks: u64, lanes: u8x16| marks << WIDTH | u64::from(lanes.move_mask() as u32);
        let (quote, backslash) = (is(b'"'), is(b'\\'));
        // `b` and `f` differ in one bit.
        let b_or_f = (chunk & u8x16::splat(!4)).cmp_eq(u8x16::splat(b'b'));
        let others = (is(b'/') | is(b'n')) | (is(b'r') | is(b't'));
        quotes = next(quotes, quote);
        backslashes = next(backslashes, backslash);
        controls = next(controls, chunk.min(u8x16::splat(0x1f)).cmp_eq(chunk));
        simple = next(simple, (quote | backslash) | (b_or_f | others));
    }
    let [quotes, backslashes, controls, simple] =
        [quotes, backslashes, controls, simple].map(|marks| marks << before);
    let escaped_first = u64::from(*pending) << before;
    let runs = backslashes & !escaped_first;
    let first = runs & !(runs << 1);
    let (after_even, _) = runs.overflowing_add(first & EVEN);
    // A run that begins at an odd place and reaches the end has an odd length: the end is an even place.
    let (after_odd, reaches_end) = runs.overflowing_add(first & !EVEN);
    let escaped = (after_even & !runs & !EVEN) | (after_odd & !runs & EVEN) | escaped_first;
    *pending = reaches_end;
    let ends = quotes & !escaped;
    let inside = ends.wrapping_sub(1) & !ends;
    let odd = (controls | (escaped & !simple)) & inside;
    let place = |marks: u64| marks.trailing_zeros() as usize - before;
    if odd != 0 {
        let is_escaped = odd & odd.wrapping_neg() & escaped != 0;
        let place = place(odd);
        return Some(if is_escaped {
            Look::OddEscape(place)
        } else {
            Look::Odd(place)
        });
    }
    (ends != 0).then(|| Look::End(place(ends)))
}

#[inline(always)]
fn first_block(bytes: &[u8], at: usize) -> Option<&Block> {
    bytes.get(at..)?.first_chunk()
}

/// The first byte from `at` on that `marks` marks, or the end.
#[inline(never)]
fn first_marked(bytes: &[u8], mut at: usize, marks: impl Fn(&Block) -> u32) -> usize {
    // Two at a time: whether a string ends in its second block or its third cannot be foreseen.
    while let Some(two) = bytes
        .get(at..)
        .and_then(<[u8]>::first_chunk::<{ 2 * WIDTH }>)
    {
        let (blocks, _) = two.as_chunks();
        let marked = |found, block| found << WIDTH | marks(block);
        let found = blocks.iter().rev().fold(0u32, marked);
        if found != 0 {
            return at + found.trailing_zeros() as usize;
        }
        at += two.len();
    }
    if let Some(block) = first_block(bytes, at) {
        let found = marks(block);
        if found != 0 {
            return at + found.trailing_zeros() as usize;
        }
        at += WIDTH;
    }
    last_marked(bytes, at, &marks).unwrap_or_else(|| {
        let rest = bytes.get(at..).unwrap_or_default();
        let mut padded = [0; WIDTH];
        for (place, byte) in padded.iter_mut().zip(rest) {
            *place = *byte;
        }
        at + (marks(&padded).trailing_zeros() as usize).min(rest.len())
    })
}

#[cfg(test)]
#[allow(clippy::indexing_slicing)]
mod tests {
    use super::*;
    use crate::json::random;

    #[test]
    fn a_string_ends_at_the_first_quote_after_an_even_run_of_backslashes() {
        let mut next = random(0x9E37_79B9);
        let rounds = if cfg!(miri) { 300 } else { 100_000 };
        for _ in 0..rounds {
            let length = next(200);
            let mut bytes: Vec<u8> = (0..length)
                .map(|_| b"\\\\\\\\nt/xyz\"u\x01"[next(13)])
                .collect();
            bytes.extend([b'"'; 20]);
            let mut at = 0;
            let slow = loop {
                match bytes[at] {
                    b'"' => break Ok(at),
                    b'\\' if b"\"\\/bfnrt".contains(&bytes[at + 1]) => at += 2,
                    b'\\' | 1 => break Err(at),
                    _ => at += 1,
                }
            };
            match (string_end(&bytes, 0), slow) {
                (Ok(end), slow) => assert_eq!(Ok(end), slow),
                // It stops early, but never on the second byte of an escape.
                (Err(stop), Ok(end) | Err(end)) => {
                    assert!(stop <= end && (slow.is_err() || end - stop < 2 * WIDTH));
                    let run = bytes[..stop].iter().rev().take_while(|b| **b == b'\\');
                    assert!(run.count() % 2 == 0);
                }
            }
        }
    }

    #[test]
    fn digits_are_counted_up_to_the_first_other_byte() {
        for other in [b'/', b':', 0, 0xff] {
            for count in 0..16 {
                let mut bytes = [b'0'; 20];
                bytes
                    .iter_mut()
                    .zip(b'0'..=b'9')
                    .for_each(|(at, digit)| *at = digit);
                bytes[count] = other;
                for from in 0..=count {
                    assert_eq!(short_digits(&bytes, from), Some(count - from));
                }
            }
        }
        assert_eq!(short_digits(&[b'7'; 16], 0), None);
        assert_eq!(short_digits(&[b'7'; 16], 12), Some(4));
        assert_eq!(short_digits(b"7,", 0), None);
    }

    #[test]
    fn spaces_are_counted_up_to_the_first_other_byte_or_the_end() {
        for count in 0..70 {
            for after in 0..20 {
                let bytes = [vec![b' '; count], vec![b'}'; after], vec![b' '; after]].concat();
                let count = if after == 0 { bytes.len() } else { count };
                for from in 0..=count {
                    assert_eq!(spaces(&bytes, from), count - from, "{count} {after}");
                }
            }
        }
        assert_eq!(spaces(b" ", 2), 0);
    }

    #[test]
    fn the_first_special_byte_is_found_wherever_it_lies() {
        let most = if cfg!(miri) { 20 } else { 90 };
        for length in 0..most {
            for from in 0..=length {
                for at in from..=length {
                    for special in [b'"', b'\\', 0, 0x1f] {
                        let mut bytes = vec![0xC3; length];
                        if at < length {
                            bytes[at] = special;
                        }
                        // What stands before the beginning counts for nothing.
                        if from > 0 {
                            bytes[from - 1] = b'"';
                        }
                        assert_eq!(next_special(&bytes, from), at);
                    }
                    let mut bytes = vec![0x7f; length];
                    if at < length {
                        bytes[at] = 0x80;
                    }
                    assert_eq!(next_not_plain_ascii(&bytes, from), at);
                }
            }
        }
    }
}
