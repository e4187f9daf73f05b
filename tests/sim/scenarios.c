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

    /* Epochs: who enters, leaves, closes, releases. */
    { "epoch", "enter beside close", { "O", DIRECT }, { "E a2 f L", "C" }, 4, 6 },
    { "epoch", "enter beside close, with an object left", { "O", DIRECT }, { "E a2 L f", "C" }, 3, 4 },
    { "epoch", "two enter beside close", { "O", DIRECT }, { "E a2 L f", "E a2 L f", "C" }, 2, 2 },
    { "epoch", "two are inside, one closes and leaves", { "O", DIRECT }, { "E a2 L f", "E a2 C L f" }, 3, 4 },
    { "epoch", "close with a thread inside", { "O @0 E a2", DIRECT }, { "a2 L f f", "C" }, 4, 5 },
    { "epoch", "close with two inside", { "O @0 E a2 @1 E a2", DIRECT }, { "L f", "L f", "C" }, 3, 3 },
    { "epoch", "two close", { "O @0 E a2", DIRECT }, { "L f", "C", "C" }, 2, 3 },
    { "epoch", "release beside enter", { "O @0 E a2 L", DIRECT }, { "R", "E a1 L" }, 3, 5 },
    { "epoch", "release beside enter and close", { "O", DIRECT }, { "R", "E L", "C" }, 2, 3 },
    { "epoch", "two release", { "O @0 E a2 L", DIRECT }, { "R", "R", "E L" }, 2, 3 },
    { "epoch", "released by its policy, two inside", { "P @0 E a2 @1 E a3", DIRECT }, { "L", "L", "C" }, 2, 3 },
    { "epoch-late", "a stale enter beside close and reopening", { "O", DIRECT }, { "E a1 L f", "C O1 E1 a1 L1 C1 f" }, 3, 4 },
    { "epoch-late", "a stale enter of two, reopened", { "O", DIRECT }, { "E L", "E L", "C O1 C1" }, 2, 3 },
    { "epoch-late", "a late helper beside reopening", { "O @0 E", DIRECT }, { "L", "C O1 E1 L1 C1" }, 4, 5 },
    { "epoch-late", "a stale close", { "O", DIRECT }, { "C", "C O1 E1 a2 L1 f" }, 3, 4 },
    { "epoch-late", "a stale release", { "O", DIRECT }, { "R", "C O1 E1 a2 L1 f C1" }, 3, 4 },
    { "epoch", "release while it drains", { "O @0 E a3 L C", DIRECT }, { "R", "C R" }, 3, 4 },
    { "epoch-late", "a late release beside another, and the record's next life", { "O E a2 L C", DIRECT }, { "R", "R O1 E1 a2 L1 f" }, 3, 4 },
    { "epoch-late", "a late release beside another, and two more lives", { "O E a2 L C", DIRECT }, { "R", "R O1 C1 O2 C2 O3 E3" }, 3, 4 },
    { "epoch", "allocation by name beside close", { "O", DIRECT }, { "A2 A3", "C f", "A2" }, 2, 3 },
    { "epoch", "hand-over", { "O @0 E a2", DIRECT }, { "a1 L s", "w E f L C" }, 5, 8 },
    { "epoch", "scopes in scopes beside close", { "O O1 @0 E E1 a2", DIRECT }, { "L1 a2 L f f", "C C1" }, 2, 3 },
    { "epoch", "a thread ends inside", { "O @0 E a2", DIRECT }, { "a1 x f f", "C", "E L" }, 2, 3 },
    { "epoch", "a thread ends with a warm epoch", { "O @0 O1 C1", DIRECT }, { "x", "E a2 L f C O2 C2" }, 2, 3 },
    { "epoch", "advance beside close", { "O @0 E a2", DIRECT }, { "V a2 L f f", "C" }, 3, 4 },
    { "epoch", "advance beside enter", { "O @0 E a2", DIRECT }, { "V a2 L f f", "E a2 L f" }, 2, 4 },
    { "epoch", "two advance", { "O @0 E a2 @1 E a2", DIRECT }, { "V L f", "V L f" }, 2, 3 },
    { "epoch", "two advance from outside", { "O", DIRECT }, { "V", "V", "E a2 L" }, 2, 3 },
    { "epoch", "statistics beside close", { "O @0 E a2 L", DIRECT }, { "y", "C f" }, 4, 5 },
    { "epoch", "statistics beside leave and close", { "O @0 E a2", DIRECT }, { "L f", "y", "C" }, 3, 3 },
    { "epoch", "statistics beside release and enter", { "O @0 E a2 L", DIRECT }, { "y", "R", "E L" }, 2, 3 },

    /* Frees of objects of chunks and runs. */
    { "epoch-free", "remote frees and the owner", { "O @0 E a1>1 a1", DIRECT }, { "f a1 L", "f" }, 4, 6 },
    { "epoch-free", "the last free beside close", { "O @0 E a2>1 a2>2 L", DIRECT }, { "C", "f", "f" }, 2, 3 },
    { "epoch-free", "the last two frees of a sealed chunk", { "O E a2>0 a2>1 L C", DIRECT }, { "f", "f" }, 5, 7 },
    { "epoch-free", "two frees of a sealed chunk, and its next life", { "O E a2>0 a2>1 L C", DIRECT }, { "f", "f O1 E1 a2 L1 f C1" }, 3, 4 },
    { "epoch-free", "the last free beside seal", { "O @0 E a2 a2 a2 a2>1", DIRECT }, { "f f f a2 L f", "f" }, 4, 5 },
    { "epoch-free", "three frees, and the next chunk", { "O @0 E a2>1 a2>2 a2>1 a2>2", DIRECT }, { "a2 L f C", "f f", "f f" }, 2, 2 },
    { "epoch-free", "frees while the chunk starts anew", { "O @0 E a1>1 a1", DIRECT }, { "f a1 a2 F", "f C" }, 4, 6 },
    { "epoch-free", "runs beside close", { "O @0 E a3>1 a3>2 L", DIRECT }, { "C", "f", "f" }, 2, 3 },
    { "epoch-free", "runs and chunks drain", { "O @0 E a3>1 a2>2 L C", DIRECT }, { "O1 C1", "f", "f" }, 2, 3 },
    { "epoch-free", "the last free retires, another opens", { "O @0 E a2>1 L C", DIRECT }, { "O1 E1 a2 L1 f C1", "f" }, 3, 4 },
    { "epoch-free", "the last leave beside the last free", { "O @0 E a2>1", DIRECT }, { "C L", "f" }, 4, 6 },

    /* Epochs that went over to slabs. */
    { "epoch-slab", "the last free beside close", { "O S2>0 S2>1", DIRECT }, { "f", "f", "C" }, 2, 3 },
    { "epoch-slab", "the last free of a full slab beside close", { "O S3>0 S3>1", DIRECT }, { "f", "f", "C" }, 2, 3 },
    { "epoch-slab", "frees while it drains", { "O S3>0 S3>1 C", DIRECT }, { "f", "f" }, 4, 5 },
    { "epoch-slab", "frees while it drains, and the record's next life", { "O S3>0 S3>1 C", DIRECT }, { "f", "f O1 S13 f C1" }, 3, 4 },
    { "epoch-slab", "leave, with magazines, beside free and close", { "O @0 S2>1 E a2", MAGAZINES }, { "f a2 L f", "f", "C" }, 2, 2 },
    { "epoch-slab", "two enter, a heap each", { "O S2>0 S2>1", MAGAZINES }, { "E f a2 L f", "E f a2 L f", "C" }, 1, 2 },
    { "epoch-slab", "chunks become slabs", { "O @0 E a3 f a3 f a3 f a3 f a2>1", DIRECT }, { "a2 L f", "f", "C" }, 2, 3 },
    { "epoch-slab", "release beside free of another epoch", { "O S2>0 O1 S12>1", DIRECT }, { "R", "f C1" }, 2, 3 },
    { "epoch-slab", "released by its policy, with magazines", { "P @0 S2 E a2", MAGAZINES }, { "a2 L", "C", "E L" }, 2, 2 },

    /* Handles. */
    { "epoch-handle", "two free one", { "O H H", DIRECT }, { "D", "D", "H" }, 2, 3 },
    { "epoch-handle", "get beside free", { "O H", DIRECT }, { "J", "D", "H" }, 2, 3 },
    { "epoch-handle", "get beside close and the last free", { "O H", DIRECT }, { "J J", "C D" }, 3, 4 },
    { "epoch-handle", "two are the first", { "O", DIRECT }, { "H D", "H D1" }, 2, 3 },
    { "epoch-handle", "the first beside close", { "O", DIRECT }, { "H D", "C" }, 3, 4 },
    { "epoch-handle", "the first two beside close", { "O", DIRECT }, { "H", "H", "C" }, 1, 2 },
    { "epoch-handle", "the serving record lives on", { "O", DIRECT }, { "H", "C O1 O2 E2 a2 L2 f" }, 2, 3 },
    { "epoch-handle", "the serving record lives on, and there were handles", { "O H D", DIRECT }, { "H", "C O1 O2 E2 a2 L2 f" }, 2, 3 },
    { "epoch-handle", "close beside free", { "O H H", DIRECT }, { "D", "D1", "C" }, 2, 3 },
    { "epoch-handle", "close with a thread inside", { "O @0 E H", DIRECT }, { "H L D", "C", "D" }, 2, 3 },
    { "epoch-handle", "release beside allocation", { "O H", DIRECT }, { "R", "H" }, 3, 4 },
    { "epoch-handle", "release while it drains", { "O H C", DIRECT }, { "R", "J" }, 3, 4 },
    { "epoch-handle", "a stale handle, the record reopened", { "O H", DIRECT }, { "J D", "C D O H" }, 2, 3 },

    /* Fork cuts the others anywhere. */
    { "epoch-fork", "in an enter", { "O", DIRECT }, { "k E a2 L C", "E a2 L f" }, 3, 4 },
    { "epoch-fork", "inside, then close", { "O @1 E a2", DIRECT }, { "k C f", "M2 U L f" }, 4, 5 },
    { "epoch-fork", "in the writes of a chunk", { "O @1 E a2", DIRECT }, { "k E a2 L C", "M1 M1 U U M1" }, 3, 4 },
    { "epoch-fork", "in remote frees", { "O @1 E a2>2 a2>2 a1", DIRECT }, { "k C", "f L", "f f" }, 3, 4 },
    { "epoch-fork", "in frees of a sealed chunk", { "O @1 E a2>1 a2>2 L C", DIRECT }, { "k O1 C1", "f", "f" }, 3, 4 },
    { "epoch-fork", "in a leave that completes a close", { "O @1 E a2 @2 C", DIRECT }, { "k", "L f" }, 3, 5 },
    { "epoch-fork", "in a close", { "O @1 E a2", DIRECT }, { "k E L", "L f", "C" }, 2, 3 },
    { "epoch-fork", "in an opening, and what is warm", { "O @1 O1 C1", DIRECT }, { "k O2 E2 a2 L2 C2 f", "O1 E1 a2 L1 C1 f" }, 3, 4 },
    { "epoch-fork", "in a release", { "O @1 E a2 L", DIRECT }, { "k E L", "R" }, 3, 4 },
    { "epoch-fork", "in slabs", { "O @1 S2>2 E a2 a2", MAGAZINES }, { "k E a2 L C", "f a2 L", "f" }, 3, 3 },
    { "epoch-fork", "in an exit inside", { "O @1 E a2", DIRECT }, { "k C", "x f" }, 3, 4 },
    { "epoch-fork", "in the forking thread's own scope", { "O @0 E a2 @1 E a2", DIRECT }, { "k f a2 L C", "a2 f L" }, 3, 4 },
    { "epoch-fork", "with handles", { "O @1 H", DIRECT }, { "k H C", "D H" }, 2, 3 },
    { "epoch-fork", "in an advance", { "O @1 E a2", DIRECT }, { "k E a2 L", "V a2 L" }, 3, 4 },
    { "epoch-fork", "in an advance from outside", { "O @2 E a2", DIRECT }, { "k", "V", "L" }, 2, 3 },
    { "epoch-fork", "in the first handle", { "O", DIRECT }, { "k H C", "H D", "H" }, 2, 3 },
    { "epoch-fork", "what a borrowed record keeps warm", { "@1 x O C", DIRECT }, { "k O E a2 L x O1 C1", "a1" }, 2, 3 },
    { "epoch-fork", "the parent goes on", { "O @0 E a2 @1 E a2", DIRECT }, { "K f L C", "f L", "E L" }, 2, 2 },
};
/* clang-format on */

const unsigned scenario_count = sizeof scenarios / sizeof *scenarios;
