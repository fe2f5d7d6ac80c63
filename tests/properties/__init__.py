"""Properties that hold for every plan, tried on random clusters and against the brute force."""
