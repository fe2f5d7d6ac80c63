"""Live schedulers on a real control plane: how fast they bind, and how long a pod waits."""
