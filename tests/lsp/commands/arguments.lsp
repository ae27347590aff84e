//! Commands without what they need, and with what is of another kind.
def @f() { 1 }
> executeCommand {"command": "relayc.run", "lines": "all"}
{
  "error": "`relayc.run`: invalid type: string \"all\", expected a sequence"
}
> executeCommand {"command": "relayc.run", "lines": [99]}
{
  "results": []
}
> executeCommand {"command": "relayc.explain"}
{
  "error": "there is no code ``"
}
> executeCommand {"command": "relayc.pass", "passes": ""}
{
  "error": "expected a name, found the end"
}
> executeCommand {"command": "relayc.pass", "passes": "-O"}
{
  "error": "there is no level `-O`"
}
