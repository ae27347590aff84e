//! Products, sums and transposes of sparse matrices, which are given by rows (CSR) or by rows of blocks (BSR).
//!
//! What names a place is checked each time it is read: the memory may be a caller's, and another thread of it may change it meanwhile.
//! The numbers that come out then mean nothing.

use super::number::{Number, int, narrowed, widened};
use super::operands::{Operands, Wrong};
use super::scan::Sum;
use super::words::Words;

/// Work with a sparse matrix. Operands are the dense tensor, unless there is none; the elements or blocks of the matrix, their columns
/// (in blocks), and where rows begin; then the results. Sums run over elements in order, those of 16-bit floats in float32.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Sparse {
    pub form: Form,
    /// Rows of blocks, and all blocks.
    pub n_rows: usize,
    pub n_entries: usize,
    /// Rows and columns of a block.
    pub block: [usize; 2],
    pub n_columns: usize,
    /// Bytes of an element, and what they mean.
    pub element: (usize, Number),
    pub index: (usize, Number),
    pub start: (usize, Number),
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Form {
    /// Products with `n` dense rows, which are lines. The matrix is on the right, or on the left.
    Dense { n: usize, is_left: bool },
    /// A convolution with a square window whose places are lines.
    Conv { images: usize, channels: usize, dims: [usize; 2], window: usize, channels_last: bool },
    /// The sum with a dense matrix. A line is a row.
    Add,
    /// A line is all.
    Transpose,
}

impl Sparse {
    pub(super) fn write(&self, word: &mut impl FnMut(u64)) {
        let mut all = |numbers: &[usize]| numbers.iter().for_each(|&number| word(number as u64));
        match self.form {
            Form::Dense { n, is_left } => all(&[0, n, is_left.into()]),
            Form::Conv { images, channels, dims: [height, width], window, channels_last } => {
                all(&[1, images, channels, height, width, window, channels_last.into()]);
            }
            Form::Add => all(&[2]),
            Form::Transpose => all(&[3]),
        }
        all(&[self.n_rows, self.n_entries, self.block[0], self.block[1], self.n_columns]);
        [self.element, self.index, self.start].into_iter().flat_map(Number::words).for_each(word);
    }

    pub(super) fn read(words: &mut Words) -> Sparse {
        let form = match words.word() {
            0 => Form::Dense { n: words.number(), is_left: words.word() != 0 },
            1 => {
                let [images, channels, height, width, window] = core::array::from_fn(|_| words.number());
                Form::Conv { images, channels, dims: [height, width], window, channels_last: words.word() != 0 }
            }
            2 => Form::Add,
            _ => Form::Transpose,
        };
        let [n_rows, n_entries, rows, columns, n_columns] = core::array::from_fn(|_| words.number());
        let [element, index, start] = core::array::from_fn(|_| Number::read(words));
        Sparse { form, n_rows, n_entries, block: [rows, columns], n_columns, element, index, start }
    }

    pub(super) fn n_lines(&self) -> usize {
        match self.form {
            Form::Dense { n, .. } => n,
            Form::Conv { images, dims: [height, width], .. } => images * height * width,
            Form::Add => self.n_rows,
            Form::Transpose => 1,
        }
    }

    /// The sums of a row, or where the next element of each row goes.
    pub(super) fn scratch_bytes(&self) -> u64 {
        match self.form {
            Form::Dense { .. } | Form::Conv { .. } => 0,
            Form::Add => 8 * self.n_columns as u64,
            Form::Transpose => 8 * self.n_rows as u64,
        }
    }

    /// # Safety
    /// The operands hold the matrix.
    unsafe fn start(&self, row: usize, operands: &Operands) -> i128 {
        // SAFETY: as the caller says.
        unsafe { int(operands[3].wrapping_add(row * self.start.0), self.start) }
    }

    /// Where a column begins in the dense tensor, in blocks. `None` outside of the matrix.
    ///
    /// # Safety
    /// The operands hold the matrix.
    unsafe fn place(&self, at: usize, operands: &Operands) -> Option<usize> {
        // SAFETY: as the caller says.
        let column = unsafe { self.column(at, operands) };
        (0..(self.n_columns / self.block[1].max(1)) as i128).contains(&column).then_some(column as usize)
    }

    /// # Safety
    /// The operands hold the matrix.
    unsafe fn column(&self, at: usize, operands: &Operands) -> i128 {
        // SAFETY: as the caller says.
        unsafe { int(operands[2].wrapping_add(at * self.index.0), self.index) }
    }

    /// The blocks of a row, inside of the matrix.
    ///
    /// # Safety
    /// The operands hold the matrix.
    unsafe fn row(&self, row: usize, operands: &Operands) -> core::ops::Range<usize> {
        // SAFETY: as the caller says.
        let start = |row: usize| unsafe { self.start(row, operands) }.clamp(0, self.n_entries as i128) as usize;
        start(row)..start(row + 1)
    }

    /// Errors: a column outside of the matrix (0), a row outside of the elements (1), and rows that are not those of all elements, which a
    /// transpose needs (2).
    ///
    /// # Safety
    /// The operands hold the matrix.
    pub(super) unsafe fn check(&self, operands: &Operands) -> Result<(), Wrong> {
        let mut n = 0;
        for row in 0..self.n_rows {
            // SAFETY: as the caller says.
            let (first, end) = unsafe { (self.start(row, operands), self.start(row + 1, operands)) };
            if first < 0 || end < first || end > self.n_entries as i128 {
                return Err(Wrong { message: 1, number: Some(row as i128) });
            }
            for at in first..end {
                // SAFETY: as the caller says.
                if unsafe { self.place(at as usize, operands) }.is_none() {
                    // SAFETY: as the caller says.
                    return Err(Wrong { message: 0, number: Some(unsafe { self.column(at as usize, operands) }) });
                }
            }
            n += (end - first) as usize;
        }
        if self.form == Form::Transpose && n != self.n_entries {
            return Err(Wrong { message: 2, number: Some(n as i128) });
        }
        Ok(())
    }

    /// # Safety
    /// The operands hold all lines and were checked, and the scratch memory has [`Sparse::scratch_bytes`] at a multiple of 8. Nobody else
    /// uses the results of this line.
    pub(super) unsafe fn line(&self, line: usize, operands: &Operands, scratch: *mut u8) {
        let width = self.element.0;
        // SAFETY: as the caller says: every element is one of an operand.
        unsafe {
            if self.form == Form::Transpose {
                return self.transpose(operands, scratch.cast::<u64>());
            }
            match self.element.1 {
                Number::Float(23) => self.of_line(
                    line,
                    operands,
                    scratch.cast::<f32>(),
                    |operand, at| operands[operand].cast::<f32>().wrapping_add(at).read_unaligned(),
                    |at, x| operands[4].cast::<f32>().wrapping_add(at).write_unaligned(x),
                ),
                Number::Float(52) => self.of_line(
                    line,
                    operands,
                    scratch.cast::<f64>(),
                    |operand, at| operands[operand].cast::<f64>().wrapping_add(at).read_unaligned(),
                    |at, x| operands[4].cast::<f64>().wrapping_add(at).write_unaligned(x),
                ),
                Number::Float(fraction) => self.of_line(
                    line,
                    operands,
                    scratch.cast::<f32>(),
                    |operand, at| widened(operands[operand].cast::<u16>().wrapping_add(at).read_unaligned(), fraction),
                    |at, x| operands[4].cast::<u16>().wrapping_add(at).write_unaligned(narrowed(x, fraction)),
                ),
                _ => self.of_line(
                    line,
                    operands,
                    scratch.cast::<i64>(),
                    |operand, at| int(operands[operand].wrapping_add(at * width), self.element) as i64,
                    |at, x| super::integer::put(operands[4].wrapping_add(at * width), width, x),
                ),
            }
        }
    }

    /// # Safety
    /// As [`Sparse::line`].
    unsafe fn of_line<N: Sum>(
        &self,
        line: usize,
        operands: &Operands,
        sums: *mut N,
        read: impl Fn(usize, usize) -> N,
        write: impl Fn(usize, N),
    ) {
        let n_results = self.n_rows * self.block[0];
        // SAFETY: as the caller says.
        unsafe {
            match self.form {
                Form::Dense { n, is_left } => {
                    let from = |column: usize| Some(line * self.n_columns + column);
                    let to = |row: usize| if is_left { row * n + line } else { line * n_results + row };
                    self.products(operands, from, to, read, write);
                }
                Form::Conv { channels, dims: [height, width], window, channels_last, .. } => {
                    let places = height * width;
                    let [image, y, x] = [line / places, line / width % height, line % width];
                    let strides = |channels: usize| if channels_last { [channels, 1] } else { [1, places] };
                    let ([place, channel], [to_place, to_channel]) = (strides(channels), strides(n_results));
                    let from = |column: usize| {
                        let (of, tap) = match channels_last {
                            true => (column % channels, column / channels),
                            false => (column / (window * window), column % (window * window)),
                        };
                        // What lies before the first row or column wraps, and is outside too.
                        let [row, column] =
                            [(y + tap / window).wrapping_sub(window / 2), (x + tap % window).wrapping_sub(window / 2)];
                        let is_inside = row < height && column < width;
                        is_inside.then(|| image * channels * places + (row * width + column) * place + of * channel)
                    };
                    let to = |row: usize| image * n_results * places + (y * width + x) * to_place + row * to_channel;
                    self.products(operands, from, to, read, write);
                }
                Form::Add | Form::Transpose => {
                    let first = line * self.n_columns;
                    (0..self.n_columns).for_each(|at| sums.wrapping_add(at).write(read(0, first + at)));
                    for at in self.row(line, operands) {
                        let Some(column) = self.place(at, operands) else { continue };
                        let sum = sums.wrapping_add(column);
                        sum.write(sum.read().plus(read(1, at)));
                    }
                    (0..self.n_columns).for_each(|at| write(first + at, sums.wrapping_add(at).read()));
                }
            }
        }
    }

    /// The sums of the products of each row with dense elements, which columns name.
    ///
    /// # Safety
    /// As [`Sparse::line`].
    unsafe fn products<N: Sum>(
        &self,
        operands: &Operands,
        from: impl Fn(usize) -> Option<usize>,
        to: impl Fn(usize) -> usize,
        read: impl Fn(usize, usize) -> N,
        write: impl Fn(usize, N),
    ) {
        let [rows, columns] = self.block;
        for row in 0..self.n_rows {
            for i in 0..rows {
                let mut sum = N::ZERO;
                // SAFETY: as the caller says.
                for at in unsafe { self.row(row, operands) } {
                    // SAFETY: as the caller says.
                    let Some(column) = (unsafe { self.place(at, operands) }) else { continue };
                    let first = column * columns;
                    for j in 0..columns {
                        if let Some(from) = from(first + j) {
                            sum = sum.plus(read(0, from).times(read(1, (at * rows + i) * columns + j)));
                        }
                    }
                }
                write(to(row * rows + i), sum);
            }
        }
    }

    /// Elements of one place keep their order.
    ///
    /// # Safety
    /// As [`Sparse::line`].
    unsafe fn transpose(&self, operands: &Operands, next: *mut u64) {
        let (width, n) = (self.element.0, self.n_rows);
        // SAFETY: as the caller says.
        unsafe {
            (0..n).for_each(|row| next.wrapping_add(row).write(0));
            for at in 0..self.n_entries {
                let Some(column) = self.place(at, operands) else { continue };
                let count = next.wrapping_add(column);
                count.write(count.read() + 1);
            }
            let mut first = 0;
            let start = |row: usize, at: u64| {
                super::integer::put(operands[6].wrapping_add(row * self.start.0), self.start.0, at as i64);
            };
            for row in 0..n {
                let count = next.wrapping_add(row);
                let end = first + count.read();
                count.write(first);
                start(row, first);
                first = end;
            }
            start(n, first);
            for row in 0..n {
                for at in self.row(row, operands) {
                    let Some(column) = self.place(at, operands) else { continue };
                    let place = next.wrapping_add(column);
                    let to = place.read() as usize;
                    // Columns may have changed since they were counted.
                    if to >= self.n_entries {
                        continue;
                    }
                    place.write(to as u64 + 1);
                    let (from, result) = (operands[1].wrapping_add(at * width), operands[4].wrapping_add(to * width));
                    core::ptr::copy_nonoverlapping(from, result, width);
                    super::integer::put(operands[5].wrapping_add(to * self.index.0), self.index.0, row as i64);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A caller's other threads may change operands after the check: whatever rows and columns are by then, only the results are written.
    #[test]
    fn operands_that_change_after_the_check_lead_nowhere_else() {
        const N: usize = 3;
        const EDGE: usize = 8;
        let (index, element) = ((4, Number::Signed), (4, Number::Float(23)));
        let of = |form| Sparse { form, n_rows: N, n_entries: N, block: [1, 1], n_columns: N, element, index, start: index };
        for form in [Form::Dense { n: N, is_left: false }, Form::Add, Form::Transpose] {
            let work = of(form);
            for wrong in [-1, 0, 1, N as i32, i32::MAX, i32::MIN] {
                for at in 0..2 * N + 1 {
                    let mut numbers = [0, 1, 2, 0, 1, 2, 3];
                    numbers[at] = wrong;
                    let (mut columns, mut starts) = (numbers[..N].to_vec(), numbers[N..].to_vec());
                    let (mut dense, mut elements) = (vec![1f32; N * N], vec![1f32; N]);
                    // Each result and the scratch memory lie between edges.
                    let mut memory = [[-7i64; 2 * EDGE + N * N]; 4];
                    let [result, further, starts_of, scratch] =
                        memory.each_mut().map(|part| part[EDGE..].as_mut_ptr().cast::<u8>());
                    let inputs = [
                        dense.as_mut_ptr().cast(),
                        elements.as_mut_ptr().cast(),
                        columns.as_mut_ptr().cast(),
                        starts.as_mut_ptr().cast(),
                    ];
                    let [a, b, c, d] = inputs;
                    let operands = [a, b, c, d, result, further, starts_of, core::ptr::null_mut()];
                    for line in 0..work.n_lines() {
                        // SAFETY: the operands are as large as the work says, which checks what it reads in them.
                        unsafe { work.line(line, &operands, scratch) };
                    }
                    let edges = memory.iter().flat_map(|part| part[..EDGE].iter().chain(&part[EDGE + N * N..]));
                    assert!(edges.into_iter().all(|&word| word == -7), "{form:?} with {numbers:?}");
                }
            }
        }
    }
}
