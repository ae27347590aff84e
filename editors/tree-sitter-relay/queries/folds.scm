[(block) (match) (type_definition) (arguments) (parameters) (value_list) (metadata_json) (block_comment)] @fold
