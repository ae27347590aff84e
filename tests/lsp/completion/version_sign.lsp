//! The sign of a version; of a second one nothing is said.
#$0
#[version = "0.0.5"]
#[$1
> completion $0
nothing
> completion $1
nothing
