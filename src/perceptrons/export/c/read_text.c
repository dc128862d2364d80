typedef perceptrons_workspace PERCEPTRONS_EXAMPLE;

static int perceptrons_read_line(PERCEPTRONS_EXAMPLE *example, char *line, size_t length, double *scores)
{
    return perceptrons_predict_text(example, line, length, scores);
}
