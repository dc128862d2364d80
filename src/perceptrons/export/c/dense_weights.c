
/* add a feature with this value to the scores of all rows of weights */
static void perceptrons_add(double *rows, uint32_t column, double value)
{
    size_t r;
    for (r = 0; r < PERCEPTRONS_ROWS; r++)
        rows[r] += value * (double)perceptrons_weights[column][r];
}
