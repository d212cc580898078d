"""The report's texts: numbers, answers and quality warnings in words."""
