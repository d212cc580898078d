"""The types of Tare: frozen values such as Study, Case and Attempt, and protocols between its packages."""
