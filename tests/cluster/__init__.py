"""A real control plane for tests and for people: etcd, API server, controllers, pretend nodes."""
