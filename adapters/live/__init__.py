"""The live scheduler: watches a cluster, plans cycle by cycle, and carries the plans out."""
