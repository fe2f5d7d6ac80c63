"""Masking: a snapshot under other names that sort alike, and the way back."""
