//! Compiles the generated parser and the scanner of comments.

fn main() {
    let files = ["src/parser.c", "src/scanner.c"];
    cc::Build::new().include("src").std("c11").warnings(false).files(files).compile("tree-sitter-relay");
    files.iter().for_each(|file| println!("cargo::rerun-if-changed={file}"));
}
