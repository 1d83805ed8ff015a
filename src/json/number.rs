//! The grammar of a JSON number, a byte at a time (RFC 8259, section 6).

/// Where the cursor is in a number.
///
/// ```text
///  - ─▶ Sign ─▶ Zero ──────┬─▶ Point ─▶ Fraction ─┬─▶ Exponent ─▶ (ExponentSign) ─▶ ExponentDigits
///          └──▶ Integer ───┘                      │
///                  └──────────────────────────────┘
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum NumberState {
    Sign,
    Zero,
    Integer,
    Point,
    Fraction,
    Exponent,
    ExponentSign,
    ExponentDigits,
}

impl NumberState {
    /// The state after a number's first byte.
    pub(super) fn start(byte: u8) -> Option<Self> {
        match byte {
            b'-' => Some(Self::Sign),
            b'0' => Some(Self::Zero),
            b'1'..=b'9' => Some(Self::Integer),
            _ => None,
        }
    }

    /// The state after one more byte; `None` where that byte is not part of the number.
    pub(super) fn step(self, byte: u8) -> Option<Self> {
        use NumberState::*;
        Some(match (self, byte) {
            (Sign, b'0') => Zero,
            (Sign, b'1'..=b'9') | (Integer, b'0'..=b'9') => Integer,
            (Zero | Integer, b'.') => Point,
            (Point | Fraction, b'0'..=b'9') => Fraction,
            (Zero | Integer | Fraction, b'e' | b'E') => Exponent,
            (Exponent, b'+' | b'-') => ExponentSign,
            (Exponent | ExponentSign | ExponentDigits, b'0'..=b'9') => ExponentDigits,
            _ => return None,
        })
    }

    /// Whether a number may end here.
    pub(super) fn may_end(self) -> bool {
        matches!(
            self,
            Self::Zero | Self::Integer | Self::Fraction | Self::ExponentDigits
        )
    }
}
