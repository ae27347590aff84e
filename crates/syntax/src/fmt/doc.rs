//! Text with optional line breaks, and the choice of where lines break.
//!
//! A document is a flat list of [`Item`]s; groups are marked by brackets in it, so nothing recurses. A group is either flat, all
//! on one line, or broken, and then all its own lines end. It breaks if a line in it must end or if it does not fit. The width
//! counts the group and the text after it up to the next possible line break.
//!
//! After Wadler's and Oppen's printers, in three linear runs over the list: which groups must break, how much text follows each
//! place, and the printing. A document is printed piece by piece, wherever a line ends outside all groups, so memory follows the
//! largest statement, not the program.
//!
//! Comments outside a group do not count for its width: a long `/* ty=… */` after a call must not break the call, and breaking it
//! would not make the comment shorter.

use super::comments::{is_line_comment, reindented};

/// The indentation of each level.
const STEP: u32 = 2;

/// The maximum indentation: lines need room, and a text nested n deep must not grow with the square of n.
const MAX_INDENT: u32 = 80;

#[derive(Clone, Copy, Debug)]
pub(crate) enum Item {
    /// A token, by its place in the source.
    Token {
        start: u32,
        end: u32,
    },
    /// A sign or blank that the formatter adds.
    Str(&'static str),
    /// A comment, by its place in the source. `shift` is for a caret annotation: its distance to the first character of the line
    /// above.
    Comment {
        start: u32,
        end: u32,
        shift: Option<i32>,
    },
    Line(Line),
    /// Text that is written only if the group is broken.
    IfBroken(&'static str),
    /// The start of a group; `last` if this group breaks in preference to one before it.
    Open {
        last: bool,
    },
    Close,
    Indent,
    Dedent,
}

#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct Line {
    /// Whether it is a blank in a flat group; otherwise nothing.
    pub(crate) blank: bool,
    /// Whether the line must end here.
    pub(crate) hard: bool,
    /// Whether an empty line follows.
    pub(crate) empty_line: bool,
    /// Whether the next line continues something that no rule would break here.
    pub(crate) goes_on: bool,
}

pub(crate) struct Doc<'s> {
    source: &'s str,
    /// The longest line, where one can end, in characters.
    max_width: u32,
    items: Vec<Item>,
    depth: u32,
    out: String,
    indent: u32,
    /// The column, in characters.
    column: u32,
    /// The indentation of the current line, written before its first text.
    pending_indent: Option<u32>,
    /// Where the current line begins, and where the last line that holds code does.
    line_indent: u32,
    code_indent: u32,
}

/// What the first two runs compute for each item.
struct Measured {
    /// The width of all items before it, flat.
    before: Vec<u32>,
    /// The width of the code from it to the next place where a line can end.
    tail: Vec<u32>,
    /// For a group's opening: where it closes.
    close: Vec<u32>,
    /// For a group's opening: whether it must break.
    must_break: Vec<bool>,
}

impl<'s> Doc<'s> {
    pub(crate) fn new(source: &'s str, max_width: u32) -> Doc<'s> {
        Doc {
            source,
            max_width,
            items: vec![],
            depth: 0,
            out: String::with_capacity(source.len() + source.len() / 8),
            indent: 0,
            column: 0,
            pending_indent: None,
            line_indent: 0,
            code_indent: 0,
        }
    }

    pub(crate) fn push(&mut self, item: Item) {
        match item {
            Item::Open { .. } => self.depth += 1,
            Item::Close => self.depth = self.depth.saturating_sub(1),
            _ => {}
        }
        self.items.push(item);
        if matches!(item, Item::Line(line) if line.hard) && self.depth == 0 {
            self.flush();
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.items.is_empty() && self.out.is_empty()
    }

    /// The text, ending in one line break if there is any.
    pub(crate) fn finish(mut self) -> String {
        self.flush();
        if !self.out.is_empty() {
            self.out.truncate(self.out.trim_end_matches('\n').len());
            self.out.push('\n');
        }
        self.out
    }

    fn text(&self, start: u32, end: u32) -> &'s str {
        self.source.get(start as usize..end as usize).unwrap_or("")
    }

    fn flush(&mut self) {
        let items = std::mem::take(&mut self.items);
        let measured = self.measure(&items);
        // Whether each open group is flat.
        let mut flat: Vec<bool> = vec![];
        for (at, &item) in items.iter().enumerate() {
            let is_flat = flat.last().copied().unwrap_or(false);
            match item {
                Item::Open { .. } => flat.push(is_flat || self.fits(&measured, at)),
                Item::Close => drop(flat.pop()),
                Item::Indent => self.indent += STEP,
                Item::Dedent => self.indent = self.indent.saturating_sub(STEP),
                Item::Token { start, end } => self.write_token(start, end),
                Item::Str(text) => self.write(text),
                Item::Comment { start, end, shift } => self.write_comment(start, end, shift),
                Item::IfBroken(text) if !is_flat => self.write(text),
                Item::Line(line) if is_flat && line.blank => self.write(" "),
                Item::Line(line) if !is_flat => self.end_line(line),
                Item::IfBroken(_) | Item::Line(_) => {}
            }
        }
        self.items = items;
        self.items.clear();
    }

    fn measure(&self, items: &[Item]) -> Measured {
        let n = items.len();
        let mut measured =
            Measured { before: vec![0; n + 1], tail: vec![0; n + 1], close: vec![0; n], must_break: vec![false; n] };
        let mut open: Vec<usize> = vec![];
        for (at, &item) in items.iter().enumerate() {
            measured.before[at + 1] = measured.before[at].saturating_add(self.flat_width(item));
            let mut breaks = false;
            match item {
                Item::Open { .. } => open.push(at),
                Item::Close => {
                    if let Some(opened) = open.pop() {
                        measured.close[opened] = at as u32;
                        breaks = measured.must_break[opened];
                    }
                }
                Item::Line(line) => breaks = line.hard,
                Item::Comment { start, end, .. } => breaks = self.text(start, end).contains('\n'),
                _ => {}
            }
            if let Some(&opened) = open.last().filter(|_| breaks) {
                measured.must_break[opened] = true;
            }
        }
        for (at, &item) in items.iter().enumerate().rev() {
            let after = measured.tail[at + 1];
            measured.tail[at] = match item {
                Item::Line(_) => 0,
                // Behind a group that may stay flat, the lines in it are no help.
                Item::Open { last: false } if !measured.must_break[at] => {
                    let close = measured.close[at] as usize;
                    let width = measured.before[close] - measured.before[at];
                    measured.tail[close].saturating_add(width)
                }
                Item::Token { .. } | Item::Str(_) => after.saturating_add(self.flat_width(item)),
                _ => after,
            };
        }
        measured
    }

    /// The width of an item in a flat group.
    fn flat_width(&self, item: Item) -> u32 {
        match item {
            Item::Token { start, end } => width(self.text(start, end)),
            Item::Str(text) => width(text),
            // Nothing follows it on its line.
            Item::Comment { start, end, .. } if is_line_comment(self.text(start, end)) => 0,
            Item::Comment { start, end, .. } => width(self.text(start, end)),
            Item::Line(line) => u32::from(line.blank),
            Item::IfBroken(_) | Item::Open { .. } | Item::Close | Item::Indent | Item::Dedent => 0,
        }
    }

    fn fits(&self, measured: &Measured, open: usize) -> bool {
        let close = measured.close[open] as usize;
        let width = measured.before[close] - measured.before[open];
        let column = self.pending_indent.unwrap_or(self.column);
        !measured.must_break[open] && column.saturating_add(width).saturating_add(measured.tail[close]) <= self.max_width
    }

    fn end_line(&mut self, line: Line) {
        self.out.push('\n');
        if line.empty_line {
            self.out.push('\n');
        }
        self.column = 0;
        self.pending_indent = Some((self.indent + if line.goes_on { STEP } else { 0 }).min(MAX_INDENT));
    }

    /// Indents the line, if this is the first text on it. Empty lines stay empty.
    fn indent_line(&mut self, indent: Option<u32>) {
        if let Some(indent) = indent {
            self.out.extend(std::iter::repeat_n(' ', indent as usize));
            self.column = indent;
            self.line_indent = indent;
        }
    }

    fn write(&mut self, text: &str) {
        let indent = self.pending_indent.take();
        self.indent_line(indent);
        if text != " " {
            self.code_indent = self.line_indent;
        }
        self.out.push_str(text);
        self.column += width(text);
    }

    /// As it is: a string may hold line breaks.
    fn write_token(&mut self, start: u32, end: u32) {
        let text = self.text(start, end);
        self.write(text);
        if let Some((_, last)) = text.rsplit_once('\n') {
            self.column = width(last);
            self.begin_line(last);
            self.code_indent = self.line_indent;
        }
    }

    /// Notes where a line begins that a string or comment began.
    fn begin_line(&mut self, line: &str) {
        self.line_indent = line.bytes().take_while(|b| matches!(b, b' ' | b'\t')).count() as u32;
    }

    fn write_comment(&mut self, start: u32, end: u32, shift: Option<i32>) {
        let mut indent = self.pending_indent.take();
        if let (Some(indent), Some(shift)) = (&mut indent, shift) {
            *indent = self.code_indent.saturating_add_signed(shift);
        }
        self.indent_line(indent);
        for (i, line) in reindented(self.text(start, end), self.column).enumerate() {
            if i > 0 {
                self.out.push('\n');
                self.column = 0;
                self.begin_line(&line);
            }
            self.out.push_str(&line);
            self.column += width(&line);
        }
    }
}

fn width(text: &str) -> u32 {
    if text.is_ascii() { text.len() as u32 } else { text.chars().count() as u32 }
}

#[cfg(test)]
mod tests {
    use super::*;

    const OPEN: Item = Item::Open { last: false };
    const SOFT: Item = Item::Line(Line { blank: false, hard: false, empty_line: false, goes_on: false });
    const BLANK: Item = Item::Line(Line { blank: true, hard: false, empty_line: false, goes_on: false });

    /// `name(items)`, as lists are.
    fn list(name: &'static str, items: &[&'static str]) -> Vec<Item> {
        let mut out = vec![Item::Str(name), OPEN, Item::Str("("), Item::Indent, SOFT];
        for (i, item) in items.iter().enumerate() {
            out.extend((i > 0).then_some([Item::Str(","), BLANK]).into_iter().flatten());
            out.push(Item::Str(item));
        }
        out.extend([Item::IfBroken(","), Item::Dedent, SOFT, Item::Str(")"), Item::Close]);
        out
    }

    fn print(items: &[Item]) -> String {
        let mut doc = Doc::new("", 100);
        items.iter().for_each(|&item| doc.push(item));
        doc.finish()
    }

    #[test]
    fn a_group_that_fits_is_flat() {
        assert_eq!(print(&list("f", &["%a", "%b"])), "f(%a, %b)\n");
    }

    #[test]
    fn a_group_that_does_not_fit_ends_all_its_lines() {
        const LONG: &str = "a_name_of_fifty_characters_which_is_half_of_a_line";
        assert_eq!(print(&list("f", &[LONG, LONG])), format!("f(\n  {LONG},\n  {LONG},\n)\n"));
        // What follows counts, up to the next place where a line can end.
        let mut items = list("f", &[LONG, "a_name_of_forty_five_characters_in_all_it_is"]);
        assert_eq!(print(&items).lines().count(), 1);
        items.push(Item::Str(";;;"));
        assert_eq!(print(&items).lines().count(), 4);
        items.insert(items.len() - 1, BLANK);
        assert!(print(&items).starts_with("f(a_name"));
    }

    #[test]
    fn a_line_that_must_end_breaks_what_it_stands_in() {
        let hard = Item::Line(Line { hard: true, empty_line: true, ..Line::default() });
        let items = [OPEN, Item::Str("a"), BLANK, OPEN, Item::Str("b"), hard, Item::Str("c"), Item::Close, Item::Close];
        assert_eq!(print(&items), "a\nb\n\nc\n");
    }
}
