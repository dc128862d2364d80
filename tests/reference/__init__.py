"""The slow, obvious versions that everything compiled is compared with; they never import the package."""
