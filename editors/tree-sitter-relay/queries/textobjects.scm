; Each capture under its name in Neovim (outer, inner) and its name in Helix and Kakoune (around, inside).

; Functions; the inside is the body.
(function_definition body: (block) @function.inner @function.inside) @function.outer @function.around
(function body: (block) @function.inner @function.inside) @function.outer @function.around

; Data types; the inside is their constructors.
(type_definition) @class.outer @class.around
(type_definition (constructor) @class.inner @class.inside)

; Parameters and arguments, with the comma behind them.
(parameters [(parameter) (attribute)] @parameter.inner @parameter.inside)
(parameters [(parameter) (attribute)] @parameter.outer @parameter.around . ","? @parameter.outer @parameter.around)
(arguments (_) @parameter.inner @parameter.inside)
(arguments (_) @parameter.outer @parameter.around . ","? @parameter.outer @parameter.around)

; Calls; the inside is the arguments.
(call (arguments) @call.inner @call.inside) @call.outer @call.around

; Bindings; the inside is the value.
(graph_binding value: (_) @assignment.inner @entry.inside) @assignment.outer @entry.around
(let_binding value: (_) @assignment.inner @entry.inside) @assignment.outer @entry.around

; Cases of a match; the inside is the value.
(clause value: (_) @conditional.inner @entry.inside) @conditional.outer @entry.around

[(line_comment) (block_comment)] @comment.outer @comment.around @comment.inside
