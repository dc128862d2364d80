
/* The number of the class of a record, and its scores. numbers: NAN where one is missing; categories: NULL for none. */
int perceptrons_predict_table(const double *numbers, const char *const *categories, double *scores)
{
    double rows[PERCEPTRONS_ROWS];
    perceptrons_start(rows);
    perceptrons_add_cells(numbers, categories, rows);
    return perceptrons_answer(rows, scores);
}
