//! Shuffles and transposes: moves lanes across a register.

use super::Asm;
use super::forms::{self, Form};
use super::operand::{Isa, Rm, V, Width};

/// Immediates that select pairs of 128-bit parts from two registers, for [`Asm::transpose`].
const EVEN_PARTS: u8 = 0b10_00_10_00;
const ODD_PARTS: u8 = 0b11_01_11_01;

impl Asm {
    /// `dst = [a0, b0, a1, b1]` in each 128 bits, where `a` and `b` are four floats each.
    pub(crate) fn unpack_lo(&mut self, dst: V, a: V, rm: impl Into<Rm>) {
        self.vector(&forms::VUNPCKLPS, self.isa().width(), dst, a, rm, None);
    }

    /// `dst = [a2, b2, a3, b3]` in each 128 bits.
    pub(crate) fn unpack_hi(&mut self, dst: V, a: V, rm: impl Into<Rm>) {
        self.vector(&forms::VUNPCKHPS, self.isa().width(), dst, a, rm, None);
    }

    /// Takes two floats of `a`, then two of `rm`, in each 128 bits. Two bits of `choice` select each, lowest first.
    pub(crate) fn shuffle(&mut self, dst: V, a: V, rm: impl Into<Rm>, choice: u8) {
        self.vector(&forms::VSHUFPS, self.isa().width(), dst, a, rm, Some(choice));
    }

    /// `dst[lane] = src[index[lane]]` over the whole register.
    pub(crate) fn permute(&mut self, dst: V, index: V, src: impl Into<Rm>) {
        self.vector(&forms::VPERMPS, self.isa().width(), dst, index, src, None);
    }

    /// Transposes the matrix in `rows`: lane `j` of row `i` goes to lane `i` of the `j`-th register returned.
    ///
    /// `rows` and `temps` have one register for each lane; all are overwritten.
    pub(crate) fn transpose(&mut self, rows: &[V], temps: &[V]) -> Vec<V> {
        let n = self.isa().lanes();
        if rows.len() != n || temps.len() != n {
            self.refuse("transpose", "not as many registers as lanes");
            return rows.to_vec();
        }
        // In each 128 bits, 4 x 4 blocks are transposed: first pairs of floats, then pairs of pairs.
        for block in (0..n).step_by(4) {
            let (r, t) = (&rows[block..], &temps[block..]);
            self.pair(&forms::VUNPCKLPS, &forms::VUNPCKHPS, [t[0], t[1]], [r[0], r[1]]);
            self.pair(&forms::VUNPCKLPS, &forms::VUNPCKHPS, [t[2], t[3]], [r[2], r[3]]);
            self.pair(&forms::VUNPCKLPD, &forms::VUNPCKHPD, [r[0], r[1]], [t[0], t[2]]);
            self.pair(&forms::VUNPCKLPD, &forms::VUNPCKHPD, [r[2], r[3]], [t[1], t[3]]);
        }
        // rows[4 b + c] now holds, in part p, column 4 p + c of rows 4 b to 4 b + 3; the blocks themselves are transposed.
        let width = self.isa().width();
        match self.isa() {
            Isa::Avx2 => {
                for c in 0..4 {
                    let (a, b) = (rows[c], rows[4 + c]);
                    self.vector(&forms::VPERM2F128, width, temps[c], a, b, Some(0x20));
                    self.vector(&forms::VPERM2F128, width, temps[4 + c], a, b, Some(0x31));
                }
                temps.to_vec()
            }
            Isa::Avx512 => {
                for c in 0..4 {
                    let [a, b, d, e] = [rows[c], rows[4 + c], rows[8 + c], rows[12 + c]];
                    let [t0, t1, t2, t3] = [temps[c], temps[4 + c], temps[8 + c], temps[12 + c]];
                    self.parts(t0, a, b, EVEN_PARTS);
                    self.parts(t1, a, b, ODD_PARTS);
                    self.parts(t2, d, e, EVEN_PARTS);
                    self.parts(t3, d, e, ODD_PARTS);
                    self.parts(a, t0, t2, EVEN_PARTS);
                    self.parts(d, t0, t2, ODD_PARTS);
                    self.parts(b, t1, t3, EVEN_PARTS);
                    self.parts(e, t1, t3, ODD_PARTS);
                }
                rows.to_vec()
            }
        }
    }

    fn pair(&mut self, low: &'static Form, high: &'static Form, to: [V; 2], from: [V; 2]) {
        let width: Width = self.isa().width();
        self.vector(low, width, to[0], from[0], from[1], None);
        self.vector(high, width, to[1], from[0], from[1], None);
    }

    /// Four 128-bit parts: two of `a`, then two of `b`, selected by two bits each, lowest first.
    fn parts(&mut self, dst: V, a: V, b: V, choice: u8) {
        self.vector(&forms::VSHUFF32X4, Width::Z, dst, a, b, Some(choice));
    }
}
