
#ifdef PERCEPTRONS_MAIN
/* A program that reads one example per line from stdin, and prints the label and the scores of each. */
#include <stdio.h>
#include <stdlib.h>

#ifndef PERCEPTRONS_MAX_LINE
#define PERCEPTRONS_MAX_LINE (1 << 22)
#endif

static char perceptrons_line[PERCEPTRONS_MAX_LINE];

static void perceptrons_print(int label, const double *scores)
{
    size_t r;
    if (PERCEPTRONS_SEVERAL) {
        const char *between = "";
        for (r = 0; r < PERCEPTRONS_SCORES; r++)
            if (perceptrons_holds(scores[r])) {
                printf("%s%s", between, perceptrons_classes[r]);
                between = ",";
            }
    } else {
        printf("%s", label < 0 ? "" : perceptrons_classes[label]);
    }
    for (r = 0; r < PERCEPTRONS_SCORES; r++)
        printf("\t%.17g", scores[r]);
    printf("\n");
}

int main(void)
{
    static PERCEPTRONS_EXAMPLE example;
    double scores[PERCEPTRONS_SCORES];
    while (fgets(perceptrons_line, sizeof perceptrons_line, stdin) != NULL) {
        size_t length = strlen(perceptrons_line);
        if (length > 0 && perceptrons_line[length - 1] == '\n')
            perceptrons_line[--length] = 0;
        else if (length + 1 == sizeof perceptrons_line) {
            fprintf(stderr, "A line is too long: compile with -DPERCEPTRONS_MAX_LINE=...\n");
            return 2;
        }
        perceptrons_print(perceptrons_read_line(&example, perceptrons_line, length, scores), scores);
    }
    return 0;
}
#endif
