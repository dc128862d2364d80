"""Questions to any fitted model: names of features, weights, metrics, and summaries as text and JSON."""
