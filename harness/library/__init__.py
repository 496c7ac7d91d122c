"""Client libraries under test: what they are asked, what they answer, and how they are reached.

`docs/extractor-protocol.md` is the protocol that a library speaks, `protocol.schema.json` its messages.
"""
