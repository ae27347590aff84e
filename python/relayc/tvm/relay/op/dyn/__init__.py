"""The dynamic forms of operators have no functions of their own.

A function such as `relay.reshape` calls `dyn.reshape` when it is given an expression
for the shape (`python/tvm/relay/op/dyn`).
"""
