"""Step 9, sequences: a solution of `viterbi`."""

from perceptrons.teaching import check


def viterbi(emissions, transitions):
    """Return the best labelling of a sequence, a list with one label per token.

    emissions[t][k] is the score of label k at token t, transitions[i][j] that of label i followed by label j. Of equal
    labellings, return the first in lexicographic order. (Hint: search from the last token to the first.)
    """
    n, labels = len(emissions), range(len(transitions))
    best = [list(row) for row in emissions]  # best[t][k]: the best score of the tokens from t on, if t has label k
    for t in range(n - 2, -1, -1):
        for k in labels:
            best[t][k] += max(transitions[k][j] + best[t + 1][j] for j in labels)
    found = [max(labels, key=lambda k: best[0][k])]
    for t in range(1, n):
        found.append(max(labels, key=lambda k: transitions[found[-1]][k] + best[t][k]))
    return found


print(check(viterbi))
