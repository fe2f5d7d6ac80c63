"""Apportion: a batch scheduler for Kubernetes that solves each scheduling cycle."""

__version__ = "0.1.0"
