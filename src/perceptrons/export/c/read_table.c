typedef struct {
    double numbers[PERCEPTRONS_NUMBERS + 1];
    const char *cells[PERCEPTRONS_CATEGORIES + PERCEPTRONS_TEXTS + 1];
    PERCEPTRONS_SPACE_MEMBER
} PERCEPTRONS_EXAMPLE;

/* cells with tabs between them: all numbers, categories, then texts. An empty number is missing, \N is no category */
static int perceptrons_read_line(PERCEPTRONS_EXAMPLE *example, char *line, size_t length, double *scores)
{
    size_t i, cells = PERCEPTRONS_NUMBERS + PERCEPTRONS_CATEGORIES + PERCEPTRONS_TEXTS;
    (void)length;
    for (i = 0; i < cells; i++) {
        char *tab = strchr(line, '\t');
        if (tab != NULL)
            *tab = 0;
        if (i + 1 <= PERCEPTRONS_NUMBERS) {
            char *end;
            example->numbers[i] = strtod(line, &end);
            if (end == line)
                example->numbers[i] = NAN;
        } else {
            example->cells[i - PERCEPTRONS_NUMBERS] = strcmp(line, "\\N") == 0 ? NULL : line;
        }
        line = tab == NULL ? line + strlen(line) : tab + 1;
    }
    return PERCEPTRONS_PREDICT_CELLS(example, scores);
}
