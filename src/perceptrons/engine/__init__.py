"""The compiled loops, bytes to numbers, the loop over epochs, learners and streams. Nothing here is public."""
