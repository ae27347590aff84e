//! Tests pictures of programs. The same program gives the same bytes, nothing overlaps, lines go down, program texts stay
//! intact in every format, and the page's data are consistent.
//!
//! `tests/browser/viz.mjs` uses the page in a browser.

use crate::support;
use crate::support::writer::{Purpose, choices, write};
use relayc_driver::optimise::{PassPlan, Target};
use relayc_driver::viz::{self, Form, Graph, Part};
use relayc_driver::{Phase, Program, check_text};
use relayc_viz::Change;
use serde_json::Value;

const HOSTILE: &str = include_str!("../golden/cli/data/viz_hostile.relay");
const FUNCTIONS: &str = include_str!("../golden/cli/data/viz_functions.relay");
const FUSE: &str = include_str!("../golden/cli/data/fuse.relay");

fn program(text: &str) -> Program {
    let mut program = check_text("net.relay", text, Phase::Main);
    viz::soften(&mut program);
    program
}

fn html_form() -> Form {
    Form::Html { title: "a</title><script>\"&'".to_owned(), heat: None, memory: None }
}

fn draw(text: &str, part: &Part, form: Form) -> String {
    let program = program(text);
    let graph = viz::graph(&program, part).unwrap_or_else(|error| panic!("{error:?}"));
    viz::text(&graph, &program.sources, form)
}

/// Random programs, and the ones with functions and with hostile names.
fn programs() -> Vec<String> {
    let mut texts: Vec<String> = (0..130).map(|seed| write(&choices(seed), Purpose::Read)).collect();
    texts.extend([HOSTILE.to_owned(), FUNCTIONS.to_owned()]);
    texts
}

fn attribute(tag: &str, name: &str) -> f64 {
    let start = tag.find(&format!(" {name}=\"")).unwrap_or_else(|| panic!("{tag} has no {name}")) + name.len() + 3;
    tag[start..].split('"').next().and_then(|text| text.parse().ok()).unwrap_or_else(|| panic!("{tag}: {name}"))
}

/// The tags of an XML text; every one that opens closes, and no text holds a bare `<` or `&`.
fn tags(xml: &str) -> Vec<&str> {
    let (mut tags, mut open) = (vec![], vec![]);
    for part in xml.split('<').skip(1) {
        let (tag, text) = part.split_once('>').unwrap_or_else(|| panic!("an open tag: {part}"));
        for entity in text.split('&').skip(1).chain(tag.split('&').skip(1)) {
            let name = entity.split(';').next().unwrap_or("");
            assert!(["lt", "gt", "amp", "quot"].contains(&name), "&{name}");
        }
        let name = tag.trim_start_matches('/').split([' ', '/']).next().unwrap_or("");
        match (tag.starts_with('/'), tag.ends_with('/')) {
            (true, _) => assert_eq!(open.pop(), Some(name), "{tag}"),
            (false, false) => open.push(name),
            (false, true) => {}
        }
        tags.push(tag);
    }
    assert!(open.is_empty(), "{open:?} stay open");
    tags
}

#[test]
fn a_picture_has_nothing_on_anything() {
    for text in programs() {
        let svg = draw(&text, &Part::default(), Form::Svg);
        let mut boxes: Vec<(f64, f64, f64, f64)> = vec![];
        for tag in tags(&svg) {
            if tag.starts_with("rect class=\"n ") {
                let [x, y, w, h] = ["x", "y", "width", "height"].map(|name| attribute(tag, name));
                assert!([x, y, w, h].iter().all(|number| number.is_finite()), "{tag}");
                boxes.push((x, y, x + w, y + h));
            }
            if tag.starts_with("path class=\"e\" d=\"M") {
                // Only a line that goes back, which is dashed, may go up; horizontally anything goes.
                let path = tag.split('"').nth(3).unwrap_or("");
                assert!(!path.contains("NaN") && !path.contains("inf"), "{path}");
                // What is left of a line that is too long to be drawn goes down by a length, not to a place.
                let Some(path) = Some(path).filter(|path| !path.contains('v')) else { continue };
                let mut y = f64::NEG_INFINITY;
                for piece in path.split(['M', 'V', 'C']).skip(1) {
                    let last = piece.split(' ').next_back().and_then(|n| n.parse::<f64>().ok());
                    let last = last.unwrap_or_else(|| panic!("{path} has no number"));
                    assert!(last >= y - 0.2, "{path} goes up in {text}");
                    y = last;
                }
            }
        }
        for (at, a) in boxes.iter().enumerate() {
            for b in &boxes[at + 1..] {
                let apart = a.2 <= b.0 || b.2 <= a.0 || a.3 <= b.1 || b.3 <= a.1;
                assert!(apart, "{a:?} lies on {b:?} in {text}");
            }
        }
    }
}

#[test]
fn the_same_program_is_the_same_bytes() {
    for text in programs().iter().rev().take(12) {
        for form in [|| Form::Term { width: 80 }, || Form::Dot, || Form::Svg, html_form] {
            assert_eq!(draw(text, &Part::default(), form()), draw(text, &Part::default(), form()));
        }
    }
}

#[test]
fn lines_of_text_are_no_wider_than_asked() {
    for text in programs() {
        for width in [40, 80] {
            for line in draw(&text, &Part::default(), Form::Term { width }).lines() {
                assert!(line.chars().count() <= width, "{line}");
            }
        }
    }
}

/// The page's data.
fn data(page: &str) -> Value {
    let (_, rest) = page.split_once("<script type=\"application/json\" id=\"data\">").expect("the data");
    let (json, _) = rest.split_once("</script>").expect("its end");
    serde_json::from_str(json).expect("JSON")
}

fn numbers(value: &Value) -> Vec<usize> {
    value.as_array().expect("a list").iter().map(|number| number.as_u64().expect("a number") as usize).collect()
}

#[test]
fn the_data_of_a_page_fit_each_other() {
    for text in programs() {
        let page = draw(&text, &Part::default(), html_form());
        let data = data(&page);
        let list = |name: &str| data[name].as_array().expect("a list").clone();
        let (nodes, groups) = (list("nodes"), list("groups"));
        let mut placed = vec![0; nodes.len()];
        let levels: Vec<Value> = groups.iter().filter(|group| !group.is_null()).map(|group| group["v"].clone()).collect();
        for level in levels.iter().chain([&data["top"]]) {
            let parts = numbers(&level["parts"]);
            for part in parts.chunks(2) {
                match part {
                    [0, node] => placed[*node] += 1,
                    [1, group] => assert!(!groups[*group].is_null()),
                    [2 | 3, node] => assert!(*node < nodes.len()),
                    other => panic!("{other:?}"),
                }
            }
            let n_slots = level["slots"].as_array().expect("slots").len() / 3;
            let mut seen = vec![false; n_slots];
            for row in level["rows"].as_array().expect("rows") {
                numbers(row).into_iter().for_each(|slot| assert!(!std::mem::replace(&mut seen[slot], true)));
            }
            assert!(seen.iter().all(|seen| *seen), "every slot is in a row");
            for wire in level["wires"].as_array().expect("wires") {
                assert!(numbers(&wire[5]).iter().all(|&slot| slot < n_slots));
            }
        }
        assert!(placed.iter().all(|&n| n == 1), "every node is in one place: {placed:?}");
    }
}

#[test]
fn hostile_texts_stay_texts() {
    let page = draw(HOSTILE, &Part::default(), html_form());
    assert_eq!(page.matches("</script>").count(), 2, "the data's end and the script's");
    assert!(!page.contains("</title><script>"));
    let data = data(&page);
    let mode = data["nodes"].as_array().expect("nodes").iter().flat_map(|node| node["a"].as_array().cloned().unwrap_or_default());
    let mode = mode.map(|pair| pair[1].as_str().unwrap_or("").to_owned()).find(|value| value.contains("script"));
    assert_eq!(mode.as_deref(), Some(r#""</script><!-- \"&'\\ ]]>""#));
    let svg = draw(HOSTILE, &Part::default(), Form::Svg);
    tags(&svg);
    assert!(svg.contains(r#">equation=&quot;&lt;&amp;\&quot;&gt;'&quot;</text>"#), "{svg}");
    // A quote that is not escaped would end a string of the language of Graphviz.
    for line in draw(HOSTILE, &Part::default(), Form::Dot).lines() {
        let mut quotes = 0;
        let mut chars = line.chars();
        while let Some(c) = chars.next() {
            match c {
                '\\' => drop(chars.next()),
                '"' => quotes += 1,
                _ => {}
            }
        }
        assert_eq!(quotes % 2, 0, "{line}");
    }
}

/// What the command says of a program, on standard output.
#[cfg(feature = "jit")]
fn relayc(args: &[&str]) -> String {
    let golden = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/golden/cli/data");
    let out =
        std::process::Command::new(env!("CARGO_BIN_EXE_relayc")).args(args).current_dir(golden).output().expect("relayc runs");
    assert!(out.status.success(), "{args:?}: {}", String::from_utf8_lossy(&out.stderr));
    String::from_utf8_lossy(&out.stdout).into_owned()
}

/// Whole programs and those in parts; the nodes of one fused group all say its time.
#[cfg(feature = "jit")]
#[test]
fn what_was_measured_is_at_the_nodes() {
    for (file, operators) in
        [("fuse.relay", &["nn.conv2d", "add %b", "nn.relu", "sort"][..]), ("branches.relay", &["nn.dense"][..])]
    {
        let page = relayc(&["viz", file, "-f", "html", "--profile", "--fill", "ones"]);
        let data = data(&page);
        let nodes = data["nodes"].as_array().expect("nodes");
        for operator in operators {
            let fact = |node: &&Value| {
                node["l"] == *operator && node["i"].as_array().is_some_and(|facts| facts.iter().any(|fact| fact[0] == "time"))
            };
            let node = nodes.iter().find(fact).unwrap_or_else(|| panic!("{file}: no time at {operator}"));
            let heat = node["h"].as_f64().expect("heat");
            assert!((0.0..=1000.0).contains(&heat), "{heat}");
        }
        assert_eq!(data["heat"], "time");
    }
}

/// Stretches of the arena that are needed at one time lie beside each other.
#[cfg(feature = "jit")]
#[test]
fn the_map_of_the_memory_fits() {
    let data = data(&relayc(&["viz", "fuse.relay", "-f", "html", "--plan"]));
    let memory = &data["memory"];
    let number = |value: &Value| value.as_u64().expect("a number");
    let buffers: Vec<[u64; 4]> =
        memory["buffers"].as_array().expect("buffers").iter().map(|own| [2, 3, 4, 5].map(|at| number(&own[at]))).collect();
    assert!(buffers.len() >= 3);
    for [offset, bytes, first, last] in &buffers {
        assert!(offset + bytes <= number(&memory["arena"]) && first <= last && *last < number(&memory["steps"]));
    }
    assert!(number(&memory["live"]) <= number(&memory["arena"]));
    assert_eq!(data["heat"], "memory");
}

#[test]
fn the_script_names_what_the_page_has() {
    let page = draw(FUNCTIONS, &Part::default(), html_form());
    for id in page.split("getElementById(\"").skip(1).map(|rest| rest.split('"').next().unwrap_or("")) {
        assert!(page.contains(&format!("id=\"{id}\"")), "{id}");
    }
    for banned in ["http://", "https://", "fetch(", "XMLHttpRequest", "innerHTML", "eval(", "import("] {
        assert!(!page.contains(banned), "{banned}");
    }
    assert!(page.contains("Content-Security-Policy\" content=\"default-src 'none'"));
}

/// Also what is wrong with types or names, as far as it was understood.
#[test]
fn every_program_of_the_repository_is_drawn() {
    for path in support::programs::all() {
        let Ok(text) = std::fs::read_to_string(&path) else { continue };
        let program = program(&text);
        let Ok(graph) = viz::graph(&program, &Part::default()) else { panic!("{}", path.display()) };
        for form in [Form::Term { width: 80 }, Form::Dot, Form::Svg, html_form()] {
            assert!(!viz::text(&graph, &program.sources, form).is_empty(), "{}", path.display());
        }
        let unfolded = Part { unfolded: true, weights: true, ..Part::default() };
        assert!(viz::graph(&program, &unfolded).is_ok_and(|all| all.nodes.len() >= graph.nodes.len()));
    }
}

#[test]
fn blocks_that_repeat_are_drawn_once() {
    let mut text = String::from("#[version = \"0.0.5\"]\ndef @main(%x: Tensor[(4, 8), float32], %m: Tensor[(8), float32]) {\n");
    let mut last = "%x".to_owned();
    for layer in 0..12 {
        let n = 3 * layer;
        text += &format!("  %{n} = tanh({last});\n  %{} = multiply(%{n}, %m);\n  %{} = add(%{}, {last});\n", n + 1, n + 2, n + 1);
        last = format!("%{}", n + 2);
    }
    text += &format!("  nn.relu({last})\n}}\n");
    let drawn = draw(&text, &Part::default(), Form::Term { width: 80 });
    assert!(drawn.contains("12 times") && drawn.matches("tanh").count() == 1, "{drawn}");
    let whole = draw(&text, &Part { unfolded: true, ..Part::default() }, Form::Term { width: 80 });
    assert_eq!(whole.matches("tanh").count(), 12);
}

#[test]
fn deep_and_large_programs_are_drawn_or_refused() {
    let nested = |n: usize| format!("  %{n} = if (%c) {{ %{} }} else {{ negative(%x) }};\n", n - 1);
    let nested: String = (1..4_000).map(nested).collect();
    let deep =
        format!("#[version = \"0.0.5\"]\ndef @main(%c: bool, %x: float32) {{\n  %0 = tanh(%x);\n{nested}  tanh(%3999)\n}}\n");
    for form in [Form::Term { width: 80 }, Form::Svg, html_form()] {
        assert!(draw(&deep, &Part::default(), form).len() > 1000);
    }
    // A long chain is one operator that repeats.
    let chain: String = (1..5_000).map(|n| format!("  %{n} = negative(%{});\n", n - 1)).collect();
    let chain = format!("#[version = \"0.0.5\"]\ndef @main(%x: float32) {{\n  %0 = negative(%x);\n{chain}  tanh(%4999)\n}}\n");
    let drawn = draw(&chain, &Part::default(), Form::Term { width: 80 });
    assert!(drawn.contains("5000 times") && drawn.lines().count() < 10, "{drawn}");
    let mut long = String::from("#[version = \"0.0.5\"]\ndef @main(%x: float32) {\n  %0 = negative(%x);\n");
    (1..100_010).for_each(|n| long.push_str(&format!("  %{n} = negative(%{});\n", n - 1)));
    long.push_str("  negative(%100009)\n}\n");
    let program = program(&long);
    let error = viz::graph(&program, &Part::default()).expect_err("too large");
    assert_eq!(error.code.id(), "E0731");
    let near = Part { around: Some("%5000".to_owned()), depth: 3, ..Part::default() };
    let graph = viz::graph(&program, &near).unwrap_or_else(|error| panic!("{error:?}"));
    assert_eq!(graph.nodes.len(), 8, "seven, and what flows into them");
}

/// Calls of a large function, and a tuple of what they give: nothing looks through all of one for each of the other.
#[test]
fn many_calls_and_wide_tuples_are_drawn() {
    const MANY: usize = 20_000;
    let lines = |line: &dyn Fn(usize) -> String| (1..MANY).map(line).collect::<String>();
    let calls = lines(&|n| format!("  %{n} = @f(%{});\n", n - 1));
    let fields: Vec<String> = (0..MANY).map(|n| format!("%{n}")).collect();
    let chain = lines(&|n| format!("  %{n} = negative(%{});\n", n - 1));
    let text = format!(
        "#[version = \"0.0.5\"]\ndef @f(%x: float32) -> float32 {{\n  %0 = tanh(%x);\n{chain}  tanh(%{last})\n}}\n\
         def @main(%x: float32) {{\n  %0 = tanh(%x);\n{calls}  ({})\n}}\n",
        fields.join(", "),
        last = MANY - 1,
    );
    for form in [Form::Term { width: 80 }, Form::Dot, Form::Svg] {
        assert!(draw(&text, &Part { unfolded: true, ..Part::default() }, form).lines().count() > MANY);
    }
}

/// What passes make of a program, beside it.
fn changes(text: &str, passes: &[&str], part: &Part) -> Graph {
    let how = PassPlan::named(passes.iter().copied(), Target::V3).expect("names of passes");
    viz::changes(&program(text), &how, part).unwrap_or_else(|error| panic!("{error:?}"))
}

/// The labels of the nodes that only one of the programs has.
fn changed(graph: &Graph) -> Vec<(Change, &str)> {
    let one_sided = graph.nodes.iter().filter(|node| node.change != Change::Kept);
    one_sided.map(|node| (node.change, node.name.as_deref().unwrap_or(node.label.as_str()))).collect()
}

/// Fusion computes the convolution of the shortcut first, and changes nothing else.
#[test]
fn what_is_only_moved_stays() {
    let graph = changes(FUSE, &["canonicalise", "fuse-ops"], &Part::default());
    assert_eq!(changed(&graph), []);
    let kept = |name: &str| graph.nodes.iter().filter(|node| node.name.as_deref() == Some(name)).count();
    assert_eq!(["%0", "%3", "%4", "%7"].map(kept), [1; 4]);
}

#[test]
fn of_equal_nodes_the_one_that_goes_is_marked() {
    let text = "#[version = \"0.0.5\"]\ndef @main(%x: float32) {\n  %0 = tanh(%x);\n  %1 = exp(%0);\n  %2 = tanh(%x);\n  \
                %3 = exp(%2);\n  %4 = (%1, %3);\n  %4\n}\n";
    let graph = changes(text, &["eliminate-common-subexpr"], &Part::default());
    assert_eq!(changed(&graph), [(Change::Removed, "%2"), (Change::Removed, "%3")]);
}

/// What is near a node is cut from the two programs together: what passes leave alone is in neither of them only.
#[test]
fn changes_around_a_node_are_those_of_the_program() {
    let chain: String = (1..9).map(|n| format!("  %{n} = tanh(%{});\n", n - 1)).collect();
    let text = format!(
        "#[version = \"0.0.5\"]\ndef @main(%x: Tensor[(4, 4), float32]) {{\n  %0 = nn.dropout(%x);\n  %20 = %0.0;\n{}  \
         nn.relu(%8)\n}}\n",
        chain.replace("tanh(%0)", "tanh(%20)")
    );
    let near = Part { around: Some("%2".to_owned()), depth: 2, ..Part::default() };
    assert_eq!(changed(&changes(&text, &["simplify-inference"], &near)), [(Change::Removed, "%0")]);
}

#[test]
fn a_call_that_is_gone_leads_to_its_function() {
    let graph = changes(FUNCTIONS, &["inline"], &Part::default());
    let gone = graph.links.iter().filter(|link| graph.nodes[link.from].change == Change::Removed);
    let gone: Vec<(&str, &str)> =
        gone.map(|link| (graph.nodes[link.from].label.as_str(), graph.groups[link.to].title.as_str())).collect();
    assert_eq!(gone, [("@AddFunc", "@AddFunc")]);
}

/// Lines down need no heads. One that goes back has its own at the upper end, and says there what it is.
#[test]
fn lines_that_go_back_have_their_heads_above() {
    let function = |name: &str, other: &str| {
        let ty = "Tensor[(2), float32]";
        format!("def @{name}(%n: bool, %x: {ty}) -> {ty} {{\n  if (%n) {{ %x }} else {{ @{other}(%n, nn.relu(%x)) }}\n}}\n")
    };
    let text = format!("#[version = \"0.0.5\"]\n{}{}", function("main", "odd"), function("odd", "main"));
    let svg = draw(&text, &Part::default(), Form::Svg);
    // A branch in each function that computes something, and the call of the second.
    assert_eq!((svg.matches("marker-end").count(), svg.matches("marker-start").count()), (3, 1), "{svg}");
    let y = |line: &str| line.split(['M', 'V', 'C', ' ', '"']).filter_map(|n| n.parse().ok()).nth(1).unwrap_or(f64::NAN);
    let back = svg.lines().find(|line| line.contains("marker-start")).map_or(f64::NAN, y);
    let labels = svg.lines().filter(|line| line.ends_with(">call</text>")).map(|text| attribute(text, "y"));
    assert!(labels.clone().count() == 2 && labels.clone().any(|label| back < label && label < back + 46.0), "{svg}");
}

/// Lines into one node meet at its border, but what is said of each stands beside it.
#[test]
fn labels_do_not_lie_on_each_other() {
    for text in programs() {
        let svg = draw(&text, &Part::default(), Form::Svg);
        // Where each begins, and its width in the font of small texts, which is ten high.
        let labels = svg.lines().filter(|line| line.starts_with("<text class=\"t\" x="));
        let labels: Vec<(f64, f64, f64, &str)> = labels
            .map(|line| {
                let said = line.split(['>', '<']).nth(2).unwrap_or("");
                (attribute(line, "x"), attribute(line, "y"), 6.0 * said.chars().count() as f64, said)
            })
            .collect();
        for (at, a) in labels.iter().enumerate() {
            for b in &labels[at + 1..] {
                let apart = a.0 + a.2 <= b.0 || b.0 + b.2 <= a.0 || (a.1 - b.1).abs() >= 10.0;
                assert!(apart || a == b, "{a:?} lies on {b:?} in {text}");
            }
        }
    }
}
