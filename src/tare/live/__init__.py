"""`tare serve`: a read-only web server that shows campaigns while they run.

`watch.Hub` finds the campaigns and follows their journals. `routes` serves the HTML pages, `api` the same
data as JSON, and `openmetrics` metrics for Prometheus. `access` decides who may read, and `server` listens.
"""
