vim.bo.commentstring = "// %s"
vim.bo.expandtab = true
vim.bo.shiftwidth = 2
vim.bo.softtabstop = 2
-- Sigils and slashes belong to names.
vim.bo.iskeyword = "@,48-57,_,/,%,@-@"
-- Only with the parser `parser/relay.so`, which Neovim 0.9 and later can read.
if vim.treesitter.start and pcall(vim.treesitter.start) then
  vim.wo.foldexpr = "v:lua.vim.treesitter.foldexpr()"
end
