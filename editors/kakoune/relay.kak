# Relay text in Kakoune: colours, and kak-lsp with `relayc lsp`. In kakrc: source /…/editors/kakoune/relay.kak

hook global BufCreate .*\.relay %{ set-option buffer filetype relay }

hook global WinSetOption filetype=relay %{
    add-highlighter window/relay ref relay
    set-option window indentwidth 2
    # Options of Kakoune's own scripts.
    try %{
        set-option buffer comment_line '//'
        set-option buffer comment_block_begin '/*'
        set-option buffer comment_block_end '*/'
    }
    set-option buffer extra_word_chars '_' '%' '@' '/'
    hook window InsertChar \n -group relay-indent relay-indent-on-new-line
    hook window InsertChar [\x7d)\]] -group relay-indent relay-indent-on-closing
    hook -once -always window WinSetOption filetype=.* %{
        remove-highlighter window/relay
        remove-hooks window relay-indent
    }
    # kak-lsp 17 and later ask the buffer which servers it has; earlier ones read kak-lsp.toml.
    try %{
        set-option buffer lsp_servers %{
            [relayc]
            command = "relayc"
            args = ["lsp"]
            root_globs = ["relayc.toml", ".git"]
        }
    }
    try %{ lsp-enable-window }
}

add-highlighter shared/relay regions
add-highlighter shared/relay/code default-region group
add-highlighter shared/relay/string region '"' (?<!\\)(\\\\)*" fill string
add-highlighter shared/relay/comment region -recurse '/\*' '/\*' '\*/' fill comment
add-highlighter shared/relay/line region '//' '$' fill comment
add-highlighter shared/relay/metadata region '^#\[\s*metadata\s*\]' '\z' fill meta
add-highlighter shared/relay/code/ regex '\b([A-Za-z_][\w/]*(?:\.[A-Za-z_][\w/]*)*)\(' 1:builtin
add-highlighter shared/relay/code/ regex '\b([A-Za-z_]\w*)\s*=[^=>]' 1:attribute
add-highlighter shared/relay/code/ regex '\b[A-Z]\w*\b|\b(Tensor|bool|handle|u?int\d+|b?float\d+)\b' 0:type
add-highlighter shared/relay/code/ regex '\b(let|fn|def|if|else|type|match|extern|free_var|ref|ref_read|ref_write)\b' 0:keyword
add-highlighter shared/relay/code/ regex '\b(True|False)\b|(?<![\w%@/.])-?\d[\d.]*([eE][+-]?\d+)?[fi]?\d*' 0:value
add-highlighter shared/relay/code/ regex '%(\d+|[A-Za-z_][\w/]*(\.[A-Za-z_][\w/]*)*)' 0:variable
add-highlighter shared/relay/code/ regex '@[A-Za-z_][\w/]*(\.[A-Za-z_][\w/]*)*' 0:function
add-highlighter shared/relay/code/ regex 'meta\[[^\]]*\]\[\d+\]' 0:meta
add-highlighter shared/relay/code/ regex '#\[version[^\]]*\]' 0:meta

define-command -hidden relay-indent-on-new-line %{
    evaluate-commands -draft -itersel %{
        # As the line before, and further in behind an open bracket.
        try %{ execute-keys -draft <semicolon> K <a-&> }
        try %{ execute-keys -draft k x <a-k> [\x7b(\[]\h*$ <ret> j <a-gt> }
    }
}

define-command -hidden relay-indent-on-closing %{
    # A line that is a closing bracket stands where that of the open one does.
    evaluate-commands -draft -itersel %{ try %{ execute-keys -draft <a-h> <a-k> ^\h+[\x7d)\]]$ <ret> h m <a-S> 1 <a-&> } }
}
