; Each capture under its name in Neovim and its name in Helix.
[(block) (match) (type_definition) (arguments) (parameters) (value_list) (tuple) (tuple_type) (shape) (constructor)]
  @indent.begin @indent
["}" ")" "]"] @indent.branch @indent.end @outdent
[(block_comment) (metadata_json)] @indent.auto
