
static void perceptrons_start(double *rows)
{
    size_t r;
    for (r = 0; r < PERCEPTRONS_ROWS; r++)
        rows[r] = (double)perceptrons_bias[r];
}
