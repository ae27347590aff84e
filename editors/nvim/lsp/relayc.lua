-- What `vim.lsp.enable("relayc")` of Neovim 0.11 takes; lua/relayc.lua does more.
return { cmd = { "relayc", "lsp" }, filetypes = { "relay" }, root_markers = { "relayc.toml", ".git" } }
