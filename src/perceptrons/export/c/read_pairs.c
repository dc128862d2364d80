typedef struct {
    uint32_t columns[1 << 16];
    double values[1 << 16];
} PERCEPTRONS_EXAMPLE;

/* pairs column:value with spaces between them, columns counted from 0 */
static int perceptrons_read_line(PERCEPTRONS_EXAMPLE *example, char *line, size_t length, double *scores)
{
    size_t n = 0;
    (void)length;
    while (*line != 0 && n < (1 << 16)) {
        char *end;
        unsigned long column = strtoul(line, &end, 10);
        if (end == line || *end != ':')
            break;
        example->columns[n] = (uint32_t)column;
        example->values[n++] = strtod(end + 1, &line);
        while (*line == ' ' || *line == '\t')
            line++;
    }
    return perceptrons_predict_sparse(example->columns, example->values, n, scores);
}
