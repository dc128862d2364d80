
/* ---- texts to features: words in lower case, n-grams of words, n-grams of characters */

typedef struct {
    uint32_t hash, begin, length, count;
    int prefix, mark;
} perceptrons_entry;

/* Room for one text. It is large: make it static, or one for each thread. */
typedef struct {
    unsigned char text[PERCEPTRONS_MAX_TEXT + PERCEPTRONS_MAX_TEXT / 2 + 8];
    uint32_t ends[PERCEPTRONS_MAX_TEXT / 2 + 2];
    perceptrons_entry entries[PERCEPTRONS_MAX_FEATURES];
    uint32_t slots[2 * PERCEPTRONS_MAX_FEATURES]; /* one behind the place of an entry, or of a column */
    long columns[PERCEPTRONS_MAX_FEATURES];
    double sums[PERCEPTRONS_MAX_FEATURES];
    size_t used, words, features;
} perceptrons_workspace;

static const uint32_t PERCEPTRONS_SPACE = 32;

/* what a code point becomes in a word, or a space */
static uint32_t perceptrons_folded(uint32_t point)
{
    size_t low = 0, high = PERCEPTRONS_RUNS;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (perceptrons_runs[middle].last < point)
            low = middle + 1;
        else
            high = middle;
    }
    if (low == PERCEPTRONS_RUNS || point < perceptrons_runs[low].first)
        return PERCEPTRONS_SPACE;
    if (perceptrons_runs[low].step == 2 && ((point - perceptrons_runs[low].first) & 1))
        return point;
    return (uint32_t)((int32_t)point + perceptrons_runs[low].delta);
}

/* the code point at text[p] and its bytes; what is not UTF-8 is a space */
static uint32_t perceptrons_decoded(const unsigned char *text, size_t p, size_t end, size_t *width)
{
    uint32_t a = text[p], x, b;
    size_t n = 1 + (a >= 0xC2) + (a >= 0xE0) + (a >= 0xF0), i;
    *width = 1;
    if (a < 0x80)
        return a;
    if (n == 1 || p + n > end || a >= 0xF5)
        return PERCEPTRONS_SPACE;
    x = a & (0x7Fu >> n);
    for (i = 1; i < n; i++) {
        b = text[p + i];
        if (b >> 6 != 2)
            return PERCEPTRONS_SPACE;
        x = (x << 6) | (b & 63);
    }
    if (x < (n == 2 ? 0x80u : n == 3 ? 0x800u : 0x10000u) || x >= 0x110000 || x >> 11 == 0x1B)
        return PERCEPTRONS_SPACE;
    *width = n;
    return x;
}

static size_t perceptrons_encode(uint32_t point, unsigned char *text)
{
    size_t n = 1 + (point >= 0x80) + (point >= 0x800) + (point >= 0x10000), i;
    for (i = n - 1; i > 0; i--) {
        text[i] = (unsigned char)(0x80 | (point & 63));
        point >>= 6;
    }
    text[0] = (unsigned char)(n == 1 ? point : ((0xF00u >> n) & 0xFF) | point);
    return n;
}

static void perceptrons_forget(perceptrons_workspace *space)
{
    space->used = 2;
    space->words = space->features = 0;
    space->text[0] = 0;
    space->text[1] = ' ';
    memset(space->slots, 0, sizeof space->slots);
}

/* count a name of the text: text[begin:begin + length]; 0 if there is no room */
static int perceptrons_count(perceptrons_workspace *space, int prefix, int mark, size_t begin, size_t length)
{
    const char mark_byte = 1;
    perceptrons_piece pieces[3];
    perceptrons_entry *entry;
    uint32_t hash;
    size_t slot;
    int n = 0;
    if (prefix >= 0) {
        pieces[n].bytes = perceptrons_prefixes[prefix];
        pieces[n++].length = strlen(perceptrons_prefixes[prefix]);
    }
    if (mark) {
        pieces[n].bytes = &mark_byte;
        pieces[n++].length = 1;
    }
    pieces[n].bytes = (const char *)space->text + begin;
    pieces[n++].length = length;
    hash = perceptrons_hash_of(pieces, n);
    slot = hash & (2 * PERCEPTRONS_MAX_FEATURES - 1);
    for (; space->slots[slot] != 0; slot = (slot + 1) & (2 * PERCEPTRONS_MAX_FEATURES - 1)) {
        entry = &space->entries[space->slots[slot] - 1];
        if (entry->hash == hash && entry->prefix == prefix && entry->mark == mark && entry->length == length
            && memcmp(space->text + entry->begin, space->text + begin, length) == 0) {
            entry->count++;
            return 1;
        }
    }
    if (space->features == PERCEPTRONS_MAX_FEATURES)
        return 0;
    entry = &space->entries[space->features];
    space->slots[slot] = (uint32_t)++space->features;
    entry->hash = hash;
    entry->begin = (uint32_t)begin;
    entry->length = (uint32_t)length;
    entry->count = 1;
    entry->prefix = prefix;
    entry->mark = mark;
    return 1;
}

/* the words of a text behind those that are there, one space before, between and behind them; 0 if it is too long */
static int perceptrons_clean(perceptrons_workspace *space, const char *raw, size_t length)
{
    const unsigned char *content = (const unsigned char *)raw;
    size_t p = 0, at = space->used, width;
    int inside = 0;
    if (at + length + length / 2 + 4 > sizeof space->text || space->words + length / 2 + 2 > PERCEPTRONS_MAX_TEXT / 2 + 2)
        return 0;
    while (p < length) {
        uint32_t low = perceptrons_folded(perceptrons_decoded(content, p, length, &width));
        p += width;
        if (low != PERCEPTRONS_SPACE) {
            at += perceptrons_encode(low, space->text + at);
            inside = 1;
        } else if (inside) {
            space->ends[space->words++] = (uint32_t)at;
            space->text[at++] = ' ';
            inside = 0;
        }
    }
    if (inside) {
        space->ends[space->words++] = (uint32_t)at;
        space->text[at++] = ' ';
    }
    space->used = at;
    return 1;
}

/* the bytes of the character that begins with this one */
static size_t perceptrons_width(unsigned char byte)
{
    return 1 + (byte >= 0xC0) + (byte >= 0xE0) + (byte >= 0xF0);
}

/* count the n-grams of the words from number `first` on, which begin behind text[begin] */
static int perceptrons_cut(perceptrons_workspace *space, int prefix, size_t first, size_t begin)
{
    size_t size, last, a, b, chars, word, end;
    for (size = PERCEPTRONS_WORD_LOW; size <= PERCEPTRONS_WORD_HIGH; size++)
        for (last = first + size - 1; last < space->words; last++) {
            a = last + 1 - size == first ? begin + 1 : space->ends[last - size] + 1;
            if (!perceptrons_count(space, prefix, 0, a, space->ends[last] - a))
                return 0;
        }
    for (word = first; word < space->words && PERCEPTRONS_CHAR_HIGH > 0; word++) {
        int whole = 0;
        end = space->ends[word] + 1;
        for (size = PERCEPTRONS_CHAR_LOW; size <= PERCEPTRONS_CHAR_HIGH && !whole; size++) {
            a = b = begin;
            for (chars = 0; b < end && chars < size; chars++)
                b += perceptrons_width(space->text[b]);
            whole = b == end;
            for (;;) {
                if (!perceptrons_count(space, prefix, 1, a, b - a))
                    return 0;
                if (b >= end)
                    break;
                a += perceptrons_width(space->text[a]);
                b += perceptrons_width(space->text[b]);
            }
        }
        begin = end - 1;
    }
    return 1;
}

static double perceptrons_worth(uint32_t count)
{
    return PERCEPTRONS_VALUES == 0 ? 1.0 : PERCEPTRONS_VALUES == 1 ? (double)count : 1.0 + log((double)count);
}

/* add the features that were counted to the scores: those of one column add up, and the row gets length 1 */
static void perceptrons_add_words(perceptrons_workspace *space, double *rows)
{
    const char mark_byte = 1;
    perceptrons_piece pieces[3];
    double sign, square = 0.0, norm = 1.0;
    size_t e, slot, n = 0;
    memset(space->slots, 0, sizeof space->slots);
    for (e = 0; e < space->features; e++) {
        const perceptrons_entry *entry = &space->entries[e];
        long column;
        int parts = 0;
        if (entry->prefix >= 0) {
            pieces[parts].bytes = perceptrons_prefixes[entry->prefix];
            pieces[parts++].length = strlen(perceptrons_prefixes[entry->prefix]);
        }
        if (entry->mark) {
            pieces[parts].bytes = &mark_byte;
            pieces[parts++].length = 1;
        }
        pieces[parts].bytes = (const char *)space->text + entry->begin;
        pieces[parts++].length = entry->length;
        column = perceptrons_column(entry->hash, pieces, parts, &sign);
        if (column < 0)
            continue;
        slot = ((uint32_t)column * UINT32_C(2654435769)) & (2 * PERCEPTRONS_MAX_FEATURES - 1);
        while (space->slots[slot] != 0 && space->columns[space->slots[slot] - 1] != column)
            slot = (slot + 1) & (2 * PERCEPTRONS_MAX_FEATURES - 1);
        if (space->slots[slot] != 0) {
            space->sums[space->slots[slot] - 1] += perceptrons_worth(entry->count) * sign;
        } else {
            space->columns[n] = column;
            space->sums[n++] = perceptrons_worth(entry->count) * sign;
            space->slots[slot] = (uint32_t)n;
        }
    }
    if (PERCEPTRONS_UNIT_LENGTH) {
        for (e = 0; e < n; e++)
            square += space->sums[e] * space->sums[e];
        norm = square > 0.0 ? sqrt(square) : 1.0;
    }
    for (e = 0; e < n; e++)
        perceptrons_add(rows, (uint32_t)space->columns[e], (double)(float)(space->sums[e] / norm));
}
