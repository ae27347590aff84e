vim.api.nvim_create_autocmd({ "BufNewFile", "BufRead" }, {
  pattern = "*.relay",
  callback = function() vim.bo.filetype = "relay" end,
})
