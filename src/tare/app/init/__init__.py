"""Write a site file and a first study from what is found: survey, draft, trial, text."""
