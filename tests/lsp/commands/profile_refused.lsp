//! Why there is no profile, in the words of `relayc profile`.
def @main(%x: int32) { %y }
// profile: <stdin>:1:24: error[E0201]: there is no variable `%y`
> executeCommand {"command": "relayc.profile"}
{
  "error": "<stdin>:1:24: error[E0201]: there is no variable `%y`"
}
