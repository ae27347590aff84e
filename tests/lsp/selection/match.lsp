//! From a variable of a pattern to the clause and the match.
type L { Nil, Cons(int32, L) }
def @f(%l: L) { match (%l) { Nil => 1, Cons(%$0h, _) => %h } }
> selectionRange $0
[
  {
    "parent": {
      "parent": {
        "parent": {
          "parent": {
            "parent": {
              "parent": {
                "range": "1:1-3:1"
              },
              "range": "2:1-2:61"
            },
            "range": "2:7-2:61"
          },
          "range": "2:17-2:59"
        },
        "range": "2:40-2:57"
      },
      "range": "2:40-2:51"
    },
    "range": "2:45-2:47"
  }
]
