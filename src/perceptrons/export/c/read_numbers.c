typedef struct {
    double x[PERCEPTRONS_COLUMNS];
} PERCEPTRONS_EXAMPLE;

/* numbers, with spaces, tabs or commas between them; those that are not there are 0 */
static int perceptrons_read_line(PERCEPTRONS_EXAMPLE *example, char *line, size_t length, double *scores)
{
    char *end = line;
    size_t j;
    (void)length;
    for (j = 0; j < PERCEPTRONS_COLUMNS; j++) {
        while (*line == ',' || *line == ' ' || *line == '\t')
            line++;
        example->x[j] = strtod(line, &end);
        line = end;
    }
    return perceptrons_predict(example->x, scores);
}
