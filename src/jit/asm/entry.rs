//! How a kernel is entered and left under the System V convention.

use super::Asm;
use super::operand::R;

/// What [`Asm::enter`] did, for [`Asm::leave`] to undo.
#[derive(Clone, Debug)]
pub struct Frame {
    saved: Vec<R>,
    locals: i32,
}

impl Asm {
    /// Saves those of `used` that a function must give back, then makes room for `locals` bytes at `rsp`, which is then a
    /// multiple of 16, so that a call may follow. `used` may name any registers, some of them twice.
    pub fn enter(&mut self, used: &[R], locals: usize) -> Frame {
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

    /// Gives back the stack and the registers, clears the upper halves, returns.
    pub fn leave(&mut self, frame: &Frame) {
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
