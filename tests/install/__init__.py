"""Tests of what is installed: manifests, chart, image."""
