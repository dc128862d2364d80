
/* the same; columns that are not listed have no weight */
static void perceptrons_add(double *rows, uint32_t column, double value)
{
    size_t low = 0, high = PERCEPTRONS_USED, r;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (perceptrons_used[middle] < column)
            low = middle + 1;
        else
            high = middle;
    }
    if (low != PERCEPTRONS_USED && perceptrons_used[low] == column)
        for (r = 0; r < PERCEPTRONS_ROWS; r++)
            rows[r] += value * (double)perceptrons_weights[low][r];
}
