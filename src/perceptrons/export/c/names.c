
/* ---- names of features to columns */

typedef struct {
    const char *bytes;
    size_t length;
} perceptrons_piece;

typedef struct {
    uint32_t h, tail;
    size_t length;
} perceptrons_hash;

static uint32_t perceptrons_turned(uint32_t x, int bits)
{
    return (x << bits) | (x >> (32 - bits));
}

static uint32_t perceptrons_mixed_in(uint32_t h, uint32_t k)
{
    return h ^ (perceptrons_turned(k * UINT32_C(0xCC9E2D51), 15) * UINT32_C(0x1B873593));
}

/* MurmurHash3 of 32 bits (Austin Appleby, in the public domain), piece by piece */
static void perceptrons_hash_bytes(perceptrons_hash *state, const char *bytes, size_t length)
{
    size_t i;
    for (i = 0; i < length; i++) {
        state->tail |= (uint32_t)(unsigned char)bytes[i] << (8 * (state->length & 3));
        state->length++;
        if ((state->length & 3) == 0) {
            state->h = perceptrons_turned(perceptrons_mixed_in(state->h, state->tail), 13) * 5 + UINT32_C(0xE6546B64);
            state->tail = 0;
        }
    }
}

static uint32_t perceptrons_hash_of(const perceptrons_piece *pieces, int n)
{
    perceptrons_hash state;
    uint32_t h;
    int i;
    state.h = PERCEPTRONS_SEED;
    state.tail = 0;
    state.length = 0;
    for (i = 0; i < n; i++)
        perceptrons_hash_bytes(&state, pieces[i].bytes, pieces[i].length);
    h = (state.length & 3) ? perceptrons_mixed_in(state.h, state.tail) : state.h;
    h ^= (uint32_t)state.length;
    h = (h ^ (h >> 16)) * UINT32_C(0x85EBCA6B);
    h = (h ^ (h >> 13)) * UINT32_C(0xC2B2AE35);
    return h ^ (h >> 16);
}
