
static size_t perceptrons_leader(const double *s)
{
    size_t r, best = 0;
    for (r = 1; r < PERCEPTRONS_ROWS; r++)
        if (s[r] > s[best])
            best = r;
    return best;
}

/* The number of the class of a row of PERCEPTRONS_COLUMNS numbers, and its scores: the votes of all versions of the
   weights, which are walked through by what each update adds. */
int perceptrons_predict(const double *raw, double *scores)
{
    double rows[PERCEPTRONS_ROWS], votes[PERCEPTRONS_ROWS];
    PERCEPTRONS_ROW(raw)
    uint32_t j;
    size_t u, r;
    perceptrons_start(rows);
    for (j = 0; j < PERCEPTRONS_COLUMNS; j++)
        if (x[j] != 0.0)
            perceptrons_add(rows, j, x[j]);
    for (r = 0; r < PERCEPTRONS_ROWS; r++)
        votes[r] = 0.0;
    votes[perceptrons_leader(rows)] += perceptrons_counts[0];
    for (u = 0; u != PERCEPTRONS_UPDATES; u++) {
        double add = perceptrons_steps[u] * (perceptrons_dot(x, perceptrons_which[u]) + PERCEPTRONS_ONE);
        for (r = 0; r < PERCEPTRONS_ROWS; r++)
            rows[r] *= perceptrons_faded[u];
        rows[perceptrons_true[u]] += add;
        rows[perceptrons_taken[u]] -= add;
        votes[perceptrons_leader(rows)] += perceptrons_counts[u + 1];
    }
    for (r = 0; r < PERCEPTRONS_ROWS; r++)
        votes[r] /= PERCEPTRONS_TOTAL;
    return perceptrons_answer(votes, scores);
}
