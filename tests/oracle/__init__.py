"""The referee: a brute force that judges plans of small clusters by docs/design/order.md.

It shares no code with policies/ and solver/, only the plain values of models/. It is slow and
literal on purpose; where the contract leaves room, the docstring of the rule says how it is read.
"""
