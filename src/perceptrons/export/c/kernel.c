
/* The number of the class of a row of PERCEPTRONS_COLUMNS numbers, and its scores. */
int perceptrons_predict(const double *raw, double *scores)
{
    double rows[PERCEPTRONS_ROWS];
    PERCEPTRONS_ROW(raw)
    size_t r, s;
    PERCEPTRONS_OWN(x)
    for (r = 0; r < PERCEPTRONS_ROWS; r++)
        rows[r] = 0.0;
    for (s = 0; s != PERCEPTRONS_SUPPORT; s++) {
        double k = PERCEPTRONS_KERNEL(x, s);
        for (r = 0; r < PERCEPTRONS_ROWS; r++)
            rows[r] += k * (double)perceptrons_coef[s][r];
    }
    return perceptrons_answer(rows, scores);
}
