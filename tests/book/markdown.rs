//! Parses the parts of a page that tests need: fenced blocks, links and headings. Text between fences contains no links.

use std::ops::Range;

/// A fenced block.
pub(crate) struct Block {
    /// The line of its opening fence, from 1.
    pub line: usize,
    /// The words behind the opening fence: the language first.
    pub words: Vec<String>,
    /// Where the text between the fences stands in the page.
    pub range: Range<usize>,
}

impl Block {
    pub(crate) fn language(&self) -> &str {
        self.words.first().map_or("", String::as_str)
    }

    pub(crate) fn has(&self, word: &str) -> bool {
        self.words.iter().skip(1).any(|found| found == word)
    }

    /// The name of the file that the block is written to: `file=NAME`.
    pub(crate) fn file(&self) -> Option<&str> {
        self.words.iter().find_map(|word| word.strip_prefix("file="))
    }
}

/// A link of a page to another place.
pub(crate) struct Link {
    pub target: String,
    pub line: usize,
}

/// A page in parts.
#[derive(Default)]
pub(crate) struct Page {
    pub blocks: Vec<Block>,
    /// The texts of the headings.
    pub headings: Vec<String>,
    pub links: Vec<Link>,
    /// Code between single back-quotes.
    pub codes: Vec<Link>,
}

impl Page {
    pub(crate) fn parse(text: &str) -> Page {
        let mut page = Page::default();
        // The fence that is open, with its length; a shorter one inside is text.
        let mut open: Option<(usize, Block)> = None;
        let mut offset = 0;
        for (number, line) in text.split_inclusive('\n').enumerate() {
            let (start, line) = (offset, line.trim_end_matches('\n'));
            offset += line.len() + 1;
            let ticks = line.len() - line.trim_start_matches('`').len();
            match &mut open {
                Some((length, _)) if ticks >= *length && line.len() == ticks => {
                    let (_, mut block) = open.take().expect("it is open");
                    block.range.end = start;
                    page.blocks.push(block);
                }
                Some(_) => {}
                None if ticks >= 3 => {
                    let words = line[ticks..].split_whitespace().map(str::to_owned).collect();
                    open = Some((ticks, Block { line: number + 1, words, range: offset..offset }));
                }
                None if line.starts_with("    ") && !line.trim_start().starts_with(['|', '-']) => {}
                None => page.inline(line, number + 1),
            }
        }
        assert!(open.is_none(), "a fence without an end");
        page
    }

    /// Headings, links and code of a line outside of blocks.
    fn inline(&mut self, line: &str, number: usize) {
        let depth = line.len() - line.trim_start_matches('#').len();
        if depth > 0 && line[depth..].starts_with(' ') {
            self.headings.push(line[depth..].trim().to_owned());
        }
        let mut rest = String::new();
        for (i, part) in line.split('`').enumerate() {
            if i % 2 == 0 {
                rest.push_str(part);
            } else {
                self.codes.push(Link { target: part.to_owned(), line: number });
            }
        }
        for tail in rest.split("](").skip(1) {
            let target = tail.split([')', ' ']).next().unwrap_or("");
            self.links.push(Link { target: target.to_owned(), line: number });
        }
    }
}

/// The identifier that mdBook and code hosts give a heading: letters in lower case, blanks as hyphens, no punctuation.
pub(crate) fn slug(heading: &str) -> String {
    let keep = |c: char| match c {
        c if c.is_alphanumeric() || matches!(c, '_' | '-') => Some(c.to_lowercase().collect::<String>()),
        c if c.is_whitespace() => Some("-".to_owned()),
        _ => None,
    };
    heading.chars().filter_map(keep).collect()
}
