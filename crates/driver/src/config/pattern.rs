//! Patterns for paths: `*` is any text in a part of a path, `?` a character of it, `**` any number of parts.

/// A pattern, by the parts of its path.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Pattern(Vec<String>);

impl Pattern {
    /// Errors: what is wrong with the pattern, in words.
    pub(crate) fn new(text: &str) -> Result<Pattern, &'static str> {
        if text.is_empty() {
            return Err("it is empty");
        }
        if text.starts_with('/') || text.contains('\\') || text.split('/').any(|part| part == "..") {
            return Err("it leads out of the folder of this file");
        }
        Ok(Pattern(text.split('/').filter(|part| !matches!(*part, "" | ".")).map(str::to_owned).collect()))
    }

    /// Whether it is the path of one file.
    pub(crate) fn is_plain(&self) -> bool {
        !self.0.iter().any(|part| part.contains(['*', '?']))
    }

    /// Whether it matches a path, given in parts.
    pub(crate) fn matches(&self, path: &[String]) -> bool {
        let part = |pattern: &String, part: &String| {
            let (pattern, part): (Vec<char>, Vec<char>) = (pattern.chars().collect(), part.chars().collect());
            wild(&pattern, &part, |&c| c == '*', |&wanted, &found| wanted == '?' || wanted == found)
        };
        wild(&self.0, path, |pattern| pattern == "**", part)
    }
}

/// Whether a pattern matches all items, where a star stands for any number of them. The last star alone takes more when the rest does
/// not match: what an earlier one could take, this one can.
fn wild<P, T>(pattern: &[P], items: &[T], is_star: impl Fn(&P) -> bool, is_one: impl Fn(&P, &T) -> bool) -> bool {
    let (mut at, mut item) = (0, 0);
    // The place behind the last star, and the first item that it does not take.
    let mut last: Option<(usize, usize)> = None;
    while item < items.len() {
        match pattern.get(at) {
            Some(star) if is_star(star) => {
                at += 1;
                last = Some((at, item));
            }
            Some(one) if is_one(one, &items[item]) => (at, item) = (at + 1, item + 1),
            _ => {
                let Some((behind, taken)) = last else { return false };
                (at, item) = (behind, taken + 1);
                last = Some((behind, taken + 1));
            }
        }
    }
    pattern[at..].iter().all(is_star)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stars_take_what_they_need() {
        let matches = |pattern: &str, path: &str| {
            let parts: Vec<String> = path.split('/').map(str::to_owned).collect();
            Pattern::new(pattern).expect("a pattern").matches(&parts)
        };
        assert!(matches("net.relay", "net.relay") && !matches("net.relay", "a/net.relay"));
        assert!(matches("./models//*.relay", "models/a.relay") && !matches("models/*.relay", "models/b/a.relay"));
        assert!(matches("**/*.relay", "a.relay") && matches("**/*.relay", "a/b/c.relay"));
        assert!(matches("a/**/b/*-?.relay", "a/b/b/x-1-2.relay") && !matches("a/**/b/*-?.relay", "a/b/b/x-12.relay"));
        assert!(matches("**", "a/b") && matches("*", "") && !matches("?", "ab") && !matches("a", "ab"));
        // Time is a product, not a power.
        assert!(!matches(&"*a".repeat(200), &"a".repeat(190)) && matches(&"*a".repeat(200), &"ba".repeat(200)));
    }

    #[test]
    fn patterns_stay_in_their_folder() {
        assert!(["", "/a", "../a", "a/../../b", "a\\b"].iter().all(|text| Pattern::new(text).is_err()));
        assert!(Pattern::new("a/..b").is_ok_and(|pattern| pattern.is_plain()));
    }
}
