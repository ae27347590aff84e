//! Infers and prints the networks of the zoo, and compares them with TVM's own texts if a checkout has them beside it.

use relayc_check::infer::infer;
use relayc_ir::Module;
use relayc_ir::print::{Options, print};
use relayc_ops::table;
use relayc_zoo::{Config, find, macs, n_parameters, params_of};
use std::path::Path;

/// The network a command line names, with its types.
fn typed(command: &str) -> Module {
    let mut words = command.split_whitespace().map(str::to_string);
    let network = find(&words.next().expect("a name")).unwrap_or_else(|e| panic!("{command}: {}", e.message));
    let config = Config::parse(network, &words.collect::<Vec<_>>()).unwrap_or_else(|e| panic!("{command}: {}", e.message));
    let mut module = config.build().unwrap_or_else(|e| panic!("{command}: {}", e.message));
    let diagnostics = infer(&mut module, table());
    assert!(diagnostics.is_empty(), "{command}: {diagnostics:?}");
    module
}

#[test]
fn texts_are_tvms() {
    let folder = Path::new("../shared/conformance/zoo");
    let Ok(entries) = std::fs::read_dir(folder) else { return };
    let mut paths: Vec<_> = entries.map(|entry| entry.expect("an entry").path()).collect();
    paths.retain(|path| path.extension().is_some_and(|ext| ext == "json"));
    assert!(!paths.is_empty());
    for path in paths {
        let json = std::fs::read_to_string(&path).expect("a file");
        let json: serde_json::Value = serde_json::from_str(&json).expect("JSON");
        let command: Vec<&str> = json["model"].as_array().expect("words").iter().filter_map(|word| word.as_str()).collect();
        let expected = std::fs::read_to_string(path.with_extension("relay")).expect("a file");
        let found =
            print(&typed(&command.join(" ")), table(), Options { types: true, meta: false, exact: false, dim_names: false });
        for (line, (found, expected)) in (1..).zip(found.lines().zip(expected.lines())) {
            assert_eq!(found, expected, "{}, line {line}", path.display());
        }
        assert_eq!(found, expected, "{}", path.display());
    }
}

/// Sizes as the papers and other libraries have them, where those build the same layers.
#[test]
fn sizes_are_known() {
    for (command, parameters, products) in [
        ("mlp", 109_386, 109_184),
        ("resnet --layers 50", 25_595_060, 3_857_973_248),
        ("mobilenet", 4_253_864, 568_740_352),
        ("vgg --layers 16", 138_357_544, 15_470_264_320),
        ("squeezenet", 1_248_424, 835_814_912),
        ("lstm", 1_320_960, 1_310_720),
    ] {
        let module = typed(command);
        let params = params_of(&module).unwrap_or_else(|e| panic!("{command}: {}", e.message));
        assert_eq!((n_parameters(&params), macs(&module)), (parameters, Some(products)), "{command}");
    }
}

#[test]
fn every_configuration_has_types() {
    for command in [
        "mlp --batch 3 --dtype float16",
        "mobilenet --layout NHWC --image-shape 224,224,3 --dtype float16",
        "resnet --layers 34",
        "resnet --layers 50 --layout NHWC --image-shape 224,224,3",
        "resnet --layers 101 --dtype float64",
        "resnet --layers 152",
        "resnet --layers 200",
        "resnet --layers 269",
        "resnet --layers 110 --image-shape 3,28,28",
        "resnet --layers 164 --image-shape 3,28,28",
        "resnet --layers 50 --image-shape 3,32,32",
        "vgg --layers 13",
        "vgg --layers 16 --batch-norm",
        "vgg --layers 19 --batch-norm --dtype float16",
        "squeezenet --version 1.0",
        "dqn --layout NHWC --image-shape 84,84,4",
        "lstm --iterations 3 --hidden 4 --batch 2 --dtype float16",
        "densenet",
        "densenet --size 161",
        "densenet --size 169",
        "densenet --size 201",
        "inception_v3",
        "synthetic",
        "dcgan",
        "resnet_3d",
        "resnet_3d --layers 34",
    ] {
        params_of(&typed(command)).unwrap_or_else(|e| panic!("{command}: {}", e.message));
    }
}

/// The prelude and the natural numbers in one program with uses of each of their functions.
#[test]
fn the_libraries_are_right() {
    let mut text = String::new();
    for library in relayc_zoo::LIBRARIES.iter().rev() {
        text.push_str(library.text.strip_prefix("#[version = \"0.0.5\"]\n").expect("a library starts with its header"));
    }
    let uses = include_str!("../data/prelude_uses.relay");
    for name in text.lines().filter_map(|line| line.strip_prefix("def @")).filter_map(|rest| rest.split(['[', '(']).next()) {
        assert!(uses.contains(&format!("@{name}(")) || name == "id", "`@{name}` is not tried");
    }
    let text = format!("#[version = \"0.0.5\"]\n{text}{uses}");
    let program = relayc_driver::check_text("libraries", &text, relayc_driver::Phase::Infer);
    assert!(program.diagnostics.is_empty(), "{:?}", program.diagnostics);
    let runner = relayc_driver::example::Runner::new(&program, ".");
    let mut n_runs = 0;
    for line in text.lines().filter_map(|line| line.strip_prefix("// run: ")) {
        let example = relayc_driver::example::Example::parse(line).expect("an example");
        assert_eq!(runner.check(&example), Ok(()), "{line}");
        n_runs += 1;
    }
    assert!(n_runs > 8);
}
