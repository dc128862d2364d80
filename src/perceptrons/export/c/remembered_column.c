
/* is name number k made of these pieces? */
static int perceptrons_is_name(size_t k, const perceptrons_piece *pieces, int n)
{
    const char *name = perceptrons_names + perceptrons_name_ends[k];
    size_t left = perceptrons_name_ends[k + 1] - perceptrons_name_ends[k];
    int i;
    for (i = 0; i < n; i++) {
        if (pieces[i].length > left || memcmp(name, pieces[i].bytes, pieces[i].length) != 0)
            return 0;
        name += pieces[i].length;
        left -= pieces[i].length;
    }
    return left == 0;
}

/* the column of a name, -1 if the model does not know it; names are in the order of their hashes */
static long perceptrons_column(uint32_t hash, const perceptrons_piece *pieces, int n, double *sign)
{
    size_t low = 0, high = PERCEPTRONS_NAMES;
    *sign = 1.0;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (perceptrons_name_hashes[middle] < hash)
            low = middle + 1;
        else
            high = middle;
    }
    for (; low != PERCEPTRONS_NAMES && perceptrons_name_hashes[low] == hash; low++)
        if (perceptrons_is_name(low, pieces, n))
            return (long)perceptrons_name_columns[low];
    return -1;
}
