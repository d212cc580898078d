"""Where processes run. The only modules, with the lab, that start or poll anything."""
