//! The orientation that a camera notes in a picture (Exif 2.32, tag 0x0112), applied to its pixels.
//!
//! Whatever the note lacks or gets wrong leaves the picture as it is stored.

use super::Image;

/// The tag of the orientation in the first directory.
const ORIENTATION: u16 = 0x0112;
/// The type of its value: one unsigned number of 16 bits.
const SHORT: u16 = 3;

/// Turns a picture upright by its Exif data, which begins with the TIFF header.
pub(super) fn upright(image: Image, exif: Option<&[u8]>) -> Image {
    let Image { width, height, channels, .. } = image;
    let from_right = |x: usize| width.saturating_sub(1).saturating_sub(x);
    let from_bottom = |y: usize| height.saturating_sub(1).saturating_sub(y);
    let orientation = exif.and_then(orientation);
    // The column and row in the stored picture of a pixel of the upright one.
    let place: &dyn Fn(usize, usize) -> (usize, usize) = match orientation {
        Some(2) => &|x, y| (from_right(x), y),
        Some(3) => &|x, y| (from_right(x), from_bottom(y)),
        Some(4) => &|x, y| (x, from_bottom(y)),
        Some(5) => &|x, y| (y, x),
        Some(6) => &|x, y| (y, from_bottom(x)),
        Some(7) => &|x, y| (from_right(y), from_bottom(x)),
        Some(8) => &|x, y| (from_right(y), x),
        _ => return image,
    };
    // The second half of the orientations swaps the sides.
    let (wide, high) = if orientation > Some(4) { (height, width) } else { (width, height) };
    let mut values = Vec::with_capacity(image.values.len());
    for y in 0..high {
        for x in 0..wide {
            let (column, row) = place(x, y);
            let pixel = row.saturating_mul(width).saturating_add(column).saturating_mul(channels);
            values.extend(image.values.iter().skip(pixel).take(channels));
        }
    }
    Image { width: wide, height: high, channels, values }
}

/// The orientation, if the first directory has one.
fn orientation(exif: &[u8]) -> Option<u16> {
    let is_big = match exif.get(..4)? {
        b"MM\0*" => true,
        b"II*\0" => false,
        _ => return None,
    };
    let short = |at: usize| {
        let bytes = exif.get(at..)?.first_chunk().copied()?;
        Some(if is_big { u16::from_be_bytes(bytes) } else { u16::from_le_bytes(bytes) })
    };
    let start = exif.get(4..)?.first_chunk().copied()?;
    let directory = usize::try_from(if is_big { u32::from_be_bytes(start) } else { u32::from_le_bytes(start) }).ok()?;
    // A count of entries, then twelve bytes each: tag, type, count, value.
    let first = directory.saturating_add(2);
    let entries = (0..usize::from(short(directory)?)).map(|entry| first.saturating_add(entry.saturating_mul(12)));
    let found = entries.take_while(|&at| short(at).is_some()).find(|&at| short(at) == Some(ORIENTATION))?;
    (short(found.saturating_add(2))? == SHORT).then(|| short(found.saturating_add(8)))?
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Exif data with an orientation behind another entry.
    fn exif(big: bool, value: u16) -> Vec<u8> {
        let short = |n: u16| if big { n.to_be_bytes() } else { n.to_le_bytes() };
        let long = |n: u32| if big { n.to_be_bytes() } else { n.to_le_bytes() };
        let mut bytes = if big { b"MM\0*".to_vec() } else { b"II*\0".to_vec() };
        bytes.extend(long(8));
        bytes.extend(short(2));
        for (tag, value) in [(0x010f, 9), (ORIENTATION, value)] {
            bytes.extend(short(tag));
            bytes.extend(short(SHORT));
            bytes.extend(long(1));
            bytes.extend(short(value));
            bytes.extend([0; 2]);
        }
        bytes
    }

    /// A picture of 3 by 2 pixels, `abc` above `def`.
    fn picture() -> Image {
        Image { width: 3, height: 2, channels: 1, values: b"abcdef".to_vec() }
    }

    #[test]
    fn every_orientation_is_undone() {
        let upright_rows = [
            (1, "abc/def"),
            (2, "cba/fed"),
            (3, "fed/cba"),
            (4, "def/abc"),
            (5, "ad/be/cf"),
            (6, "da/eb/fc"),
            (7, "fc/eb/da"),
            (8, "cf/be/ad"),
        ];
        for (value, expected) in upright_rows {
            for big in [false, true] {
                let image = upright(picture(), Some(&exif(big, value)));
                let rows: Vec<&str> =
                    image.values.chunks(image.width).map(|row| std::str::from_utf8(row).expect("letters")).collect();
                assert_eq!((rows.join("/").as_str(), image.height), (expected, rows.len()), "orientation {value}");
            }
        }
    }

    #[test]
    fn a_note_that_is_cut_or_wrong_changes_nothing() {
        let whole = exif(true, 6);
        // Behind the value stand two bytes that nobody reads.
        for end in 0..whole.len() - 2 {
            assert_eq!(upright(picture(), Some(&whole[..end])), picture(), "{end} bytes");
        }
        for value in [0, 9, u16::MAX] {
            assert_eq!(upright(picture(), Some(&exif(false, value))), picture());
        }
        let mut far = whole.clone();
        far[4..8].fill(0xff);
        assert_eq!(upright(picture(), Some(&far)), picture());
    }
}
