((metadata_json) @injection.content (#set! injection.language "json"))
