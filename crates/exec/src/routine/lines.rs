//! Does work in independent lines as the runtime, which artifacts run too.

use super::{Bytes, Outside, RoutineContext, boxes, number};
use relayc_ir::kernel::{Lines, MAX_RANK, PoolGradient, Random, Routine, Sparse, SparseForm, StridedSet};
use relayc_runtime::lines::Work;
use relayc_runtime::operands::Operands;
use relayc_runtime::{pool_gradient, quantized_softmax, random, sparse, strided_set};

const _: () = assert!(MAX_RANK == strided_set::MAX_RANK);

/// Work of the runtime, and how its operands are the kernel's arguments.
pub(crate) struct LineWork {
    pub(crate) work: Work,
    /// For each operand of the runtime, the argument of the kernel, if it has one.
    pub(crate) places: [Option<usize>; 8],
    /// Bytes of each operand.
    bytes: [usize; 8],
    /// The lines that threads share.
    pub(crate) lines: Lines,
}

/// The work of a routine, if it is of this kind.
pub(crate) fn of_kernel(routine: &Routine) -> Option<LineWork> {
    let lines = |outer: u64, length: u64| Lines { outer, length, inner: 1 };
    // Operands that are the arguments in order.
    let in_order = |work: Work, sizes: &[u64], lines: Lines| {
        let places = std::array::from_fn(|at| Some(at).filter(|&at| at < sizes.len()));
        LineWork { work, places, bytes: std::array::from_fn(|at| sizes.get(at).map_or(0, |&size| size as usize)), lines }
    };
    Some(match routine {
        Routine::Boxes(kernel) => {
            let work = boxes::of_kernel(kernel);
            let (places, bytes, lines) = (boxes::places(kernel), boxes::bytes(&work), boxes::lines(kernel));
            LineWork { work: Work::Boxes(work), places, bytes, lines }
        }
        Routine::Random(kernel) => {
            let (work, sizes) = of_random(kernel);
            let shared = match *kernel {
                Random::Generate { n } | Random::Uniform { n, .. } | Random::Normal { n, .. } => lines(n.div_ceil(4096), 4096),
                Random::Split => lines(1, 1),
                Random::Multinomial { rows, shares, samples, .. } => lines(rows, shares * samples),
            };
            in_order(Work::Random(work), &sizes, shared)
        }
        Routine::Sparse(kernel) => of_sparse(kernel),
        Routine::PoolGradient(kernel) => {
            let work = of_gradient(kernel);
            let planes: u64 = kernel.others.iter().product();
            let [input, output] = [0, 1].map(|side| {
                kernel.windows.iter().map(|window| if side == 0 { window.input } else { window.output }).product::<u64>()
            });
            let width = kernel.dtype.bytes() * planes;
            in_order(Work::PoolGradient(work), &[output * width, input * width, input * width], lines(planes, input))
        }
        Routine::QuantizedSoftmax(kernel) => {
            let n = kernel.count() * kernel.length;
            let work = quantized_softmax::QuantizedSoftmax {
                n_lines: kernel.count() as usize,
                length: kernel.length as usize,
                inner: kernel.inner as usize,
            };
            in_order(Work::QuantizedSoftmax(work), &[n, 4, 4, 4, 4, n], *kernel)
        }
        Routine::StridedSet(kernel) => {
            let bytes = |shape: &[u64]| shape.iter().product::<u64>() * kernel.width;
            let [begin, end, strides] = kernel.lists.map(|(n, dtype)| n * dtype.bytes());
            let sizes = [bytes(&kernel.data), bytes(&kernel.part), begin, end, strides, bytes(&kernel.data)];
            in_order(Work::StridedSet(of_set(kernel)), &sizes, lines(1, 1))
        }
        Routine::Sort(_) | Routine::Scatter(_) | Routine::Scan(_) | Routine::Requantize(_) => return None,
    })
}

fn of_random(kernel: &Random) -> (random::Random, Vec<u64>) {
    const KEY: u64 = 80;
    match *kernel {
        Random::Generate { n } => (random::Random::Generate { n: n as usize }, vec![KEY, KEY, 8 * n]),
        Random::Split => (random::Random::Split, vec![KEY; 3]),
        Random::Uniform { n, dtype } => {
            let width = dtype.bytes();
            (random::Random::Uniform { n: n as usize, is_wide: width == 8 }, vec![KEY, width, width, KEY, n * width])
        }
        Random::Normal { n, dtype } => {
            let width = dtype.bytes();
            (random::Random::Normal { n: n as usize, is_wide: width == 8 }, vec![KEY, width, width, KEY, n * width])
        }
        Random::Multinomial { rows, shares, samples, dtype } => {
            let work = random::Random::Multinomial {
                n_rows: rows as usize,
                n_shares: shares as usize,
                n_samples: samples as usize,
                share: number(dtype),
            };
            (work, vec![KEY, rows * shares * dtype.bytes(), KEY, 4 * rows * samples])
        }
    }
}

fn of_sparse(kernel: &Sparse) -> LineWork {
    let Sparse { form, rows, entries, block, columns, dtype, index, start } = *kernel;
    let results = rows * block[0];
    // The elements of the dense tensor and of the result, and the lines.
    let (of_form, dense, result, lines) = match form {
        SparseForm::Dense { n, is_left } => (sparse::Form::Dense { n: n as usize, is_left }, n * columns, n * results, n),
        SparseForm::Conv { images, channels, dims, window, channels_last } => {
            let places = images * dims[0] * dims[1];
            let of_form = sparse::Form::Conv {
                images: images as usize,
                channels: channels as usize,
                dims: dims.map(|dim| dim as usize),
                window: window as usize,
                channels_last,
            };
            (of_form, places * channels, places * results, places)
        }
        SparseForm::Add => (sparse::Form::Add, rows * columns, rows * columns, rows),
        SparseForm::Transpose => (sparse::Form::Transpose, 0, entries, 1),
    };
    let work = sparse::Sparse {
        form: of_form,
        n_rows: rows as usize,
        n_entries: entries as usize,
        block: block.map(|dim| dim as usize),
        n_columns: columns as usize,
        element: number(dtype),
        index: number(index),
        start: number(start),
    };
    let (width, of_indices, of_starts) = (dtype.bytes(), entries * index.bytes(), (rows + 1) * start.bytes());
    let elements = entries * block[0] * block[1] * width;
    let is_transpose = form == SparseForm::Transpose;
    let further = if is_transpose { [of_indices, of_starts] } else { [0; 2] };
    let bytes = [dense * width, elements, of_indices, of_starts, result * width, further[0], further[1], 0];
    let place = |at: usize| if is_transpose { at.checked_sub(1) } else { Some(at).filter(|&at| at < 5) };
    LineWork {
        work: Work::Sparse(work),
        places: std::array::from_fn(|at| place(at).filter(|&at| at < 6)),
        bytes: bytes.map(|bytes| bytes as usize),
        lines: Lines { outer: lines, length: entries * block[0] * block[1], inner: 1 },
    }
}

fn of_gradient(kernel: &PoolGradient) -> pool_gradient::PoolGradient {
    pool_gradient::PoolGradient {
        others: kernel.others.map(|n| n as usize),
        windows: kernel.windows.map(|window| pool_gradient::Window {
            input: window.input as usize,
            output: window.output as usize,
            size: window.size as usize,
            stride: window.stride as usize,
            dilation: window.dilation as usize,
            before: window.before as usize,
            after: window.after as usize,
        }),
        columns_first: kernel.columns_first,
        mean: kernel.mean,
        element: number(kernel.dtype),
    }
}

fn of_set(kernel: &StridedSet) -> strided_set::StridedSet {
    let shape = |shape: &[u64]| std::array::from_fn(|axis| shape.get(axis).map_or(0, |&length| length as usize));
    strided_set::StridedSet {
        width: kernel.width as usize,
        rank: kernel.data.len(),
        data: shape(&kernel.data),
        part: shape(&kernel.part),
        lists: kernel.lists.map(|(n, dtype)| (n as usize, number(dtype))),
    }
}

/// Runs the routine. Errors: operands that the evaluation refuses; nothing is written then.
pub(super) fn run(of: &LineWork, args: &[Bytes], means: &RoutineContext) -> Result<(), Outside> {
    let LineWork { work, places, bytes, .. } = of;
    let operand = |at: usize| places[at].map_or(std::ptr::null_mut(), |place| args[place].holding(bytes[at]).start);
    let operands = Shared(std::array::from_fn(operand));
    // SAFETY: the operands have so many bytes.
    unsafe { work.check(operands.get()) }.map_err(|_| Outside)?;
    means.lines(work.n_lines() as u64, &|line, scratch| {
        // SAFETY: as above; the results of the line and the scratch memory are this task's own.
        unsafe { work.line(line, operands.get(), scratch) };
    });
    // SAFETY: as above; all lines are done.
    unsafe { work.finish(operands.get()) };
    Ok(())
}

/// The name of a routine, and the reason why it is one.
pub(super) fn words(routine: &Routine) -> (String, &'static str) {
    match routine {
        Routine::Random(Random::Split) => ("random keys".into(), "a key is hashed as a whole"),
        Routine::Random(Random::Generate { n } | Random::Uniform { n, .. } | Random::Normal { n, .. }) => {
            (format!("random numbers, {n}"), "blocks of four numbers are hashed as a whole")
        }
        Routine::Random(Random::Multinomial { rows, shares, samples, .. }) => {
            (format!("random indices, {samples} of each of {rows} rows of {shares}"), "shares are added one after the other")
        }
        Routine::Sparse(work) => {
            let [rows, columns] = [work.rows * work.block[0], work.columns];
            (format!("sparse {rows} by {columns}, {} blocks", work.entries), "where elements are hangs on the data")
        }
        Routine::PoolGradient(work) => {
            let [height, width] = work.windows.map(|window| window.output);
            (
                format!("gradient of a pool, {height} by {width} windows"),
                "windows overlap, and add to elements one after the other",
            )
        }
        Routine::QuantizedSoftmax(lines) => {
            let name = format!("softmax in integers, {} lines of {}", lines.count(), lines.length);
            (name, "each step of a line needs all of the one before it")
        }
        Routine::StridedSet(work) => (format!("slice of {:?} set", work.data), "where elements go hangs on the data"),
        Routine::Boxes(work) => boxes::words(work),
        Routine::Sort(_) | Routine::Scatter(_) | Routine::Scan(_) | Routine::Requantize(_) => (String::new(), ""),
    }
}

/// The addresses of tensors of which each thread writes its own lines.
struct Shared(Operands);

// SAFETY: threads write different elements, and nobody reads what another writes.
unsafe impl Sync for Shared {}

impl Shared {
    fn get(&self) -> &Operands {
        &self.0
    }
}
