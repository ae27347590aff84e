[(function_definition) (function) (block) (clause)] @local.scope
(parameter name: (local) @local.definition)
(let_binding name: (local) @local.definition)
(free_variable name: (local) @local.definition)
(graph_binding name: (graph) @local.definition)
(variable_pattern (local) @local.definition)
[(local) (graph)] @local.reference
