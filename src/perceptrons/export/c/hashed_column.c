
/* the column of a name, and the sign of its values there */
static long perceptrons_column(uint32_t hash, const perceptrons_piece *pieces, int n, double *sign)
{
    (void)pieces;
    (void)n;
    *sign = PERCEPTRONS_SIGNED && (hash >> 31) ? -1.0 : 1.0;
    return (long)(hash & PERCEPTRONS_MASK);
}
