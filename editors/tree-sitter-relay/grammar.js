// The grammar of the Relay text language for tree-sitter (language 1 to 3).
//
// It accepts what relayc's own grammar (grammar/relay.lalrpop) accepts of right programs, and is looser on wrong ones: an
// editor highlights while one types. tests/suite/editors.rs parses every right program of the repository with it and holds its tokens
// against relayc's lexer. After a change run `TREE_SITTER_BLESS=1 cargo test` here, which makes src/, then
// `EDITORS_BLESS=1 cargo test --test suite editors` at the root, which makes the trees of test/corpus.

/* global grammar, choice, field, optional, prec, repeat, repeat1, seq, token */

// After its first comma a list needs no more commas; here none is needed, and a `(` after an expression is a call.
const list = (rule) => seq(rule, repeat(seq(optional(","), rule)), optional(","));

module.exports = grammar({
  name: "relay",

  // Comments nest, which no regular expression can follow.
  externals: ($) => [$.block_comment],
  extras: ($) => [/[ \t\r\n]/, $.line_comment, $.block_comment],
  word: ($) => $.identifier,
  supertypes: ($) => [$.type, $.pattern],

  rules: {
    source_file: ($) => seq(optional($.version), optional(choice(repeat1($._definition), $._body)), optional($.metadata)),

    version: () => token(choice(/#\[[ \t]*version[^\]\n]*\]/, /v0\.0\.[0-9]+/)),
    metadata: ($) => seq($.metadata_header, optional($.metadata_json)),
    metadata_header: () => token(choice(/#\[[ \t]*metadata[ \t]*\]/, /METADATA *:/)),
    // Everything to the end of the file.
    metadata_json: () => token(prec(1, /[^\s](.|\r|\n)*/)),

    _definition: ($) => choice($.function_definition, $.type_definition, $.extern_type),
    function_definition: ($) => seq("def", field("name", $.global), $._function),
    type_definition: ($) =>
      seq("type", field("name", $.identifier), optional($.type_parameters), optional(seq("{", optional(list($.constructor)), "}"))),
    extern_type: ($) => seq("extern", "type", field("name", $.identifier), optional($.type_parameters)),
    type_parameters: ($) => seq("[", optional(list($.identifier)), "]"),
    constructor: ($) => seq(field("name", $.identifier), optional(seq("(", optional(list($.type)), ")"))),

    _function: ($) =>
      seq(optional($.type_parameters), $.parameters, optional(seq($._arrow, field("result", $.type))), field("body", $.block)),
    parameters: ($) => seq("(", optional(list(choice($.parameter, $.attribute))), ")"),
    parameter: ($) => seq(field("name", $.local), optional(seq("{", list($.attribute), "}")), optional(seq(":", field("type", $.type)))),
    _arrow: () => choice("->", seq("-", ">")),

    // ---- Expressions ----

    // Statements, then the value.
    _body: ($) => seq(repeat($._item), $._statement),
    _item: ($) => choice($.graph_binding, $.let_binding, $.free_variable, $.expression_statement),
    graph_binding: ($) => seq(field("name", $.graph), "=", field("value", $._bound), ";"),
    let_binding: ($) => seq("let", field("name", $.local), optional(seq(":", field("type", $.type))), "=", field("value", $._bound), ";"),
    free_variable: ($) => seq("free_var", field("name", $.local), optional(seq(":", field("type", $.type))), ";"),
    expression_statement: ($) => seq($._statement, ";"),
    // A chain as a value is bindings and exactly one more statement.
    _bound: ($) => seq(repeat(choice($.graph_binding, $.let_binding)), $._statement),
    _statement: ($) => choice($._expression, $.match, $.block),
    block: ($) => seq("{", $._body, "}"),

    match: ($) => seq(choice("match", "match?"), field("value", $._atom), "{", optional(list($.clause)), "}"),
    clause: ($) => seq(field("pattern", $.pattern), "=>", field("value", $._body)),
    pattern: ($) => choice($.wildcard, $.variable_pattern, $.constructor_pattern, $.tuple_pattern),
    wildcard: () => "_",
    variable_pattern: ($) => seq($.local, optional(seq(":", field("type", $.type)))),
    constructor_pattern: ($) => prec.right(seq(field("name", $.identifier), optional(seq("(", optional(list($.pattern)), ")")))),
    tuple_pattern: ($) => seq("(", optional(list($.pattern)), ")"),

    _expression: ($) => choice($._operand, $.binary),
    binary: ($) =>
      choice(
        ...[
          [4, ["*", "/"]],
          [3, ["+", "-"]],
          [2, ["<", "<=", ">", ">="]],
          [1, ["==", "!="]],
        ].map(([level, signs]) =>
          prec.left(level, seq(field("left", $._expression), field("operator", choice(...signs)), field("right", $._expression))),
        ),
      ),
    _operand: ($) => choice($._atom, $.call),
    call: ($) => prec(10, seq(field("function", $._operand), $.arguments)),
    arguments: ($) => seq("(", optional(list(choice($._body, $.attribute))), ")"),

    _atom: ($) => choice($._primary, $.projection),
    projection: ($) => prec(11, seq(field("tuple", $._primary), ".", field("index", $.number))),
    _primary: ($) =>
      choice($.number, $.boolean, $.local, $.global, $.graph, $.meta, $.name, $.function, $.if, $.reference, $.tuple, $.parenthesized),
    // An operator or a constructor. A dot behind an operator's name means nothing.
    name: ($) => prec.right(seq($.identifier, repeat(seq(".", $.identifier)), optional("."))),
    function: ($) => seq("fn", $._function),
    if: ($) => seq("if", "(", field("condition", $._body), ")", field("then", $.block), "else", field("else", $.block)),
    reference: ($) =>
      choice(seq(choice("ref", "ref_read"), "(", $._body, ")"), seq("ref_write", "(", $._body, ",", $._body, ")")),
    parenthesized: ($) => seq("(", $._body, ")"),
    tuple: ($) =>
      choice(seq("(", ")"), seq("(", $._body, ",", optional(list($._body)), ")")),

    // ---- Attributes ----

    attribute: ($) => prec(12, seq(field("key", $.name), "=", field("value", $._value))),
    _value: ($) => choice($._atom, $._value_only),
    // What can be an expression in parentheses is one.
    _value_only: ($) => choice($.string, $.value_list, $.parenthesized_value),
    value_list: ($) => seq("[", optional(list($._value)), "]"),
    parenthesized_value: ($) => seq("(", $._value_only, ")"),

    // ---- Types ----

    type: ($) => choice($.tensor_type, $.tuple_type, $.function_type, $.reference_type, $.named_type, $.inferred_type, $.meta_type),
    tensor_type: ($) => seq("Tensor", "[", $.shape, ",", field("dtype", $.identifier), "]"),
    shape: ($) => seq("(", optional(list($._dimension)), ")"),
    _dimension: ($) => choice($._size, $.unknown, $.meta),
    // A slash that touches a name is a part of it, which relayc takes apart.
    _size: ($) => choice($.number, $.size_name, $.size_call, $.size_binary, $.parenthesized_size),
    size_name: ($) => $.identifier,
    size_call: ($) => prec(10, seq(field("function", $.identifier), "(", optional(list($._size)), ")")),
    size_binary: ($) =>
      choice(
        ...[
          [4, ["*", "/"]],
          [3, ["+", "-"]],
        ].map(([level, signs]) =>
          prec.left(level, seq(field("left", $._size), field("operator", choice(...signs)), field("right", $._size))),
        ),
      ),
    parenthesized_size: ($) => seq("(", $._size, ")"),
    unknown: () => "?",
    tuple_type: ($) => seq("(", optional(list($.type)), ")"),
    function_type: ($) => seq("fn", optional($.type_parameters), "(", optional(list($.type)), ")", $._arrow, field("result", $.type)),
    reference_type: ($) => seq("ref", "(", $.type, ")"),
    named_type: ($) => prec.right(seq(field("name", $.identifier), optional(seq("[", optional(list($.type)), "]")))),
    inferred_type: () => "_",
    meta_type: ($) => $.meta,

    // ---- Tokens: as src/syntax/token.rs and lexer.rs have them ----

    identifier: () => /[A-Za-z_][A-Za-z0-9_\/]*/,
    local: () => /%[A-Za-z_][A-Za-z0-9_\/]*(\.[A-Za-z_][A-Za-z0-9_\/]*)*/,
    global: () => /@[A-Za-z_][A-Za-z0-9_\/]*(\.[A-Za-z_][A-Za-z0-9_\/]*)*/,
    graph: () => /%[0-9]+/,
    number: () =>
      choice(
        token(choice(/-*[0-9][0-9.eE+-]*([fi][0-9.eE+-]*)?/, /-+(inf|nan)f(16|32|64)?/)),
        // Like keywords: `inffoo` is a name.
        ...["inff", "inff16", "inff32", "inff64", "nanf", "nanf16", "nanf32", "nanf64"],
      ),
    boolean: () => choice("True", "False"),
    string: () => /"([^"\\]|\\\\|\\"|\\)*"/,
    meta: () => token(prec(1, /meta\[[^\]\["\s]*\]\[[0-9]+\]/)),
    line_comment: () => token(/\/\/[^\r\n]*/),
  },
});
