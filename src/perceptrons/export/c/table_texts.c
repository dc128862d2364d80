
/* The same of a record with texts, each ended by 0; -1 if they are too long. */
int perceptrons_predict_table(perceptrons_workspace *space, const double *numbers, const char *const *categories,
                              const char *const *texts, double *scores)
{
    double rows[PERCEPTRONS_ROWS];
    size_t i, first, begin;
    perceptrons_start(rows);
    perceptrons_add_cells(numbers, categories, rows);
    perceptrons_forget(space);
    for (i = 0; i != PERCEPTRONS_TEXTS; i++) {
        first = space->words;
        begin = space->used - 1;
        if (!perceptrons_clean(space, texts[i], strlen(texts[i])))
            return -1;
        if (PERCEPTRONS_PREFIXED && !perceptrons_cut(space, (int)i, first, begin))
            return -1;
    }
    if (!PERCEPTRONS_PREFIXED && !perceptrons_cut(space, -1, 0, 1))
        return -1;
    perceptrons_add_words(space, rows);
    return perceptrons_answer(rows, scores);
}
