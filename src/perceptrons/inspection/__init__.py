"""What any fitted model can be asked: names, weights, evaluation, explanations; in words and as HTML."""
