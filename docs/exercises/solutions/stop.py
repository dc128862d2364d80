"""When do you stop?: a solution of `stop`."""

from perceptrons.teaching import check


def stop(accuracies, patience):
    """Early stopping. accuracies[k] is the accuracy on the validation set after epoch k + 1.

    Stop after the first epoch at which the best accuracy is `patience` epochs old. Return the last epoch that was
    trained and the best epoch. Epochs are counted from 1. An equal accuracy is not an improvement.
    """
    best = 0
    for epoch in range(1, len(accuracies) + 1):
        if best == 0 or accuracies[epoch - 1] > accuracies[best - 1]:
            best = epoch
        if epoch - best >= patience:
            break
    return epoch, best


print(check(stop))
