
/* The number of the class of a text of `length` bytes of UTF-8, and its scores; -1 if the text is too long. */
int perceptrons_predict_text(perceptrons_workspace *space, const char *text, size_t length, double *scores)
{
    double rows[PERCEPTRONS_ROWS];
    perceptrons_start(rows);
    perceptrons_forget(space);
    if (!perceptrons_clean(space, text, length) || !perceptrons_cut(space, -1, 0, 1))
        return -1;
    perceptrons_add_words(space, rows);
    return perceptrons_answer(rows, scores);
}
