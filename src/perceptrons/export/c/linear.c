
/* The number of the class of a row of PERCEPTRONS_COLUMNS numbers, and its scores. */
int perceptrons_predict(const double *x, double *scores)
{
    double rows[PERCEPTRONS_ROWS];
    uint32_t j;
    perceptrons_start(rows);
    for (j = 0; j < PERCEPTRONS_COLUMNS; j++) {
        double value = PERCEPTRONS_SHIFTED(x, j);
        if (value != 0.0)
            perceptrons_add(rows, j, value);
    }
    return perceptrons_answer(rows, scores);
}
