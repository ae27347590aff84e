//! How much memory tensors may take unless `--max-memory` says otherwise, and how much the process has had.

use super::bytes::Number;
use std::fs::read_to_string;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

/// Three quarters of the machine's memory, or of the control group's where that is less; 16 GiB where neither is known.
pub fn default_memory_limit() -> u64 {
    let machine = read_to_string("/proc/meminfo").ok().and_then(|text| kib_line(&text, "MemTotal:"));
    let group = read_to_string("/sys/fs/cgroup/memory.max").ok().and_then(|text| text.trim().parse().ok());
    let total = [machine, group].into_iter().flatten().min();
    total.map_or(16 << 30, |bytes: u64| bytes / 4 * 3)
}

/// How many processors the machine has, whatever this process may use of them; none where the system does not tell.
pub fn cores() -> Option<usize> {
    let text = read_to_string("/proc/cpuinfo").ok()?;
    Some(text.lines().filter(|line| line.starts_with("processor")).count()).filter(|&n| n > 0)
}

/// The most bytes of memory that the process has had at one time, if the system tells.
pub fn peak_memory() -> Option<u64> {
    read_to_string("/proc/self/status").ok().and_then(|text| kib_line(&text, "VmHWM:"))
}

/// Whether nobody else's code is in the process.
static OWN: AtomicBool = AtomicBool::new(false);

/// For a process that is the program's own, before it does anything: settles what a library leaves to whoever calls it.
///
/// Has blocks of 128 KiB and more mapped one by one for the whole life of the process, so that each goes back to the system when
/// it is freed. The GNU allocator starts like that, but takes the largest block ever freed as its new bound: weights that come
/// after would lie in one heap, whose holes stay where they are. Other allocators are left as they are.
///
/// And lets [`give_back_code`] do what it says.
pub fn own_process() {
    OWN.store(true, Relaxed);
    #[cfg(target_env = "gnu")]
    // SAFETY: both only set numbers that the allocator reads later.
    unsafe {
        libc::mallopt(libc::M_MMAP_THRESHOLD, 128 << 10);
        libc::mallopt(libc::M_TRIM_THRESHOLD, 1 << 20);
    }
}

/// Gives the holes that small blocks have left behind back to the system, where the allocator can.
pub fn give_back_free_memory() {
    #[cfg(target_env = "gnu")]
    // SAFETY: only what is free is given back.
    unsafe {
        libc::malloc_trim(0);
    }
}

/// Gives the whole pages of numbers back to the system, where it takes them: what was in them is lost, and who reads them finds
/// zeros or what was there. For large blocks that are freed in a while.
pub fn give_back_pages<T: Number>(numbers: &mut [T]) {
    #[cfg(target_os = "linux")]
    {
        let start = numbers.as_mut_ptr().cast::<u8>();
        let skipped = start.align_offset(PAGE);
        let bytes = size_of_val(numbers).saturating_sub(skipped) / PAGE * PAGE;
        if bytes > 0 {
            // SAFETY: the pages lie in the slice, which is borrowed alone, and any bytes make numbers.
            let _ = unsafe { libc::madvise(start.wrapping_add(skipped).cast(), bytes, libc::MADV_DONTNEED) };
        }
    }
}

/// Lets go the pages of the program's own file, code and constants, for the end of work that is done once. The system maps 16 pages
/// around each one that is touched, so that most of a program is in memory when functions of it have run that lie everywhere,
/// though they are a tenth of it. What is needed again is mapped again, from the system's cache of files, which takes a
/// fraction of a millisecond.
///
/// Not in a process that others share ([`own_process`]), nor under a debugger, whose breakpoints lie in such pages.
pub fn give_back_code() {
    #[cfg(target_os = "linux")]
    if OWN.load(Relaxed) && read_to_string("/proc/self/status").is_ok_and(|text| text.lines().any(|line| line == "TracerPid:\t0"))
    {
        // SAFETY: the callback takes no data.
        unsafe { libc::dl_iterate_phdr(Some(give_back_parts), std::ptr::null_mut()) };
    }
}

/// Lets go what is never written of the first object that the process has loaded, the program itself, and ends there.
#[cfg(target_os = "linux")]
unsafe extern "C" fn give_back_parts(info: *mut libc::dl_phdr_info, _: usize, _: *mut libc::c_void) -> libc::c_int {
    // SAFETY: the system hands over an object with the table of its parts.
    let (info, parts) = unsafe { (&*info, std::slice::from_raw_parts((*info).dlpi_phdr, usize::from((*info).dlpi_phnum))) };
    for part in parts.iter().filter(|part| part.p_type == libc::PT_LOAD && part.p_flags & libc::PF_W == 0) {
        let begin = (info.dlpi_addr + part.p_vaddr) as usize;
        let (from, to) = (begin.next_multiple_of(PAGE), (begin + part.p_memsz as usize) / PAGE * PAGE);
        if from < to {
            // SAFETY: the pages have never been written, so whoever reads them again finds what is in the file.
            let _ = unsafe { libc::madvise(std::ptr::without_provenance_mut(from), to - from, libc::MADV_DONTNEED) };
        }
    }
    1
}

/// Bytes of a page; where pages are larger, the system takes none back.
const PAGE: usize = 4096;

/// The bytes on a line of a file of the kernel that counts in KiB.
fn kib_line(text: &str, name: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix(name))?;
    line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()?.checked_mul(1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn meminfo_is_in_kib() {
        assert_eq!(kib_line("MemTotal:       16384 kB\nMemFree: 1 kB\n", "MemTotal:"), Some(16 << 20));
        assert_eq!(kib_line("MemFree: 1 kB\n", "MemTotal:"), None);
        assert!(default_memory_limit() > 0);
    }

    #[test]
    fn pages_that_are_given_back_lie_in_the_slice() {
        let mut numbers: Vec<f32> = (0..10_000).map(|n| n as f32 + 1.0).collect();
        give_back_pages(&mut numbers[100..9_000]);
        assert!(numbers.iter().enumerate().all(|(at, &n)| n == at as f32 + 1.0 || (100..9_000).contains(&at)));
        assert!(numbers.iter().enumerate().all(|(at, &n)| n == 0.0 || n == at as f32 + 1.0));
        give_back_pages(&mut numbers[..10]);
        give_back_pages::<f32>(&mut []);
        assert_eq!(numbers[0], 1.0);
    }

    #[test]
    fn the_program_is_what_it_was_when_its_pages_have_been_given_back() {
        static CONSTANTS: [u32; 40_000] = [7; 40_000];
        static CHANGED: AtomicBool = AtomicBool::new(false);
        CHANGED.store(true, Relaxed);
        own_process();
        for _ in 0..3 {
            give_back_code();
            assert!(CONSTANTS.iter().all(|&n| n == 7) && CHANGED.load(Relaxed));
        }
    }

    #[test]
    fn the_peak_rises_with_what_is_touched() {
        let before = peak_memory().expect("the system tells");
        let touched = vec![1u8; 64 << 20];
        let after = peak_memory().expect("the system tells");
        assert!(after >= before && after >= 64 << 20, "{before} then {after}, with {} bytes", touched.len());
    }
}
