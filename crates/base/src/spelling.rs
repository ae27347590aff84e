//! Spelling suggestions: finds the known name closest to an unknown one.
//!
//! Each unknown name is compared with every candidate, and a comparison costs more the longer the names are. [`SpellingSearch`] therefore
//! limits the total work of all its searches.

/// Suggests the candidate closest to `name`, at an edit distance of at most a third of its length.
///
/// Each call has a work limit of its own; to look up many names, share one [`SpellingSearch`]. The first of equally close candidates wins,
/// so callers pass them in a fixed order.
pub fn nearest<'a>(name: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    SpellingSearch::default().among(name, candidates)
}

/// Searches for spelling suggestions within a work limit; past the limit it finds none.
pub struct SpellingSearch {
    /// Work left, roughly in letters compared.
    left: usize,
    rows: [Vec<usize>; 3],
}

impl Default for SpellingSearch {
    fn default() -> SpellingSearch {
        SpellingSearch { left: 1 << 26, rows: [vec![], vec![], vec![]] }
    }
}

impl SpellingSearch {
    /// Takes `work` from the limit; false if less is left.
    pub fn spend(&mut self, work: usize) -> bool {
        let left = self.left.checked_sub(work);
        self.left = left.unwrap_or(0);
        left.is_some()
    }

    /// The closest of the candidates; the first of equally close ones.
    pub fn among<'a>(&mut self, name: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
        self.find(name, candidates, |_, _| false)
    }

    /// The closest of candidates in any order; of equally close ones the first in the alphabet.
    pub fn among_unordered<'a>(&mut self, name: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
        self.find(name, candidates, |one, other| one < other)
    }

    fn find<'a>(
        &mut self,
        name: &str,
        candidates: impl IntoIterator<Item = &'a str>,
        is_before: fn(&str, &str) -> bool,
    ) -> Option<&'a str> {
        // A name of many letters is nobody's spelling mistake.
        const MAX_LETTERS: usize = 200;
        // The longest prefix that may have been forgotten.
        const PREFIX: usize = 8;
        // So many bytes are read in the time of a step of a distance.
        const BYTES: usize = 16;
        let letters: Vec<char> = name.chars().take(MAX_LETTERS + 1).collect();
        if letters.len() > MAX_LETTERS {
            return None;
        }
        let allowed = letters.len().max(3) / 3;
        let longest = letters.len() + allowed.max(PREFIX);
        let mut best: Option<(usize, &str)> = None;
        let mut other: Vec<char> = vec![];
        for candidate in candidates {
            if !self.spend(1) {
                return None;
            }
            // No letter has more bytes than four.
            if candidate == name || candidate.len() > 4 * longest {
                continue;
            }
            if !self.spend(candidate.len() / BYTES) {
                return None;
            }
            other.clear();
            other.extend(candidate.chars());
            let is_prefixed = || other.len() <= longest && !name.contains('.') && candidate.rsplit('.').next() == Some(name);
            let distance = if candidate.eq_ignore_ascii_case(name) {
                // `%X` for `%x`: closer than any other name.
                Some(0)
            } else if is_prefixed() {
                // `conv2d` for `nn.conv2d` is a forgotten prefix, not a spelling mistake.
                Some(1)
            } else {
                // A letter is no misspelling of another.
                self.distance(&letters, &other, allowed)?.filter(|&distance| distance < letters.len())
            };
            let Some(distance) = distance else { continue };
            if best.is_none_or(|(least, first)| distance < least || distance == least && is_before(candidate, first)) {
                best = Some((distance, candidate));
            }
        }
        best.map(|(_, candidate)| candidate)
    }

    /// The number of insertions, deletions, replacements and swaps of neighbours between two names, if it is at most `most`. The
    /// outer `None`: the work limit is spent.
    fn distance(&mut self, a: &[char], b: &[char], most: usize) -> Option<Option<usize>> {
        if a.len().abs_diff(b.len()) > most {
            return Some(None);
        }
        // A row holds for one beginning of `a` the distance to each of `b`. Beginnings whose lengths differ by more than `most` are
        // further away than that, and so is what goes on from them.
        let far = most + 1;
        if !self.spend(b.len() + a.len() * (2 * most + 1)) {
            return None;
        }
        let [above, last, row] = &mut self.rows;
        for row in [&mut *above, &mut *last, &mut *row] {
            row.clear();
            row.resize(b.len() + 1, far);
        }
        (0..=most.min(b.len())).for_each(|j| last[j] = j);
        for (i, &letter) in (1usize..).zip(a) {
            let band = i.saturating_sub(most)..=(i + most).min(b.len());
            // Of three rows before.
            row[band.start().saturating_sub(1)] = far;
            for j in band.clone() {
                let least = match j {
                    0 => i,
                    _ => {
                        let swapped = i > 1 && j > 1 && letter == b[j - 2] && a[i - 2] == b[j - 1];
                        let swapped = if swapped { above[j - 2] + 1 } else { far };
                        swapped.min(last[j - 1] + usize::from(letter != b[j - 1])).min(last[j] + 1).min(row[j - 1] + 1)
                    }
                };
                row[j] = least.min(far);
            }
            if row[band].iter().all(|&distance| distance == far) {
                return Some(None);
            }
            std::mem::swap(above, last);
            std::mem::swap(last, row);
        }
        Some(Some(last[b.len()]).filter(|&distance| distance <= most))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nearest_prefers_a_forgotten_prefix() {
        assert_eq!(nearest("conv2d", ["nn.conv1d", "nn.conv2d", "nn.conv3d"]), Some("nn.conv2d"));
        assert_eq!(nearest("nn.rulu", ["nn.relu", "nn.prelu"]), Some("nn.relu"));
        assert_eq!(nearest("frobnicate", ["nn.relu"]), None);
    }

    /// Compares with the full table on names of few letters, short and long, with few and with many changes.
    #[test]
    fn distances_are_those_of_the_whole_table() {
        let mut random = fastrand::Rng::with_seed(1);
        let mut near = SpellingSearch::default();
        for _ in 0..20_000 {
            let mut word = |n: usize| -> Vec<char> { (0..n).map(|_| random.char('a'..='c')).collect() };
            let a = word(12);
            let mut b = a.clone();
            for _ in 0..random.usize(0..6) {
                let at = random.usize(0..=b.len());
                match random.u8(0..4) {
                    0 => b.insert(at, random.char('a'..='c')),
                    1 if at < b.len() => drop(b.remove(at)),
                    2 if at < b.len() => b[at] = 'd',
                    _ if at + 1 < b.len() => b.swap(at, at + 1),
                    _ => {}
                }
            }
            let a = &a[random.usize(0..3)..];
            let text = |letters: &[char]| letters.iter().collect::<String>();
            let whole = strsim::osa_distance(&text(a), &text(&b));
            for most in 1..7 {
                assert_eq!(near.distance(a, &b, most), Some(Some(whole).filter(|&n| n <= most)), "{a:?} {b:?} {most}");
            }
            near.left = 1 << 26;
        }
    }

    #[test]
    fn letters_are_counted_not_bytes() {
        let name = "\u{5c42}".repeat(150);
        assert_eq!(nearest(&name, [&*format!("{name}2")]), Some(&*format!("{name}2")));
        assert_eq!(nearest(&"a".repeat(201), [&*"a".repeat(200)]), None);
    }

    /// Among very many names the search stops, and every later one too.
    #[test]
    fn the_work_has_an_end() {
        let mut near = SpellingSearch::default();
        let other = "b".repeat(150);
        assert_eq!(near.among(&"a".repeat(150), std::iter::repeat(&*other)), None);
        assert_eq!(near.among("conv2d", ["nn.conv2d"]), None);
    }
}
