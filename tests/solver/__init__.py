"""Tests of the engine: merging, searching, decoding, explaining, and what can go wrong."""
