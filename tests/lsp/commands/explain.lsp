//! Pages of codes; where a client can open them, a diagnostic says which.
//! client: {"relayc": {"explanations": true}}
def @f() { $0%y }
> diagnostic
{
  "items": [
    {
      "code": "W0001",
      "codeDescription": {
        "href": "relayc:explain/W0001"
      },
      "message": "a module without a version header\nthe module starts here\nnote: TVM does not read a module without its header\nhelp: start the file with `#[version = \"0.0.5\"]`",
      "range": "1:1-1:4",
      "severity": 2,
      "source": "relayc"
    },
    {
      "code": "E0201",
      "codeDescription": {
        "href": "relayc:explain/E0201"
      },
      "message": "the variable `%y` is not defined\nnot defined here\nhelp: no variable is in scope here",
      "range": "1:12-1:14",
      "severity": 1,
      "source": "relayc"
    }
  ],
  "kind": "full"
}
> executeCommand {"command": "relayc.explain", "code": "E0201"}
{
  "code": "E0201"
}
page: # E0201: a local variable that is not defined…
> executeCommand {"command": "relayc.explain", "code": "E9999"}
{
  "error": "there is no code `E9999`"
}
> executeCommand {"command": "relayc.nothing"}
{
  "error": "there is no command `relayc.nothing`"
}
