
/* The same of a row given by the n columns, counted from 0, that are not 0. */
int perceptrons_predict_sparse(const uint32_t *columns, const double *values, size_t n, double *scores)
{
    double rows[PERCEPTRONS_ROWS];
    size_t i;
    perceptrons_start(rows);
    for (i = 0; i < n; i++)
        if (columns[i] < PERCEPTRONS_COLUMNS)
            perceptrons_add(rows, columns[i], values[i]);
    return perceptrons_answer(rows, scores);
}
