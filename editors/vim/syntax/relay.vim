" Highlighting of Relay text. Tokens are as relayc reads them; tests/suite/editors.rs holds this file against its lexer.
" Where two matches begin at one place the later wins, so names come first. A name takes the slashes that touch it: `%x// c` is
" a local and no comment.
if exists('b:current_syntax')
  finish
endif
let s:save_cpo = &cpoptions
set cpoptions&vim

" An attribute is a name before `=`, a type or a constructor begins with a capital letter, any other name is an operator.
syntax match relayOperatorName /[A-Za-z_][A-Za-z0-9_\/]*/
syntax match relayTypeName /[A-Z][A-Za-z0-9_\/]*/
syntax match relayAttribute /[A-Za-z_][A-Za-z0-9_\/]*\%(\.[A-Za-z_][A-Za-z0-9_\/]*\)*\ze\s*=[=>]\@!/
syntax match relayDType /\%(int\|uint\|float\|bfloat\)\d*\%(x\d\+\)\?[A-Za-z0-9_\/]\@!/

syntax iskeyword @,48-57,_,/
syntax keyword relayDType Tensor bool handle e4m3_float8 e5m2_float8
syntax keyword relayNone None nullptr
syntax keyword relayKeyword let fn def type extern free_var
syntax keyword relayConditional if else
syntax match relayConditional /match\%(?\|[A-Za-z0-9_\/]\@!\)/
syntax keyword relayReference ref ref_read ref_write
syntax keyword relayBoolean True False

syntax match relayArrow /->\|=>/
syntax match relayNumber /-*\d[0-9.eE+-]*\%([fi][0-9.eE+-]*\)\?/
syntax match relayNumber /-*\%(inf\|nan\)f\%(16\|32\|64\)\?[A-Za-z0-9_\/]\@!/
syntax match relayMeta /meta\[[^][" \t\r]*\]\[\d\+\]/

syntax match relayLocal /%[A-Za-z_][A-Za-z0-9_\/]*\%(\.[A-Za-z_][A-Za-z0-9_\/]*\)*/
syntax match relayGraph /%\d\+/
syntax match relayGlobal /@[A-Za-z_][A-Za-z0-9_\/]*\%(\.[A-Za-z_][A-Za-z0-9_\/]*\)*/

syntax match relayEscape contained /\\\%([\\"ntr]\|x\x\x\)/
" A backslash before any other character is itself.
syntax region relayString start=/"/ skip=/\\[\\"]/ end=/"/ contains=relayEscape

syntax match relayTest contained /\/\/\s*\%(test:\|run:\|\^\+\)/
syntax match relayLineComment /\/\/[^\r]*/ contains=relayTest,@Spell
syntax region relayBlockComment start=/\/\*/ end=/\*\// contains=relayBlockComment,@Spell

syntax match relayVersion /#\[\s*version[^]]*\]/
syntax match relayVersion /^v0\.0\.\S\+/
syntax include @relayJson syntax/json.vim
unlet! b:current_syntax
" It goes on to the end of the file.
syntax region relayMetadata matchgroup=relayVersion start=/#\[\s*metadata\s*\]/ start=/^\s*METADATA *:/ end=/\%$/ contains=@relayJson

syntax sync fromstart

highlight default link relayOperatorName Function
highlight default link relayTypeName Structure
highlight default link relayAttribute Label
highlight default link relayDType Type
highlight default link relayNone Constant
highlight default link relayKeyword Keyword
highlight default link relayConditional Conditional
highlight default link relayReference Statement
highlight default link relayBoolean Boolean
highlight default link relayArrow Operator
highlight default link relayNumber Number
highlight default link relayMeta PreProc
highlight default link relayLocal Identifier
highlight default link relayGraph Special
highlight default link relayGlobal Function
highlight default link relayEscape SpecialChar
highlight default link relayString String
highlight default link relayTest Todo
highlight default link relayLineComment Comment
highlight default link relayBlockComment Comment
highlight default link relayVersion PreProc

let b:current_syntax = 'relay'
let &cpoptions = s:save_cpo
unlet s:save_cpo
