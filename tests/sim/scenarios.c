#include "scenarios.h"

/* Classes: 1 has 16 slots, 2 has 4 (two words), 3 has 2 (one word), 4 has 2 in a slab of two units. */

#define DIRECT    false, true
#define MAGAZINES true, true
#define PURGES    false, false

#define TWO_OF_3    "a3>0 a3>1 e"           /* a full slab of one word, a slot each */
#define TWO_OF_LAST "a3>1 a3>2 e"           /* the same, for the second and the third thread */
#define TWO_IN_2    "@2 a3>0 a3>1"          /* the same, attached to the third thread's heap */
#define FOUR_OF_2   "a2>0 a2>1 a2>0 a2>1 e" /* a full slab of two words, a slot of each word each */
#define FOUR_IN_2   "@2 a2>0 a2>1 a2>0 a2>1"

/* clang-format off */
const struct scenario scenarios[] = {
    /* Giving, attaching and detaching one slab. */
    { "slab", "two givers", { TWO_OF_3, DIRECT }, { "f", "f" }, 4, 6 },
    { "slab", "two givers, the second recycles into another class", { TWO_OF_3, DIRECT }, { "f", "f a2 a2 e f e" }, 4, 5 },
    { "slab", "two givers, a slab of two units, recycled as two", { "a4>0 a4>1 e", DIRECT }, { "f", "f a3 a2 e f" }, 3, 4 },
    { "slab", "two givers and a heap that attaches", { TWO_OF_3, DIRECT }, { "f", "f", "a3 F e" }, 2, 3 },
    { "slab", "two givers, the holder refills", { TWO_IN_2, DIRECT }, { "f", "f", "a3 e" }, 3, 4 },
    { "slab", "two givers, the holder detaches", { TWO_IN_2, DIRECT }, { "f", "f", "e" }, 3, 4 },
    { "slab", "two givers, the holder detaches, recycled", { TWO_IN_2, DIRECT }, { "f", "f a2", "e" }, 3, 4 },
    { "slab", "two words, two givers and a heap that attaches", { FOUR_OF_2, DIRECT }, { "ff", "ff", "a2 e" }, 2, 3 },
    { "slab", "two words, the holder detaches", { FOUR_IN_2, DIRECT }, { "ff", "ff", "e" }, 3, 4 },
    { "slab", "one word each, two givers", { "a2>0 a2>0 a2>1 a2>1 e", DIRECT }, { "ff", "ff" }, 4, 5 },
    { "slab", "the holder takes and gives, a remote giver", { "@0 a2>1 a2 a2>1 a2>1", DIRECT }, { "a2 F a2 F e", "f f a2" }, 3, 5 },
    { "slab", "a holder, a giver and one who attaches", { "@0 a2>1 a2>1 a2 a2>1", DIRECT }, { "a2 F F e", "f f f", "a2 F e" }, 2, 3 },
    { "slab", "two attach what a giver fills", { "a2>1 a2>1 a2>1 e", DIRECT }, { "a2 e", "f f", "a2 e" }, 3, 3 },
    { "slab", "looks for no reason at a full slab", { TWO_OF_3, DIRECT }, { "f", "f", "v" }, 3, 4 },
    { "slab", "looks for no reason, recycled", { TWO_OF_3, DIRECT }, { "f", "f a2", "v v" }, 2, 3 },
    { "slab", "trim takes the holder's heap", { TWO_IN_2, DIRECT }, { "f", "f", "e v" }, 3, 4 },
    { "slab", "sixteen slots, three words", { "a1>0 a1>1 a1>2 a1>0 a1 a1>1 e", DIRECT }, { "ff", "ff", "a1 f e" }, 3, 4 },
    { "slab", "magazines flush to slabs of each other", { "a2>0 a2>1 a2>0 a2>1 e", MAGAZINES }, { "ff e", "ff e", "a2 e" }, 2, 3 },
    { "slab", "magazines overflow", { "a3>0 a3>1 a3>0 a3>1 a3>0 a3>1 e", MAGAZINES }, { "f f f a3 e", "f f f e" }, 3, 4 },

    /* Frees that find the list's lock taken. */
    { "revisit", "two givers, two classes", { TWO_OF_3, DIRECT }, { "f", "f a3", "a2" }, 3, 3 },
    { "revisit", "two givers, a holder each", { TWO_OF_3, DIRECT }, { "f", "f e a3", "a3 e" }, 2, 3 },
    { "revisit", "two slabs of a class", { "a3>0 a3>1 a3>0 a3>1 e", DIRECT }, { "ff", "ff" }, 4, 5 },
    { "revisit", "two slabs of a class, a heap", { "a3>0 a3>1 a3>1 a3>0 e", DIRECT }, { "ff", "ff", "a3 e" }, 2, 3 },
    { "revisit", "two slabs of two classes", { "a3>0 a3>1 a2>0 a2>1 e", DIRECT }, { "ff", "ff", "a3 a2 e" }, 2, 3 },
    { "revisit", "partial slab, givers and looks", { "a2>0 a2>1 e", DIRECT }, { "f", "f", "v v" }, 3, 4 },
    { "revisit", "recycled and back", { TWO_OF_3, DIRECT }, { "f a3 F", "f a2 e f a3 e" }, 3, 4 },
    { "revisit", "a queued slab of a new life", { TWO_OF_3, DIRECT }, { "f a2", "f a2 e f", "a3 e" }, 2, 3 },
    { "follow", "a queued slab is on another list by now", { TWO_OF_LAST, DIRECT }, { "v", "f", "f a2 e" }, 2, 3 },
    { "follow", "a free of the new life relies on the flag", { TWO_OF_LAST, DIRECT }, { "v w f", "f", "f a2 s e" }, 3, 3 },

    { "deep", "a harvest finds a slab of a new life attached", { TWO_OF_LAST, DIRECT }, { "v w p1 q2 f", "f", "f a2 s q1 p2 e" }, 2, 4 },

    /* Threads that end, and come back as others. */
    { "thread", "exit of the holder", { TWO_IN_2, DIRECT }, { "f", "f", "x" }, 3, 4 },
    { "thread", "exit of the holder after a refill", { FOUR_IN_2, DIRECT }, { "f", "ff", "a2 x" }, 3, 3 },
    { "thread", "exit with full magazines", { FOUR_IN_2, MAGAZINES }, { "ff x", "g g", "x" }, 3, 4 },
    { "thread", "frees after the end", { TWO_OF_3, DIRECT }, { "x f", "f" }, 4, 5 },
    { "thread", "frees after the end, with magazines", { TWO_OF_3, MAGAZINES }, { "x f", "x f" }, 4, 5 },
    { "thread", "allocates after the end", { TWO_OF_3, MAGAZINES }, { "x a3 f F", "f x" }, 3, 4 },
    { "thread", "two records change hands", { FOUR_OF_2, MAGAZINES }, { "f x f", "x ff", "x a2" }, 2, 3 },
    { "thread", "trim beside exit", { FOUR_IN_2, MAGAZINES }, { "ff t", "g g", "x" }, 3, 3 },

    /* Fork cuts the others anywhere outside their gates. */
    { "fork", "in a give", { TWO_OF_3, DIRECT }, { "k f a3 x", "f" }, 4, 6 },
    { "fork", "in two gives", { TWO_OF_LAST, DIRECT }, { "k a3 x", "f", "f" }, 3, 4 },
    { "fork", "in gives of two words", { "a2>1 a2>2 a2>1 a2>2 e", DIRECT }, { "k f a2", "ff", "ff" }, 3, 3 },
    { "fork", "in a give, with one's own", { FOUR_OF_2, DIRECT }, { "f k f x", "ff" }, 4, 5 },
    { "fork", "in a refill", { FOUR_IN_2, DIRECT }, { "k f a2 x", "f", "a2 f" }, 3, 4 },
    { "fork", "in an exit", { FOUR_IN_2, DIRECT }, { "k a2 x", "ff", "x" }, 3, 4 },
    { "fork", "in a free after the end", { TWO_OF_3, MAGAZINES }, { "k a3 f", "x f" }, 4, 5 },
    { "fork", "in a magazine", { FOUR_OF_2, MAGAZINES }, { "k f a2 e", "f m2 u m2" }, 4, 6 },
    { "fork", "in a flush", { FOUR_OF_2, MAGAZINES }, { "k f a2 e", "u u e" }, 4, 6 },
    { "fork", "while another looks and a third gives", { TWO_OF_LAST, DIRECT }, { "k a3", "f", "v f" }, 2, 3 },
    { "fork", "in a trim", { FOUR_IN_2, MAGAZINES }, { "k a2", "f t", "t" }, 3, 3 },
    { "fork", "handlers of the program allocate", { TWO_OF_LAST, DIRECT }, { "j F", "f", "f" }, 3, 3 },
    { "fork", "handlers of the program allocate, in an exit", { FOUR_IN_2, MAGAZINES }, { "j F", "f x", "x" }, 2, 3 },
    { "fork", "the parent goes on", { FOUR_OF_2, DIRECT }, { "K f", "ff", "a2 e" }, 2, 3 },
    { "fork", "the parent goes on, exits", { TWO_OF_LAST, MAGAZINES }, { "K a3", "f x", "f x" }, 2, 3 },
    { "fork", "twice at once", { TWO_OF_3, DIRECT }, { "k f", "k f" }, 4, 6 },

    /* Runs of units. */
    { "depot", "purge and reuse", { "n2 b", DIRECT }, { "r", "n1 n1 b b" }, 4, 6 },
    { "depot", "two purge", { "n2 b", DIRECT }, { "r", "n1 b", "r" }, 3, 4 },
    { "depot", "purge, takes of two lengths", { "n3 b", DIRECT }, { "n1 b", "n2 b", "r" }, 3, 4 },
    { "depot", "purge and slabs", { TWO_OF_3, DIRECT }, { "f r", "f a3 e", "r" }, 2, 3 },
    { "depot", "slow operations purge", { FOUR_OF_2, PURGES }, { "ff", "ff a3" }, 4, 5 },
    { "depot", "slow operations purge, a heap", { TWO_OF_3, PURGES }, { "f", "f", "a2 t" }, 2, 3 },

    /* Free pages of slabs in use. */
    { "holes", "purge beside givers", { "a2>0 a2>1 e", DIRECT }, { "f", "f", "h" }, 3, 4 },
    { "holes", "purge beside a heap that attaches", { "a2>0 a2>1 e", DIRECT }, { "a2 e", "f", "h" }, 3, 3 },
    { "holes", "two purge, one gives", { "a2>1 a2>1 e", DIRECT }, { "h", "f", "h" }, 3, 4 },
    { "holes", "purge, and two words are freed and recycled", { "a2>0 a2>0 a2>1 a2 e", DIRECT }, { "ff a3 e", "f", "h" }, 2, 3 },
    { "holes", "purge between small objects", { "a1>0 a1>1 a1>0 a1>1 e", DIRECT }, { "ff", "ff", "h" }, 3, 4 },
    { "holes", "fork beside a purge", { "a2>1 a2>2 e", DIRECT }, { "k f a2 e", "f", "h f" }, 2, 3 },
    { "holes", "trim beside trim", { FOUR_IN_2, MAGAZINES }, { "f t", "f t", "t" }, 2, 3 },

    /* Waiting for a lock. */
    { "lock", "two", { "", DIRECT }, { "ll", "ll" }, 5, 8 },
    { "lock", "three", { "", DIRECT }, { "ll", "l", "l" }, 4, 5 },
    { "lock", "three, twice each", { "", DIRECT }, { "ll", "ll", "ll" }, 3, 4 },
};
/* clang-format on */

const unsigned scenario_count = sizeof scenarios / sizeof *scenarios;
