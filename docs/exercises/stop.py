"""When do you stop?: write `stop`. Run this file with `python stop.py`."""

from perceptrons.teaching import check


def stop(accuracies, patience):
    """Early stopping. accuracies[k] is the accuracy on the validation set after epoch k + 1.

    Stop after the first epoch at which the best accuracy is `patience` epochs old. Return the last epoch that was
    trained and the best epoch. Epochs are counted from 1. An equal accuracy is not an improvement.
    """
    raise NotImplementedError


print(check(stop))
