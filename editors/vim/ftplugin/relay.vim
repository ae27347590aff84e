" Settings for Relay text.
if exists('b:did_ftplugin')
  finish
endif
let b:did_ftplugin = 1

setlocal comments=s1:/*,mb:*,ex:*/,:// commentstring=//\ %s
setlocal expandtab shiftwidth=2 softtabstop=2
" Sigils and slashes belong to names, so that `*` finds the next mention of one.
setlocal iskeyword=@,48-57,_,/,%,@-@
" Programs that TVM printed with their types have long lines.
setlocal synmaxcol=0
if exists(':CompilerSet') != 2 && !exists('current_compiler')
  compiler relayc
endif
let b:undo_ftplugin = 'setlocal comments< commentstring< expandtab< shiftwidth< softtabstop< iskeyword< synmaxcol<'
