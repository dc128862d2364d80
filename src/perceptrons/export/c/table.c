
/* ---- cells of a table to features */

/* add a feature by its name, which the model may not know */
static void perceptrons_add_named(double *rows, const perceptrons_piece *pieces, int n, double value)
{
    double sign;
    long column = perceptrons_column(perceptrons_hash_of(pieces, n), pieces, n, &sign);
    if (column >= 0)
        perceptrons_add(rows, (uint32_t)column, PERCEPTRONS_ROUNDED ? (double)(float)(sign * value) : sign * value);
}

static void perceptrons_add_cells(const double *numbers, const char *const *categories, double *rows)
{
    double values[PERCEPTRONS_NUMBER_FEATURES + 1];
    int missing[PERCEPTRONS_NUMBERS + 1];
    size_t i, j, n = 0;
    for (i = 0; i != PERCEPTRONS_NUMBERS; i++) {
        double x = numbers[i];
        for (j = 0; j != PERCEPTRONS_MISSING; j++)
            if (x == perceptrons_missing[j])
                x = NAN;
        missing[i] = isnan(x);
        if (missing[i])
            x = perceptrons_fills[i];
        values[n++] = (x - perceptrons_centres[i]) / perceptrons_scales[i];
    }
    for (i = 0; i != PERCEPTRONS_INDICATORS; i++)
        values[n++] = missing[perceptrons_indicators[i]];
    for (i = 0; i != PERCEPTRONS_PRODUCTS; i++) {
        double product = 1.0;
        for (j = 0; j != PERCEPTRONS_FACTORS && perceptrons_products[i][j] >= 0; j++)
            product *= values[perceptrons_products[i][j]];
        values[n++] = product;
    }
    for (i = 0; i != PERCEPTRONS_NUMBER_FEATURES; i++)
        if (perceptrons_number_columns[i] >= 0) {
            double value = perceptrons_number_signs[i] * values[i];
            perceptrons_add(rows, (uint32_t)perceptrons_number_columns[i],
                            PERCEPTRONS_ROUNDED ? (double)(float)value : value);
        }
    for (i = 0; i != PERCEPTRONS_CATEGORY_FEATURES; i++) {
        const char *first = categories[perceptrons_category_features[i].first], *second = NULL;
        perceptrons_piece pieces[4];
        int parts = 2;
        if (first == NULL)
            continue;
        pieces[0].bytes = perceptrons_category_features[i].before;
        pieces[0].length = strlen(pieces[0].bytes);
        pieces[1].bytes = first;
        pieces[1].length = strlen(first);
        if (perceptrons_category_features[i].second >= 0) {
            second = categories[perceptrons_category_features[i].second];
            if (second == NULL)
                continue;
            pieces[2].bytes = perceptrons_category_features[i].between;
            pieces[2].length = strlen(pieces[2].bytes);
            pieces[3].bytes = second;
            pieces[3].length = strlen(second);
            parts = 4;
        }
        perceptrons_add_named(rows, pieces, parts,
                              perceptrons_category_features[i].number < 0
                                  ? 1.0
                                  : values[perceptrons_category_features[i].number]);
    }
}
