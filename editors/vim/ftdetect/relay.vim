" Relay text of Apache TVM.
autocmd BufNewFile,BufRead *.relay setfiletype relay
