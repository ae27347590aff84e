//! Differences between two sequences, and between two texts as a unified diff.
//!
//! The changes are those of a histogram diff: near-linear in time on any input, and not always the fewest.

use imara_diff::{Algorithm, Diff, InternedInput};
use std::fmt::Write;
use std::ops::Range;

/// Unchanged lines shown around a change.
const CONTEXT: usize = 3;

/// A stretch of the old sequence and what stands for it in the new one; one of the two may be empty.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Change {
    pub old: Range<usize>,
    pub new: Range<usize>,
}

/// The changes from one sequence to the other, in order. What lies between them is equal.
pub fn changes(old: &[u32], new: &[u32]) -> Vec<Change> {
    let mut input = InternedInput::default();
    input.update_before(old.iter().copied());
    input.update_after(new.iter().copied());
    changes_of(&Diff::compute(Algorithm::Histogram, &input))
}

/// The unified diff of two texts, with three lines around each change; empty if they are equal.
pub fn unified((old_name, old): (&str, &str), (new_name, new): (&str, &str)) -> String {
    let [old, new]: [Vec<&str>; 2] = [old, new].map(|text| text.split_inclusive('\n').collect());
    let mut input = InternedInput::default();
    input.update_before(old.iter().copied());
    input.update_after(new.iter().copied());
    let mut diff = Diff::compute(Algorithm::Histogram, &input);
    diff.postprocess_lines(&input);
    let changes = changes_of(&diff);
    if changes.is_empty() {
        return String::new();
    }
    let mut out = format!("--- {old_name}\n+++ {new_name}\n");
    for group in changes.chunk_by(|change, next| next.old.start - change.old.end <= 2 * CONTEXT) {
        write_hunk(&mut out, &old, &new, group);
    }
    out
}

/// The stretches of lines that differ, as bytes of the old text and what stands for them in the new one; in order.
pub fn line_changes<'a>(old: &str, new: &'a str) -> Vec<(Range<usize>, &'a str)> {
    let mut input = InternedInput::default();
    input.update_before(old.split_inclusive('\n'));
    input.update_after(new.split_inclusive('\n'));
    let mut diff = Diff::compute(Algorithm::Histogram, &input);
    diff.postprocess_lines(&input);
    let starts = |text: &str| -> Vec<usize> {
        let ends = text.split_inclusive('\n').scan(0, |end, line| {
            *end += line.len();
            Some(*end)
        });
        std::iter::once(0).chain(ends).collect()
    };
    let (old_starts, new_starts) = (starts(old), starts(new));
    let bytes = |starts: &[usize], lines: Range<usize>| starts[lines.start]..starts[lines.end];
    let changes = changes_of(&diff).into_iter();
    changes.map(|change| (bytes(&old_starts, change.old), &new[bytes(&new_starts, change.new)])).collect()
}

fn changes_of(diff: &Diff) -> Vec<Change> {
    let range = |range: Range<u32>| range.start as usize..range.end as usize;
    diff.hunks().map(|hunk| Change { old: range(hunk.before), new: range(hunk.after) }).collect()
}

/// Writes changes that share their context.
fn write_hunk(out: &mut String, old: &[&str], new: &[&str], changes: &[Change]) {
    let (Some(first), Some(last)) = (changes.first(), changes.last()) else { return };
    let before = first.old.start.min(CONTEXT);
    let after = (old.len() - last.old.end).min(CONTEXT);
    let range = |range: Range<usize>| match range.len() {
        0 => format!("{},0", range.start),
        1 => format!("{}", range.start + 1),
        len => format!("{},{len}", range.start + 1),
    };
    let shown = first.old.start - before..last.old.end + after;
    let new_shown = range(first.new.start - before..last.new.end + after);
    let _ = writeln!(out, "@@ -{} +{new_shown} @@", range(shown.clone()));
    let mut at = shown.start;
    for change in changes {
        write_lines(out, ' ', &old[at..change.old.start]);
        write_lines(out, '-', &old[change.old.clone()]);
        write_lines(out, '+', &new[change.new.clone()]);
        at = change.old.end;
    }
    write_lines(out, ' ', &old[at..shown.end]);
}

fn write_lines(out: &mut String, mark: char, lines: &[&str]) {
    for line in lines {
        out.push(mark);
        out.push_str(line);
        if !line.ends_with('\n') {
            out.push_str("\n\\ No newline at end of file\n");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(old: &str, new: &str) -> String {
        let all = unified(("old", old), ("new", new));
        all.strip_prefix("--- old\n+++ new\n").map_or(all.clone(), str::to_owned)
    }

    #[test]
    fn the_format_is_that_of_patch() {
        assert_eq!(shown("a\n", "a\n"), "");
        assert_eq!(shown("", "a\nb\n"), "@@ -0,0 +1,2 @@\n+a\n+b\n");
        assert_eq!(shown("a\n", ""), "@@ -1 +0,0 @@\n-a\n");
        assert_eq!(shown("a\nb", "a\nc\n"), "@@ -1,2 +1,2 @@\n a\n-b\n\\ No newline at end of file\n+c\n");
    }

    #[test]
    fn changes_share_their_context() {
        let lines = |changed: &[usize]| -> String {
            (1..=20).map(|at| if changed.contains(&at) { format!("new {at}\n") } else { format!("{at}\n") }).collect()
        };
        let near = shown(&lines(&[]), &lines(&[4, 11]));
        assert_eq!(near.matches("@@ ").count(), 1, "{near}");
        assert!(near.starts_with("@@ -1,14 +1,14 @@\n 1\n 2\n 3\n-4\n+new 4\n 5\n"), "{near}");
        let far = shown(&lines(&[]), &lines(&[4, 12]));
        assert!(far.contains(" 7\n@@ -9,7 +9,7 @@\n 9\n"), "{far}");
    }

    #[test]
    fn what_lies_between_changes_is_equal() {
        let (old, new) = ([1, 2, 3, 4, 5], [2, 3, 9, 5, 6]);
        let (mut at, mut to) = (0, 0);
        for change in changes(&old, &new) {
            assert_eq!(old[at..change.old.start], new[to..change.new.start]);
            (at, to) = (change.old.end, change.new.end);
        }
        assert_eq!(old[at..], new[to..]);
    }
}
