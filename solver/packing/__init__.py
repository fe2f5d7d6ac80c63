"""Packing: many pods on nodes with devices, as full as can be: docs/design/fragmentation.md."""
