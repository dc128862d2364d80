
/* x times support vector s, both as they are */
static double perceptrons_dot(const double *x, size_t s)
{
    double sum = 0.0;
    size_t p;
    for (p = perceptrons_support_ends[s]; p < perceptrons_support_ends[s + 1]; p++)
        sum += x[perceptrons_support_columns[p]] * (double)perceptrons_support_values[p];
    return sum;
}
