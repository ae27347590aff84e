//! The version of a text, begun, its bracket closed by the editor.
#[ver$0]
> completion $0
1:1-1:7
1 #[version] | #[version = "0.0.5"] |
