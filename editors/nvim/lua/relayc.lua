-- The language server of Relay text in Neovim, with its own client: `require("relayc").setup()`.
--
-- Commands in a Relay text: `:RelayRun` runs its tests, `:RelayProfile` shows what each line takes of the time, `:RelayPass -O3` shows
-- what passes make of it, `:RelayPicture` opens its picture, `:RelayExplain E0301` shows the page of a code.
-- Options: `cmd`, `trusted`, `settings` (as the section `relayc`), `on_attach`.
local M = {}

local options = { cmd = { "relayc", "lsp" }, trusted = true, settings = {} }

-- The folder that a project begins in: the nearest one above with a `relayc.toml` or `.git`, else that of the file.
local function root(file)
  local folder = vim.fn.fnamemodify(file, ":p:h")
  local at = folder
  while true do
    for _, mark in ipairs({ "relayc.toml", ".git" }) do
      if vim.fn.empty(vim.fn.glob(at .. "/" .. mark)) == 0 then return at end
    end
    local above = vim.fn.fnamemodify(at, ":h")
    if above == at then return folder end
    at = above
  end
end

local function client_of(buffer)
  local clients = vim.lsp.get_clients and vim.lsp.get_clients({ bufnr = buffer }) or vim.lsp.buf_get_clients(buffer)
  for _, client in pairs(clients) do
    if client.name == "relayc" then return client end
  end
end

-- Has the server run a command on a text, and hands its answer over.
local function execute(command, arguments, act)
  local buffer = vim.api.nvim_get_current_buf()
  local client = client_of(buffer)
  if not client then return vim.notify("no server of Relay text is attached", vim.log.levels.ERROR) end
  arguments.textDocument = { uri = vim.uri_from_bufnr(buffer) }
  local function answered(error, result)
    if error then return vim.notify(error.message, vim.log.levels.ERROR) end
    act(result, buffer)
  end
  local params = { command = command, arguments = { arguments } }
  if vim.fn.has("nvim-0.11") == 1 then
    client:request("workspace/executeCommand", params, answered, buffer)
  else
    client.request("workspace/executeCommand", params, answered, buffer)
  end
end

-- Shows lines in a window beside the text.
local function show(name, filetype, text)
  vim.cmd("vertical new")
  vim.bo.buftype, vim.bo.bufhidden, vim.bo.swapfile = "nofile", "wipe", false
  vim.api.nvim_buf_set_lines(0, 0, -1, false, vim.split(text, "\n"))
  vim.api.nvim_buf_set_name(0, name)
  vim.bo.filetype = filetype
end

local tests = vim.api.nvim_create_namespace("relayc-tests")

-- Runs tests: all of the text, or those of some lines from 0. Each has its outcome at the end of its line, until that changes.
function M.run(lines, then_)
  execute("relayc.run", { lines = lines }, function(found, buffer)
    local failed = {}
    for _, test in ipairs(found.results) do
      local at = test.range.start.line
      vim.api.nvim_buf_clear_namespace(buffer, tests, at, at + 1)
      local words = test.holds and { "✓ holds", "DiagnosticHint" } or { "✗ " .. vim.split(test.message, "\n")[1], "DiagnosticError" }
      vim.api.nvim_buf_set_extmark(buffer, tests, at, 0, { virt_text = { words } })
      if not test.holds then
        table.insert(failed, { bufnr = buffer, lnum = at + 1, text = test.message, type = "E" })
      end
    end
    vim.fn.setqflist({}, "r", { title = "Tests of Relay text", items = failed })
    vim.notify(string.format("%d of %d tests hold", #found.results - #failed, #found.results))
    if then_ then then_(found) end
  end)
end

local profile = vim.api.nvim_create_namespace("relayc-profile")

-- Measures the program: what each line takes of the time is an inlay hint, or at the end of its line where those are not shown.
function M.profile(then_)
  execute("relayc.profile", {}, function(found, buffer)
    local hints = vim.lsp.inlay_hint and vim.lsp.inlay_hint.is_enabled and vim.lsp.inlay_hint.is_enabled({ bufnr = buffer })
    vim.api.nvim_buf_clear_namespace(buffer, profile, 0, -1)
    for _, line in ipairs(hints and {} or found.lines) do
      vim.api.nvim_buf_set_extmark(buffer, profile, line.line, 0, { virt_text = { { line.label, "Comment" } } })
    end
    if #found.lines > 0 and not hints then
      vim.api.nvim_create_autocmd({ "TextChanged", "TextChangedI" }, {
        buffer = buffer, once = true,
        callback = function() vim.api.nvim_buf_clear_namespace(buffer, profile, 0, -1) end,
      })
    end
    if then_ then then_(found) end
  end)
end

-- Shows what passes make of the text: a level such as `-O3`, or passes as `relayc opt --passes` takes them.
function M.pass(passes)
  execute("relayc.pass", { passes = passes }, function(found) show("relay after " .. passes, "relay", found.text) end)
end

-- Writes the picture as a page into a file of its own, and has the system open it.
function M.picture(opened)
  execute("relayc.picture", { format = "html" }, function(found)
    local file = vim.fn.tempname() .. ".html"
    vim.fn.writefile(vim.split(found.html, "\n"), file)
    if opened then return opened(file) end
    local open = vim.fn.has("mac") == 1 and "open" or "xdg-open"
    vim.fn.jobstart({ open, file }, { detach = true })
  end)
end

function M.explain(code)
  execute("relayc.explain", { code = code }, function(found) show(found.code, "markdown", found.page) end)
end

-- Attaches the server to a buffer.
function M.attach(buffer)
  local config = {
    name = "relayc",
    cmd = options.cmd,
    root_dir = root(vim.api.nvim_buf_get_name(buffer)),
    init_options = { trusted = options.trusted, relayc = options.settings },
    settings = { relayc = options.settings },
    on_attach = options.on_attach,
  }
  if vim.lsp.start then return vim.lsp.start(config, { bufnr = buffer }) end
  -- Before Neovim 0.8: one server for each folder.
  for _, client in pairs(vim.lsp.get_active_clients()) do
    if client.name == "relayc" and client.config.root_dir == config.root_dir then
      vim.lsp.buf_attach_client(buffer, client.id)
      return client.id
    end
  end
  local id = vim.lsp.start_client(config)
  if id then vim.lsp.buf_attach_client(buffer, id) end
  return id
end

function M.setup(own)
  options = vim.tbl_deep_extend("force", options, own or {})
  vim.api.nvim_create_autocmd("FileType", {
    pattern = "relay",
    callback = function(event)
      local buffer = event.buf
      if vim.bo[buffer].buftype ~= "" then return end
      M.attach(buffer)
      local function command(name, act, nargs, complete)
        vim.api.nvim_buf_create_user_command(buffer, name, act, { nargs = nargs, complete = complete })
      end
      command("RelayRun", function() M.run() end, 0)
      command("RelayProfile", function() M.profile() end, 0)
      command("RelayPass", function(given) M.pass(given.args ~= "" and given.args or "-O3") end, "?")
      command("RelayPicture", function() M.picture() end, 0)
      command("RelayExplain", function(given) M.explain(given.args) end, 1)
    end,
  })
end

return M
