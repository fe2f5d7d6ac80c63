"""The doors: clusters, files, traces, clocks, terminals."""
