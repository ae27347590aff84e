-- Drives the language server from Neovim: each answer is a line of JSON, in the words of tests/peers/editors.py.
vim.o.swapfile = false
vim.opt.runtimepath:append(os.getenv("RELAYC_EDITORS") .. "/nvim")
vim.cmd("filetype plugin on")
require("relayc").setup({ cmd = { os.getenv("RELAYC"), "lsp" } })
vim.cmd("edit " .. os.getenv("RELAYC_TEXT"))
local client
vim.wait(10000, function()
  for id in pairs(vim.lsp.buf_get_clients(0)) do client = id end
  return client ~= nil and vim.lsp.get_client_by_id(client).server_capabilities ~= nil
end)

local function say(what, value)
  io.stdout:write(vim.fn.json_encode({ what, value }) .. "\n")
end

local function ask(method, more)
  local params = vim.tbl_extend("force", { textDocument = vim.lsp.util.make_text_document_params() }, more or {})
  local answers = vim.lsp.buf_request_sync(0, method, params, 10000)
  return answers[client].result
end

local function text()
  return table.concat(vim.api.nvim_buf_get_lines(0, 0, -1, false), "\n") .. "\n"
end

local function wait_for_diagnostics(wanted)
  vim.wait(10000, function() return #vim.diagnostic.get(0) == wanted end)
  return vim.diagnostic.get(0)
end

local found = wait_for_diagnostics(1)[1]
say("diagnostics", { found.lnum, found.code })

local at = { line = found.lnum, character = found.col }
local range = { start = at, ["end"] = at }
local action = ask("textDocument/codeAction", { range = range, context = { diagnostics = {} } })[1]
vim.lsp.util.apply_workspace_edit(action.edit, "utf-16")
wait_for_diagnostics(0)
say("code action", text())

vim.lsp.util.apply_text_edits(ask("textDocument/formatting", { options = { tabSize = 2, insertSpaces = true } }), 0, "utf-16")
say("format", text())

say("hover", ask("textDocument/hover", { position = { line = 2, character = 7 } }).contents.value)

vim.lsp.util.apply_workspace_edit(
  ask("textDocument/rename", { position = { line = 2, character = 7 }, newName = "%scores" }), "utf-16")
say("rename", text())

local items = ask("textDocument/completion", { position = { line = 3, character = 8 } }).items
say("completion", vim.tbl_map(function(item) return item.label end, items))

-- The commands of the plugin.
local function waited(ask)
  local found
  ask(function(what) found = what end)
  vim.wait(20000, function() return found ~= nil end)
  return found
end

local run = waited(function(done) require("relayc").run(nil, done) end)
local marks = vim.api.nvim_buf_get_extmarks(0, vim.api.nvim_create_namespace("relayc-tests"), 0, -1, { details = true })
say("tests", { vim.tbl_map(function(test) return test.holds end, run.results), marks[1][4].virt_text[1][1] })
waited(function(done) require("relayc").profile(done) end)
marks = vim.api.nvim_buf_get_extmarks(0, vim.api.nvim_create_namespace("relayc-profile"), 0, -1, { details = true })
say("profile", vim.tbl_map(function(mark) return mark[4].virt_text[1][1] end, marks))
local picture = waited(function(done) require("relayc").picture(done) end)
say("picture", vim.fn.readfile(picture)[1])
vim.cmd("RelayPass -O0")
vim.wait(20000, function() return vim.api.nvim_buf_get_name(0):find("relay after") ~= nil end)
say("pass", text())
vim.cmd("wincmd p")
vim.cmd("RelayExplain E0301")
vim.wait(10000, function() return vim.bo.filetype == "markdown" end)
say("explain", vim.api.nvim_buf_get_lines(0, 0, 1, false)[1])
vim.cmd("qall!")
