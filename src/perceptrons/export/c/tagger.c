
/* The scores of all labels for a token with these n features, counted from 0. */
void perceptrons_score_token(const uint32_t *columns, const double *values, size_t n, double *scores)
{
    size_t i, r;
    for (r = 0; r < PERCEPTRONS_ROWS; r++)
        scores[r] = 0.0;
    for (i = 0; i < n; i++)
        if (columns[i] < PERCEPTRONS_COLUMNS)
            perceptrons_add(scores, columns[i], values[i]);
}

/* The best labels of n tokens by their scores, n times PERCEPTRONS_CLASSES (Viterbi's algorithm, from the last token
   to the first: of equal labellings the first in order). The scores become those of the best way from a token to the
   end. Returns 0 if no labelling is allowed. */
int perceptrons_tag(double *scores, size_t n, int *labels)
{
    const size_t k = PERCEPTRONS_CLASSES;
    size_t t, i, j, best;
    if (n == 0)
        return 1;
    for (t = n; t-- > 0;)
        for (i = 0; i < k; i++) {
            double ahead = t == n - 1 ? perceptrons_arcs[i][k] : -INFINITY;
            if (t != n - 1)
                for (j = 0; j < k; j++)
                    if (perceptrons_arcs[i][j] + scores[(t + 1) * k + j] > ahead)
                        ahead = perceptrons_arcs[i][j] + scores[(t + 1) * k + j];
            scores[t * k + i] += ahead;
        }
    for (t = 0, best = k; t < n; t++) {
        double most = -INFINITY;
        size_t before = best;
        for (i = 0; i < k; i++) {
            double score = perceptrons_arcs[before][i] + scores[t * k + i];
            if (score > most) {
                most = score;
                best = i;
            }
        }
        if (most == -INFINITY)
            return 0;
        labels[t] = (int)best;
    }
    return 1;
}
