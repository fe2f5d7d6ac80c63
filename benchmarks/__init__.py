"""Measurements: subjects, instances and dated studies."""
