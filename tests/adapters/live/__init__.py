"""Tests of the live scheduler, without a cluster."""
