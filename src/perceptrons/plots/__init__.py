"""Pictures of models, in scikit-learn's Display style. Start with `BoundaryDisplay`."""
