"""The service `perceptrons serve`: a model that answers over HTTP, learns while it answers, and forgets nothing.

Read `journal.py` (what makes learning durable), `state.py` (a model, what one entry of the log does to it, and why
readers never wait), `writer.py` (the one thread that learns), then `schemas.py` (the bodies of requests and replies)
and `app.py` (the routes).
"""
