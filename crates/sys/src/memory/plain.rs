//! Memory is left to the allocator: each function does nothing.

use crate::bytes::Number;

/// For a process that is the program's own, before it does anything.
pub fn own_process() {}

/// Gives the holes that small blocks have left behind back to the system, where the allocator can: here it is not asked.
pub fn give_back_free_memory() {}

/// Gives the whole pages of numbers back to the system, where it takes them: here it takes none.
pub fn give_back_pages<T: Number>(_: &mut [T]) {}

/// Lets go the pages of the program's own file, where the system maps them again: here they stay.
pub fn give_back_code() {}

/// Whether the system refused memory, and what is under way is to end in order: here nobody knows.
pub fn is_short_of_memory() -> bool {
    false
}

/// The bytes of addresses that the process may still take: here nobody is asked.
pub(super) fn free_addresses() -> Option<u64> {
    None
}
