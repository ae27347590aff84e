;;; relay-mode.el --- Relay text of Apache TVM  -*- lexical-binding: t -*-

;; Version: 0.1.0
;; Package-Requires: ((emacs "28.1"))
;; Keywords: languages

;;; Commentary:

;; `relay-mode' colours and indents Relay text; `relay-ts-mode' does so by tree-sitter, from Emacs 29 on, with the grammar of
;; editors/tree-sitter-relay.  Both are known to Eglot, which starts `relayc lsp'.
;;
;; With Eglot: `relay-run-tests' runs the `// run:' lines and shows at each what came of it, `relay-show-pass' shows what passes make
;; of the text, `relay-show-picture' opens its picture in a browser, `relay-explain' shows the page of a code.

;;; Code:

(require 'jsonrpc)
(require 'seq)

(declare-function eglot-current-server "eglot")
(declare-function eglot--current-server-or-lose "eglot")
(declare-function eglot--TextDocumentIdentifier "eglot")
(declare-function eglot--signal-textDocument/didChange "eglot")
(defvar eglot-server-programs)

(defgroup relay nil "Relay text of Apache TVM." :group 'languages)

(defcustom relay-program "relayc"
  "The program relayc, whose language server Eglot starts."
  :type 'string)

(defcustom relay-trusted t
  "Whether tests and passes may be run for commands."
  :type 'boolean)

(defcustom relay-indent-offset 2
  "How far a block stands in."
  :type 'integer :safe #'integerp)

(defvar relay-mode-syntax-table
  (let ((table (make-syntax-table)))
    ;; Block comments nest.
    (modify-syntax-entry ?/ ". 124b" table)
    (modify-syntax-entry ?* ". 23n" table)
    (modify-syntax-entry ?\n "> b" table)
    (modify-syntax-entry ?\" "\"" table)
    (modify-syntax-entry ?% "_" table)
    (modify-syntax-entry ?@ "_" table)
    (modify-syntax-entry ?_ "_" table)
    table))

(defconst relay--name "[A-Za-z_][A-Za-z0-9_/]*\\(?:\\.[A-Za-z_][A-Za-z0-9_/]*\\)*")

(defvar relay-font-lock-keywords
  `(("^\\s-*#\\[[^]\n]*\\]" . font-lock-preprocessor-face)
    ("\\_<\\(?:let\\|fn\\|def\\|if\\|else\\|type\\|match\\|extern\\|free_var\\|ref\\|ref_read\\|ref_write\\)\\_>" . font-lock-keyword-face)
    ("\\_<\\(?:True\\|False\\)\\_>" . font-lock-constant-face)
    ("meta\\[[^]\n]*\\]\\[[0-9]+\\]" . font-lock-constant-face)
    (,(concat "@" relay--name) . font-lock-function-name-face)
    (,(concat "%\\(?:[0-9]+\\|" relay--name "\\)") . font-lock-variable-name-face)
    ("\\_<\\(?:Tensor\\|bool\\|handle\\|u?int[0-9]+\\|b?float[0-9]+\\)\\_>" . font-lock-type-face)
    ("\\_<[A-Z][A-Za-z0-9_/]*\\_>" . font-lock-type-face)
    (,(concat "\\_<\\(" relay--name "\\)\\s-*=[^=>]") 1 font-lock-property-face)
    (,(concat "\\_<\\(" relay--name "\\)(") 1 font-lock-builtin-face))
  "What is coloured how without tree-sitter.")

;; Emacs 28 has no face for properties.
(unless (facep 'font-lock-property-face)
  (defface font-lock-property-face '((t :inherit font-lock-variable-name-face)) "Names of attributes.")
  (defvar font-lock-property-face 'font-lock-property-face))

(defun relay-indent-line ()
  "Indent the line by the brackets that are open at its beginning."
  (interactive)
  (let* ((depth (save-excursion (car (syntax-ppss (line-beginning-position)))))
         (closes (save-excursion (back-to-indentation) (- (skip-chars-forward "])}") 0)))
         (column (* relay-indent-offset (max 0 (- depth closes)))))
    (unless (nth 4 (save-excursion (syntax-ppss (line-beginning-position))))
      (if (<= (current-column) (current-indentation))
          (indent-line-to column)
        (save-excursion (indent-line-to column))))))

;;;###autoload
(define-derived-mode relay-mode prog-mode "Relay"
  "Relay text of Apache TVM."
  (setq-local comment-start "// " comment-end "" comment-start-skip "\\(?://+\\|/\\*+\\)\\s-*")
  (setq-local indent-tabs-mode nil indent-line-function #'relay-indent-line electric-indent-chars '(?\n ?} ?\) ?\]))
  (setq-local font-lock-defaults '(relay-font-lock-keywords))
  (setq-local imenu-generic-expression `((nil ,(concat "^\\s-*def\\s-+\\(@" relay--name "\\)") 1) ("Types" "^\\s-*type\\s-+\\(\\w+\\)" 1))))

;;;###autoload
(add-to-list 'auto-mode-alist '("\\.relay\\'" . relay-mode))

;;; Tree-sitter

(when (fboundp 'treesit-font-lock-rules)
  (defvar relay-ts--font-lock
    (with-no-warnings
      (when (treesit-language-available-p 'relay)
        (treesit-font-lock-rules
         :language 'relay :feature 'comment '([(line_comment) (block_comment)] @font-lock-comment-face)
         :language 'relay :feature 'string '((string) @font-lock-string-face)
         :language 'relay :feature 'keyword
         '((["let" "fn" "def" "if" "else" "type" "match" "match?" "extern" "free_var" "ref" "ref_read" "ref_write"] @font-lock-keyword-face)
           [(version) (metadata_header)] @font-lock-preprocessor-face)
         :language 'relay :feature 'constant '([(boolean) (meta)] @font-lock-constant-face)
         :language 'relay :feature 'number '((number) @font-lock-number-face)
         :language 'relay :feature 'type
         '((tensor_type "Tensor" @font-lock-type-face) (tensor_type dtype: (identifier) @font-lock-type-face)
           (named_type name: (identifier) @font-lock-type-face) (type_definition name: (identifier) @font-lock-type-face))
         :language 'relay :feature 'attribute '((attribute key: (name) @font-lock-property-name-face))
         :language 'relay :feature 'variable '([(local) (graph)] @font-lock-variable-name-face)
         :language 'relay :feature 'function
         '((global) @font-lock-function-name-face (call function: (name) @font-lock-builtin-face))))))
  (defvar relay-ts--indent
    `((relay
       ((node-is "[])}]") parent-bol 0)
       ((parent-is ,(regexp-opt '("block" "match" "type_definition" "arguments" "parameters" "value_list" "tuple"))) parent-bol
        relay-indent-offset)
       (no-node parent-bol 0))))
  (define-derived-mode relay-ts-mode prog-mode "Relay"
    "Relay text of Apache TVM, by tree-sitter."
    :syntax-table relay-mode-syntax-table
    (setq-local comment-start "// " comment-end "" indent-tabs-mode nil)
    (when (treesit-ready-p 'relay)
      (treesit-parser-create 'relay)
      (setq-local treesit-font-lock-settings relay-ts--font-lock)
      (setq-local treesit-font-lock-feature-list
                  '((comment) (keyword string type) (constant number attribute function) (variable)))
      (setq-local treesit-simple-indent-rules relay-ts--indent)
      (setq-local treesit-defun-type-regexp "\\`\\(?:function\\|type\\)_definition\\'")
      (setq-local treesit-simple-imenu-settings
                  '((nil "\\`function_definition\\'" nil
                     (lambda (node) (treesit-node-text (treesit-node-child-by-field-name node "name") t)))))
      (treesit-major-mode-setup))))

;;; The server

(with-eval-after-load 'eglot
  (add-to-list 'eglot-server-programs
               `((relay-mode relay-ts-mode)
                 . ,(lambda (&rest _) (list relay-program "lsp" :initializationOptions `(:trusted ,(if relay-trusted t :json-false)))))))

(defun relay--execute (command &rest arguments)
  "Have the server run COMMAND on the text, with ARGUMENTS, a property list."
  (let ((server (eglot--current-server-or-lose)))
    (eglot--signal-textDocument/didChange)
    (jsonrpc-request server :workspace/executeCommand
                     (list :command command
                           :arguments (vector (append (list :textDocument (eglot--TextDocumentIdentifier)) arguments)))
                     :timeout 70)))

(defun relay--show (name mode text)
  "Show TEXT in a buffer NAME in a MODE, in another window."
  (with-current-buffer (get-buffer-create name)
    (let ((inhibit-read-only t))
      (erase-buffer)
      (insert text)
      (funcall mode)
      (goto-char (point-min))
      (setq buffer-read-only t))
    (display-buffer (current-buffer))))

(defun relay--note (kind line words face)
  "Show WORDS with FACE behind LINE, counted from 0, as a note of KIND, until the line is edited."
  (save-excursion
    (goto-char (point-min))
    (forward-line line)
    (let ((overlay (make-overlay (line-beginning-position) (line-end-position))))
      (overlay-put overlay kind t)
      (overlay-put overlay 'after-string (propertize (concat " " words) 'face face))
      (overlay-put overlay 'modification-hooks (list (lambda (overlay &rest _) (delete-overlay overlay)))))))

(defun relay-run-tests ()
  "Run the `// run:' lines of the text, and show at each what came of it until it is edited."
  (interactive)
  (let* ((results (append (plist-get (relay--execute "relayc.run") :results) nil))
         (holds (lambda (test) (eq (plist-get test :holds) t))))
    (remove-overlays (point-min) (point-max) 'relay-test t)
    (dolist (test results)
      (if (funcall holds test)
          (relay--note 'relay-test (plist-get test :line) "✓ holds" 'success)
        (relay--note 'relay-test (plist-get test :line) (concat "✗ " (car (split-string (plist-get test :message) "\n"))) 'error)))
    (message "%d of %d tests hold" (seq-count holds results) (length results))))

(defun relay-show-profile ()
  "Measure the program, and show at each line what it takes of the time.
Eglot shows that itself where it shows inlay hints."
  (interactive)
  (let ((lines (append (plist-get (relay--execute "relayc.profile") :lines) nil)))
    (remove-overlays (point-min) (point-max) 'relay-profile t)
    (unless (bound-and-true-p eglot-inlay-hints-mode)
      (dolist (line lines)
        (relay--note 'relay-profile (plist-get line :line) (plist-get line :label) 'shadow)))))

(defun relay-show-pass (passes)
  "Show what PASSES make of the text: a level such as `-O3', or passes as `relayc opt --passes' takes them."
  (interactive (list (read-string "Passes or a level: " "-O3")))
  (relay--show (format "*relay after %s*" passes) major-mode (plist-get (relay--execute "relayc.pass" :passes passes) :text)))

(defun relay-show-picture ()
  "Open the picture of the text in a browser."
  (interactive)
  (let ((file (make-temp-file "relay" nil ".html"))
        (page (plist-get (relay--execute "relayc.picture" :format "html") :html)))
    (with-temp-file file (insert page))
    (browse-url-of-file file)))

(defun relay-explain (code)
  "Show the page of CODE."
  (interactive (list (read-string "Code: ")))
  (relay--show (format "*relay %s*" code) #'text-mode (plist-get (relay--execute "relayc.explain" :code code) :page)))

(provide 'relay-mode)
;;; relay-mode.el ends here
