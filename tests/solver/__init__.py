"""Tests of the engine: merging, drafting, searching, decoding, explaining, and what can go wrong."""
