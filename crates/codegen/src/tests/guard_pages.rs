//! Guard pages: tools of kernel tests that catch stray accesses and broken calling conventions.
//!
//! A kernel may touch its buffers and nothing else, whatever the data (reliability 8): the buffers are [`super::guarded`].
//!
//! [`writable_and_executable`] lists mappings that are both, which must not exist. [`call_checked`] calls a kernel with every
//! undefined register poisoned, and checks every register that it must preserve; [`checked`] does the same for kernels behind Rust.
//! [`seeds`] says how many random kernels a test launches. Absent: what a kernel should compute.

pub(crate) use super::guarded::{GuardedBuffer, Side, running};
use super::guarded::{current, report_faults};
use crate::cpu::Cpu;
use std::arch::naked_asm;
use std::cell::Cell;
use std::ffi::c_void;

thread_local! {
    static LAUNCHES: Cell<u64> = const { Cell::new(0) };
}

/// The seeds of a test of random kernels: the first `n`, and more until the test has launched as many kernels as `RELAYC_LAUNCHES` says.
pub(crate) fn seeds(n: u64) -> impl Iterator<Item = u64> {
    let wanted: u64 = std::env::var("RELAYC_LAUNCHES").ok().map_or(0, |text| text.parse().expect("a number"));
    let before = LAUNCHES.get();
    (0..).take_while(move |&seed| {
        let launched = LAUNCHES.get() - before;
        let goes_on = seed < n || launched < wanted;
        if !goes_on {
            println!("{}: {launched} launches", std::thread::current().name().unwrap_or_default());
        }
        goes_on
    })
}

/// Runs kernels that `f` calls, checked as by [`call_checked`]. Registers that Rust has saved itself are given back by it, so that a
/// kernel may have broken them; nothing in Rust touches the others.
pub(crate) fn checked<F: FnOnce()>(f: F) {
    unsafe extern "sysv64" fn call<F: FnOnce()>(f: *mut c_void) {
        // SAFETY: it points to what is on the stack of `checked`, which nobody else uses meanwhile.
        let f = unsafe { &mut *f.cast::<Option<F>>() };
        if let Some(f) = f.take() {
            f();
        }
    }
    let mut f = Some(f);
    // SAFETY: the function takes this one pointer.
    let done = unsafe { call_checked(call::<F> as *const u8, &[(&raw mut f) as u64]) };
    done.expect("a well-behaved kernel");
}

/// Mappings of this process that are both writable and executable, as the system lists them. There must be none at any time.
pub(crate) fn writable_and_executable() -> Vec<String> {
    let maps = std::fs::read_to_string("/proc/self/maps").unwrap_or_else(|error| format!("0-0 rwxp: {error}"));
    let both = |line: &&str| line.split_whitespace().nth(1).is_some_and(|access| access.contains('w') && access.contains('x'));
    maps.lines().filter(both).map(str::to_owned).collect()
}

/// What the trampoline recorded. The assembly below depends on its layout.
#[repr(C)]
struct Found {
    /// 0: the result.
    rax: u64,
    /// 8: rbx, rbp, r12, r13, r14, r15 after the call.
    saved: [u64; 6],
    /// 56: flags after the call.
    flags: u64,
    /// 64: before and after.
    mxcsr: [u32; 2],
    /// 72: before and after.
    x87: [u16; 2],
    unused: u32,
    /// 80: the first sixteen vector registers after the call, 64 bytes each.
    vectors: [[u8; 64]; 16],
}

/// Contents of the callee-saved registers during the call.
const KEPT: [u64; 6] = [
    0x1bad_b002_0bad_0001,
    0x1bad_b002_0bad_0002,
    0x1bad_b002_0bad_0003,
    0x1bad_b002_0bad_0004,
    0x1bad_b002_0bad_0005,
    0x1bad_b002_0bad_0006,
];

/// Calls the function at `address` with up to six integer or pointer arguments and reports what it broke.
///
/// It checks callee-saved registers, MXCSR's control bits, the x87 control word, the direction flag, and the upper parts of
/// vector registers. (With a wrong stack pointer the call does not return: that is an illegal instruction here, or a fault.) On
/// entry the upper parts are clear, and every other register without a defined value is all ones.
///
/// # Safety
///
/// `address` is a function that may be called this way, and `args` are the arguments it requires.
pub(crate) unsafe fn call_checked(address: *const u8, args: &[u64]) -> Result<u64, String> {
    report_faults();
    LAUNCHES.set(LAUNCHES.get() + 1);
    let mut six = [!0; 6];
    if args.len() > six.len() {
        return Err("more than six arguments".into());
    }
    six[..args.len()].copy_from_slice(args);
    let mut found = Found { rax: 0, saved: [0; 6], flags: 0, mxcsr: [0; 2], x87: [0; 2], unused: 0, vectors: [[0; 64]; 16] };
    // SAFETY: the caller vouches for the function; the processor has what the trampoline uses.
    unsafe {
        match Cpu::get() {
            Cpu { avx512: true, .. } => trampoline_avx512(address, six.as_ptr(), &mut found),
            _ => trampoline_avx2(address, six.as_ptr(), &mut found),
        }
    }
    let broken = found.broken();
    if broken.is_empty() { Ok(found.rax) } else { Err(format!("{} ({})", broken.join(", "), current())) }
}

impl Found {
    fn broken(&self) -> Vec<String> {
        let mut broken = Vec::new();
        for (name, (kept, found)) in ["rbx", "rbp", "r12", "r13", "r14", "r15"].iter().zip(KEPT.iter().zip(self.saved)) {
            if *kept != found {
                broken.push(format!("{name} is changed"));
            }
        }
        // The six flags at the bottom record what happened; all else is control.
        if (self.mxcsr[0] ^ self.mxcsr[1]) & !0x3f != 0 {
            broken.push(format!("MXCSR was {:#x}, is {:#x}", self.mxcsr[0], self.mxcsr[1]));
        }
        if self.x87[0] != self.x87[1] {
            broken.push(format!("the x87 control word was {:#x}, is {:#x}", self.x87[0], self.x87[1]));
        }
        if self.flags >> 10 & 1 != 0 {
            broken.push("the direction flag is set".into());
        }
        let dirty = self.vectors.iter().position(|vector| vector[16..].iter().any(|byte| *byte != 0));
        if let Some(number) = dirty {
            broken.push(format!("the upper part of vector register {number} is not clear"));
        }
        broken
    }
}

macro_rules! trampoline {
    ($name:ident, $poison:literal, $register:literal) => {
        /// Calls rdi with the six arguments at rsi; rdx is the [`Found`].
        #[unsafe(naked)]
        unsafe extern "sysv64" fn $name(address: *const u8, args: *const u64, found: *mut Found) {
            naked_asm!(
                "push rbx", "push rbp", "push r12", "push r13", "push r14", "push r15",
                // Found, a mark that shows that rsp came back, padding to a multiple of 16.
                "sub rsp, 24",
                "mov [rsp], rdx",
                "mov dword ptr [rsp + 8], 0x600d600d",
                "stmxcsr [rdx + 64]",
                "fnstcw [rdx + 72]",
                "mov r11, rdi",
                "mov r10, rsi",
                "mov rdi, [r10]", "mov rsi, [r10 + 8]", "mov rdx, [r10 + 16]",
                "mov rcx, [r10 + 24]", "mov r8, [r10 + 32]", "mov r9, [r10 + 40]",
                "mov rbx, {k0}", "mov rbp, {k1}", "mov r12, {k2}", "mov r13, {k3}", "mov r14, {k4}", "mov r15, {k5}",
                "mov rax, -1", "mov r10, -1",
                // A 128-bit VEX instruction clears the rest of the register.
                ".irp n, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15",
                "vpcmpeqd xmm\\n, xmm\\n, xmm\\n",
                ".endr",
                $poison,
                "call r11",
                "cmp dword ptr [rsp + 8], 0x600d600d",
                "je 2f",
                "ud2",
                "2:",
                "mov r11, [rsp]",
                "mov [r11], rax",
                "mov [r11 + 8], rbx", "mov [r11 + 16], rbp", "mov [r11 + 24], r12",
                "mov [r11 + 32], r13", "mov [r11 + 40], r14", "mov [r11 + 48], r15",
                "pushfq", "pop rax", "mov [r11 + 56], rax",
                "stmxcsr [r11 + 68]",
                "fnstcw [r11 + 74]",
                ".irp n, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15",
                concat!("vmovups [r11 + 80 + 64 * \\n], ", $register, "\\n"),
                ".endr",
                "vzeroupper",
                "cld",
                "ldmxcsr [r11 + 64]",
                "fldcw [r11 + 72]",
                "add rsp, 24",
                "pop r15", "pop r14", "pop r13", "pop r12", "pop rbp", "pop rbx",
                "ret",
                k0 = const KEPT[0], k1 = const KEPT[1], k2 = const KEPT[2],
                k3 = const KEPT[3], k4 = const KEPT[4], k5 = const KEPT[5],
            )
        }
    };
}

trampoline!(trampoline_avx2, "", "ymm");
trampoline!(
    trampoline_avx512,
    ".irp n, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31
    vpternlogd zmm\\n, zmm\\n, zmm\\n, 0xff
    .endr
    .irp n, 1, 2, 3, 4, 5, 6, 7
    kxnorq k\\n, k\\n, k\\n
    .endr",
    "zmm"
);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::asm::{Asm, Isa, Mem, R, V};
    use crate::memory::Code;
    use crate::tests::guarded::{PAGE, SLACK};
    use std::ffi::c_int;

    fn call(emit: impl FnOnce(&mut Asm), args: &[u64]) -> Result<u64, String> {
        let mut asm = Asm::new(Cpu::get().best().unwrap_or(Isa::Avx2));
        emit(&mut asm);
        let code = Code::new(asm).unwrap();
        // SAFETY: the tests' functions take what they are given.
        unsafe { call_checked(code.address(0).unwrap(), args) }
    }

    #[test]
    fn a_well_behaved_function_is_called_with_its_arguments() {
        let sum = |asm: &mut Asm| {
            let frame = asm.enter(&[R::RBX, R::R12, R::RBP], 40);
            asm.mov_ri(R::RBX, 5);
            asm.mov_rr(R::RAX, R::RDI);
            for arg in &R::ARGS[1..] {
                asm.imul_rri(R::RAX, R::RAX, 10);
                asm.add_rr(R::RAX, *arg);
            }
            asm.splat(V(3), 1.0);
            asm.leave(&frame);
        };
        assert_eq!(call(sum, &[1, 2, 3, 4, 5, 6]), Ok(123456));
    }

    #[test]
    fn what_a_function_breaks_is_named() {
        let broken = |emit: fn(&mut Asm)| call(emit, &[]).unwrap_err();
        let r13 = broken(|asm| {
            asm.inc(R::R13);
            asm.ret();
        });
        assert!(r13.starts_with("r13 is changed"), "{r13}");
        let upper = broken(|asm| {
            asm.splat(V(7), 1.0);
            asm.ret();
        });
        assert!(upper.starts_with("the upper part of vector register 7"), "{upper}");
    }

    /// Defines a function that the assembler does not make.
    macro_rules! naked {
        ($name:ident, $($line:literal),*) => {
            #[unsafe(naked)]
            extern "sysv64" fn $name() {
                naked_asm!($($line),*)
            }
        };
    }

    naked!(backwards, "std", "ret");
    naked!(flushing, "push 0x9f80", "ldmxcsr [rsp]", "pop rax", "ret");
    naked!(single, "push 0x007f", "fldcw [rsp]", "pop rax", "ret");

    #[test]
    fn control_state_is_checked_and_restored() {
        for (function, word) in
            [(backwards as *const u8, "direction"), (flushing as *const u8, "MXCSR"), (single as *const u8, "x87")]
        {
            // SAFETY: they take no arguments.
            let broken = unsafe { call_checked(function, &[]) }.unwrap_err();
            assert!(broken.contains(word), "{broken}");
        }
        assert_eq!(call(Asm::ret, &[]), Ok(u64::MAX), "and nothing is left of it");
    }

    #[test]
    fn buffers_lie_where_they_should() {
        for n in [0, 1, 7, 1024, 1025] {
            for side in Side::ALL {
                let values: Vec<f32> = (0..n).map(|i| i as f32).collect();
                let fenced = GuardedBuffer::new(&values, side).read_only();
                assert_eq!(fenced.values(), values);
                let (start, end) = (fenced.as_ptr() as usize, fenced.values().as_ptr_range().end as usize);
                match side {
                    Side::Left => assert_eq!(start % PAGE, 0),
                    Side::Right => assert_eq!(end % PAGE, 0),
                    Side::Aligned => assert_eq!(start % 64, 0),
                }
                assert_eq!((fenced.overrun(), fenced.unwritten()), (None, None));
            }
        }
    }

    #[test]
    fn what_was_not_written_and_what_was_written_beside_it_is_found() {
        let fenced = GuardedBuffer::<i32>::output(5, Side::Left);
        // SAFETY: the fifth and sixth element lie within the pages.
        unsafe {
            (0..4).for_each(|i| fenced.as_mut_ptr().add(i).write(i as i32));
            assert_eq!(fenced.unwritten(), Some(4));
            fenced.as_mut_ptr().add(5).write(0);
            assert_eq!(fenced.overrun(), Some(1));
            fenced.as_mut_ptr().add(5).cast::<u8>().write_bytes(SLACK, 4);
        }
    }

    /// Exit status and output of a child process that runs `f`.
    fn in_child(f: impl FnOnce()) -> (c_int, String) {
        let mut pipe = [0; 2];
        // SAFETY: the child runs `f`, which must not allocate, and ends; the parent waits for it.
        unsafe {
            assert_eq!(libc::pipe(pipe.as_mut_ptr()), 0);
            let child = libc::fork();
            assert!(child >= 0);
            if child == 0 {
                libc::dup2(pipe[1], 2);
                f();
                libc::_exit(0);
            }
            libc::close(pipe[1]);
            let mut said = [0u8; 1024];
            let n = libc::read(pipe[0], said.as_mut_ptr().cast(), said.len()).max(0) as usize;
            libc::close(pipe[0]);
            let mut status = 0;
            assert_eq!(libc::waitpid(child, &mut status, 0), child);
            (status, String::from_utf8_lossy(&said[..n]).into_owned())
        }
    }

    #[test]
    fn one_byte_too_far_is_a_fault_that_names_the_case() {
        let right = GuardedBuffer::new(&[1.0f32; 3], Side::Right);
        let left = GuardedBuffer::new(&[1.0f32; 3], Side::Left);
        let input = GuardedBuffer::new(&[1.0f32; 3], Side::Aligned).read_only();
        running("the case of this test");
        let mut asm = Asm::new(Isa::Avx2);
        asm.mov_rm32(R::RAX, Mem::at(R::RDI, 0));
        asm.mov_mr32(Mem::at(R::RDI, 0), R::RAX);
        asm.ret();
        let code = Code::new(asm).unwrap();
        let touch = |address: u64| {
            // SAFETY: where the address is not ours, the child is meant to die of it.
            in_child(|| unsafe { call_checked(code.address(0).unwrap(), &[address]).map_or((), |_| ()) })
        };
        assert_eq!(touch(right.arg() + 8), (0, String::new()));
        for address in [right.arg() + 9, left.arg() - 1, input.arg()] {
            let (status, said) = touch(address);
            assert!(libc::WIFSIGNALED(status) && libc::WTERMSIG(status) == libc::SIGSEGV, "{status:#x}");
            assert!(said.contains("in: the case of this test"), "{said}");
        }
    }
}
