"""What installs the live scheduler: manifests, a chart, an image, dashboards."""
