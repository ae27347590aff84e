" `:make` checks the file with relayc and fills the quickfix list.
if exists('current_compiler')
  finish
endif
let current_compiler = 'relayc'
let s:save_cpo = &cpoptions
set cpoptions&vim

if exists(':CompilerSet') != 2
  command -nargs=* CompilerSet setlocal <args>
endif

CompilerSet makeprg=relayc\ check\ --message-format\ short\ %:S
" `net.relay:5:17: error[E0308]: what is wrong`; the line that counts the messages is none.
CompilerSet errorformat=%f:%l:%c:\ %trror[%*[A-Z]%n]:\ %m,%f:%l:%c:\ %tarning[%*[A-Z]%n]:\ %m,%-G%.%#

let &cpoptions = s:save_cpo
unlet s:save_cpo
