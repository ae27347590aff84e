" Prints what the syntax makes of texts, for tests/suite/editors.rs: `file PATH`, then `START END GROUP` in bytes for each word and
" sign, the outermost group. Reads the paths from $RELAY_TEXTS, writes to $RELAY_GROUPS.
set regexpengine=1 nocompatible encoding=utf-8 fileencodings=utf-8 fileformats=unix synmaxcol=0 nomodeline maxmempattern=200000
filetype off
syntax on
let s:out = []
for s:path in readfile($RELAY_TEXTS)
  execute 'silent edit!' fnameescape(s:path)
  setlocal synmaxcol=0
  set syntax=relay
  call add(s:out, 'file ' . s:path)
  for s:line in range(1, line('$'))
    let s:offset = line2byte(s:line) - 1
    let s:text = getline(s:line)
    let [s:word, s:start, s:end] = ['', 0, 0]
    while 1
      " A word or a sign has one group, and no number has a slash; asking for each byte takes many times longer.
      let [s:word, s:start, s:end] = matchstrpos(s:text, '[A-Za-z_][A-Za-z0-9_/]*\|[0-9][A-Za-z0-9_]*\|[^A-Za-z0-9_ \t\r]', s:end)
      if s:start < 0
        break
      endif
      let s:stack = synstack(s:line, s:start + 1)
      if !empty(s:stack)
        call add(s:out, (s:offset + s:start) . ' ' . (s:offset + s:end) . ' ' . synIDattr(s:stack[0], 'name'))
      endif
    endwhile
  endfor
  bwipeout!
endfor
call writefile(s:out, $RELAY_GROUPS)
qall!
