; Tokens; tests/suite/editors.rs holds these captures against relayc's lexer.
["let" "fn" "def" "if" "else" "type" "match" "match?" "extern" "free_var" "ref" "ref_read" "ref_write"] @keyword
(boolean) @boolean
(local) @variable
(graph) @variable.builtin
(global) @function
(number) @number
(string) @string
(meta) @constant.builtin
(version) @keyword.directive
(metadata_header) @keyword.directive
(line_comment) @comment
(block_comment) @comment

; What names are.
(attribute key: (name) @property)
(named_type name: (identifier) @type)
(type_definition name: (identifier) @type)
(extern_type name: (identifier) @type)
(type_parameters (identifier) @type)
(tensor_type "Tensor" @type.builtin)
(tensor_type dtype: (identifier) @type.builtin)
(constructor name: (identifier) @constructor)
(constructor_pattern name: (identifier) @constructor)
(call function: (name) @function.call)
((name) @constructor (#match? @constructor "^[A-Z]"))
(name) @function.builtin
(binary operator: _ @operator)
(size_binary operator: _ @operator)
(size_name) @variable.parameter
(size_call function: (identifier) @function.builtin)
["=" "=>" "->"] @operator
["(" ")" "[" "]" "{" "}"] @punctuation.bracket
["," ";" ":" "."] @punctuation.delimiter
