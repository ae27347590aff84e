//! Bytes that are choices, one after the other.

/// The bytes, and zeros behind them.
pub struct Choices<'a>(std::slice::Iter<'a, u8>);

impl<'a> Choices<'a> {
    pub fn new(bytes: &'a [u8]) -> Choices<'a> {
        Choices(bytes.iter())
    }

    /// A number below `n`, of one byte.
    pub fn one(&mut self, n: usize) -> usize {
        usize::from(self.0.next().copied().unwrap_or(0)) % n.max(1)
    }

    /// A number below `n`, of two bytes.
    pub fn wide(&mut self, n: usize) -> usize {
        (self.one(256) << 8 | self.one(256)) % n.max(1)
    }

    pub fn of<T: Copy>(&mut self, items: &[T]) -> T {
        items[self.one(items.len())]
    }

    /// The bytes that nothing was chosen by yet.
    pub fn rest(&self) -> &'a [u8] {
        self.0.as_slice()
    }
}
