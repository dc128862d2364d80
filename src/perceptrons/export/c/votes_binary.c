
/* The number of the class of a row of PERCEPTRONS_COLUMNS numbers, and its score: the votes of all versions of the
   weights, which are walked through by what each update adds. */
int perceptrons_predict(const double *raw, double *scores)
{
    double rows[PERCEPTRONS_ROWS], votes[1] = {0.0}, score;
    PERCEPTRONS_ROW(raw)
    uint32_t j;
    size_t u;
    perceptrons_start(rows);
    for (j = 0; j < PERCEPTRONS_COLUMNS; j++)
        if (x[j] != 0.0)
            perceptrons_add(rows, j, x[j]);
    score = rows[0];
    votes[0] = score PERCEPTRONS_ABOVE 0.0 ? perceptrons_counts[0] : -perceptrons_counts[0];
    for (u = 0; u != PERCEPTRONS_UPDATES; u++) {
        score = perceptrons_faded[u] * score
                + perceptrons_steps[u] * (perceptrons_dot(x, perceptrons_which[u]) + PERCEPTRONS_ONE);
        votes[0] += score PERCEPTRONS_ABOVE 0.0 ? perceptrons_counts[u + 1] : -perceptrons_counts[u + 1];
    }
    votes[0] /= PERCEPTRONS_TOTAL;
    return perceptrons_answer(votes, scores);
}
