//! In a workspace that is not trusted nothing is offered and nothing is run; a page of a code is only read.
//! options: {"trusted": false}
def @f(%x: int32) { %x }
// run: @f(1) == 1
> codeLens
null
> executeCommand {"command": "relayc.run"}
{
  "error": "nothing is run in a workspace that is not trusted"
}
> executeCommand {"command": "relayc.pass", "passes": "-O0"}
{
  "error": "nothing is run in a workspace that is not trusted"
}
> executeCommand {"command": "relayc.picture"}
{
  "error": "nothing is run in a workspace that is not trusted"
}
> executeCommand {"command": "relayc.explain", "code": "w0001"}
{
  "code": "W0001"
}
page: # W0001: a missing version header…
