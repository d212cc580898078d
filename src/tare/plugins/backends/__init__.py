"""Where processes run. Apart from the lab, only these modules start or poll processes."""
