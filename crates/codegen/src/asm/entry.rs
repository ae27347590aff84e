//! Prologue and epilogue of a kernel under the System V calling convention.

use super::Asm;
use super::operand::R;

/// What [`Asm::enter`] saved; [`Asm::leave`] restores it.
#[derive(Clone, Debug)]
pub(crate) struct Frame {
    saved: Vec<R>,
    locals: i32,
}

impl Asm {
    /// Saves the callee-saved registers among `used`, then reserves `locals` bytes at `rsp`.
    ///
    /// `rsp` is then a multiple of 16, so that a call may follow. `used` may name any registers, also repeatedly.
    pub(crate) fn enter(&mut self, used: &[R], locals: usize) -> Frame {
        let saved: Vec<R> = R::CALLEE_SAVED.into_iter().filter(|r| used.contains(r)).collect();
        for r in &saved {
            self.push(*r);
        }
        // The return address and the saved registers are 8 bytes each.
        let above = 8 + 8 * saved.len();
        let Ok(locals) = i32::try_from((above + locals).next_multiple_of(16) - above) else {
            self.refuse("enter", "locals of 2 GiB");
            return Frame { saved, locals: 0 };
        };
        if locals > 0 {
            self.sub_ri(R::RSP, locals);
        }
        Frame { saved, locals }
    }

    /// Restores stack and registers, clears the upper halves of vector registers, returns.
    pub(crate) fn leave(&mut self, frame: &Frame) {
        if frame.locals > 0 {
            self.add_ri(R::RSP, frame.locals);
        }
        for r in frame.saved.iter().rev() {
            self.pop(*r);
        }
        self.vzeroupper();
        self.ret();
    }
}
