//! Views slices of numbers as their bytes, without a copy.

/// Numbers for which every bit pattern is valid.
pub trait Number: Copy + sealed::Sealed {}

mod sealed {
    pub trait Sealed {}
}

macro_rules! numbers {
    ($($number:ty),*) => {
        $(
            impl sealed::Sealed for $number {}
            impl Number for $number {}
        )*
    };
}

numbers!(u8, i8, u16, i16, u32, i32, u64, i64, f32, f64);

/// The bytes of numbers.
pub fn bytes_of<T: Number>(numbers: &[T]) -> &[u8] {
    // SAFETY: the bytes are those of the slice, and a number has no byte that is not initialised.
    unsafe { std::slice::from_raw_parts(numbers.as_ptr().cast(), size_of_val(numbers)) }
}

/// The bytes of numbers, writable.
pub fn bytes_of_mut<T: Number>(numbers: &mut [T]) -> &mut [u8] {
    // SAFETY: as above, borrowed alone; any bytes make numbers.
    unsafe { std::slice::from_raw_parts_mut(numbers.as_mut_ptr().cast(), size_of_val(numbers)) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_those_of_the_numbers() {
        assert_eq!(bytes_of(&[1u16, 0x203]), [1u16.to_ne_bytes(), 0x203u16.to_ne_bytes()].concat());
        assert!(bytes_of::<f64>(&[]).is_empty());
        let mut numbers = [1.5f32, 2.5];
        bytes_of_mut(&mut numbers)[4..].copy_from_slice(&7.25f32.to_ne_bytes());
        assert_eq!(numbers, [1.5, 7.25]);
    }
}
