"""Wire the parts together: from a study file to what carries its plan out."""
