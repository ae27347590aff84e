//! Small texts, each formatted twice. `tests/golden/fmt/` shows whole programs.

use super::*;

/// Formats a text, and checks that formatting the result changes nothing.
fn formatted(source: &str) -> String {
    let once = format(FileId(0), source).unwrap_or_else(|errors| panic!("{source:?}: {errors:?}"));
    let twice = format(FileId(0), &once).unwrap_or_else(|errors| panic!("{once:?}: {errors:?}"));
    assert_eq!(once, twice, "formatted twice, from {source:?}");
    once
}

#[test]
fn the_empty_text_stays_empty() {
    assert_eq!(formatted(""), "");
    assert_eq!(formatted(" \n\n"), "");
    assert_eq!(formatted("\n\n// only this\r\n\n\n"), "// only this\n");
}

#[test]
fn expressions_need_no_header() {
    assert_eq!(formatted("free_var %x:int32;add(%x,1)"), "free_var %x: int32;\nadd(%x, 1)\n");
}

#[test]
fn what_would_read_as_something_else_keeps_its_blank() {
    for (source, expected) in [
        ("%a /%b", "%a / %b"),
        ("%a-%b", "%a - %b"),
        ("(5, 5 -2)", "(5, 5, -2)"),
        ("(5 .0, %t . 0, nn . relu)", "(5 .0, %t.0, nn.relu)"),
        ("(%x,)", "(%x,)"),
        ("nn . relu . (%x)", "nn.relu.(%x)"),
        ("(%x, %y,)", "(%x, %y)"),
        ("f(%x //why\n)", "f(\n  %x, //why\n)"),
        ("fn(%x:(int32))->fn()- >int32{%x}", "fn (%x: (int32,)) -> fn () -> int32 {\n  %x\n}"),
    ] {
        assert_eq!(formatted(source), format!("{expected}\n"), "from {source}");
    }
}

#[test]
fn comments_stay_where_they_are() {
    for (source, expected) in [
        ("f( /* a */ %x)", "f(/* a */ %x)"),
        ("f( /* a */\n %x)", "f( /* a */\n  %x,\n)"),
        ("f(/* a */)", "f(/* a */)"),
        ("f(\n/* a */ // b\n)", "f(\n  /* a */ // b\n)"),
        ("f(\n/* a */)", "f(/* a */)"),
        ("f(%x /* a */, /* b */ %y)", "f(%x /* a */, /* b */ %y)"),
        ("f(%x // a\n, %y)", "f(\n  %x, // a\n  %y,\n)"),
        ("f(%x\n// a\n, %y)", "f(\n  %x,\n  // a\n  %y,\n)"),
        ("f(%x, /* a */)", "f(%x /* a */)"),
        ("f(%x, %y /* a */) /* b */ // c", "f(%x, %y /* a */) /* b */ // c"),
        ("let %x = // a\n f(%y\n// b\n); %x", "let %x = // a\n  f(\n    %y,\n    // b\n  );\n%x"),
        ("if (%c) { 1 } // a\nelse // b\n{ 2 }", "if (%c) {\n  1\n} // a\nelse // b\n{\n  2\n}"),
        ("let // a\n%x = /* b */ 1; // c\n\n\n// d\n%x", "let // a\n  %x = /* b */ 1; // c\n\n// d\n%x"),
        ("%x /* a */ . /* b */ 0", "%x /* a */. /* b */0"),
        ("{ /* a */ %x /* b */ }", "{\n  /* a */ %x /* b */\n}"),
        ("{\n\n// a\n\n%x\n\n// b\n\n}", "{\n  // a\n\n  %x\n\n  // b\n}"),
    ] {
        assert_eq!(formatted(source), format!("{expected}\n"), "from {source}");
    }
}

#[test]
fn a_comment_that_points_keeps_pointing() {
    assert_eq!(formatted("{\n      f(%x)\n    //^^^^ why\n}"), "{\n  f(%x)\n//^^^^ why\n}\n");
}

#[test]
fn block_comments_are_moved_only_if_starred() {
    assert_eq!(formatted("{\n      /* a\n       * b */\n%x }"), "{\n  /* a\n   * b */\n  %x\n}\n");
    assert_eq!(formatted("{\n      /* a\n       b */\n%x }"), "{\n  /* a\n       b */\n  %x\n}\n");
}

#[test]
fn carriage_returns_stay_in_strings_only() {
    let source = "#[version = \"0.0.5\"]\r\ndef @f() {\r\n  f(a=\"x\r\ny\") // c\r\n}\r\n#[metadata]\r\n{}\r\n";
    let expected = "#[version = \"0.0.5\"]\ndef @f() {\n  f(a=\"x\r\ny\") // c\n}\n#[metadata]\n{}\n";
    assert_eq!(formatted(source), expected);
}

#[test]
fn all_errors_are_reported() {
    let errors = format(FileId(0), "def @f() { + }\ndef @g() { * }\n").expect_err("it has errors");
    assert_eq!(errors.len(), 2, "{errors:?}");
    assert!(errors.iter().all(Diagnostic::is_error));
}

#[test]
fn a_width_is_kept_where_the_text_allows_it() {
    let text = "def @f(%a: Tensor[(2, 3), float32], %b: Tensor[(2, 3), float32]) { add(multiply(%a, %b), multiply(%b, %a)) }\n";
    for width in [20, 30, 60, 200] {
        let style = Style { width };
        let once = style.format(FileId(0), text).unwrap_or_else(|errors| panic!("{errors:?}"));
        assert_eq!(style.format(FileId(0), &once).as_ref(), Ok(&once), "formatted twice");
        let longest = once.lines().map(|line| line.chars().count()).max().unwrap_or(0);
        assert!(width < 60 || longest <= width as usize, "{once}");
    }
    assert_eq!(Style { width: 200 }.format(FileId(0), text).map(|text| text.lines().count()), Ok(3));
}
