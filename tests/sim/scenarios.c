#include "scenarios.h"

#include "common/option.h"

/* Classes: 1 has 16 slots, 2 has 4 (two words), 3 has 2 (one word), 4 has 2 in a slab of two units. */

#define DIRECT             false, true, 0, 0, 0
#define MAGAZINES          true, true, 0, 0, 0
#define PURGES             false, false, 0, 0, 0
#define TIGHT(units)       false, true, (units), 0, 0 /* no more units than these, the first of which is never used */
#define GROWS(units, most) false, true, (units), 0, (most) /* and may grow to so many */
#define WORK(policy)       false, true, 0, (policy), 0

#define PER_UNIT WORK_PER_REQUEST
#define BATCH_2  (2 << CHOICE_SHIFT | WORK_BATCH)

#define TWO_OF_3    "a3>0 a3>1 e"           /* a full slab of one word, a slot each */
#define TWO_OF_LAST "a3>1 a3>2 e"           /* the same, for the second and the third thread */
#define TWO_IN_2    "@2 a3>0 a3>1"          /* the same, attached to the third thread's heap */
#define FOUR_OF_2   "a2>0 a2>1 a2>0 a2>1 e" /* a full slab of two words, a slot of each word each */
#define FOUR_IN_2   "@2 a2>0 a2>1 a2>0 a2>1"

/* Class 4, whose trays have four slots: with two full ones, kept and in the magazine, the next free hands one to the
 * exchange. */
#define TEN_OF_4       "a4 a4 a4 a4 a4 a4 a4 a4 a4 a4"
#define TWO_FULL       TEN_OF_4 " ffffffff"  /* and two objects are left */
#define EXCHANGED      TEN_OF_4 " fffffffff" /* a tray in the exchange, one kept, a slot in the magazine, an object */
#define SIX_OF_2       "a2 a2 a2 a2 a2 a2 "
#define TEN_OF_2_FOR_1 "a2>1 a2>1 a2>1 a2>1 a2>1 a2>1 a2>1 a2>1 a2>1 a2>1 "

/* clang-format off */
const struct scenario scenarios[] = {
    /* Giving, attaching and detaching one slab. */
    { "slab", "two givers", { TWO_OF_3, DIRECT }, { "f", "f" }, 4, 6 },
    { "slab", "two givers, the second recycles into another class", { TWO_OF_3, DIRECT }, { "f", "f a2 a2 e f e" }, 3, 5 },
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
    { "slab", "two attach what a giver fills", { "a2>1 a2>1 a2>1 e", DIRECT }, { "a2 e", "f f", "a2 e" }, 2, 3 },
    { "slab", "looks for no reason at a full slab", { TWO_OF_3, DIRECT }, { "f", "f", "v" }, 2, 4 },
    { "slab", "looks for no reason, recycled", { TWO_OF_3, DIRECT }, { "f", "f a2", "v v" }, 2, 3 },
    { "slab", "trim takes the holder's heap", { TWO_IN_2, DIRECT }, { "f", "f", "e v" }, 2, 4 },
    { "slab", "sixteen slots, three words", { "a1>0 a1>1 a1>2 a1>0 a1 a1>1 e", DIRECT }, { "ff", "ff", "a1 f e" }, 2, 4 },
    { "slab", "magazines flush to slabs of each other", { "a2>0 a2>1 a2>0 a2>1 e", MAGAZINES }, { "ff e", "ff e", "a2 e" }, 2, 3 },
    { "slab", "magazines overflow", { "a3>0 a3>1 a3>0 a3>1 a3>0 a3>1 e", MAGAZINES }, { "f f f a3 e", "f f f e" }, 3, 4 },

    /* Frees that find the list's lock taken. */
    { "revisit", "two givers, two classes", { TWO_OF_3, DIRECT }, { "f", "f a3", "a2" }, 2, 3 },
    { "revisit", "two givers, a holder each", { TWO_OF_3, DIRECT }, { "f", "f e a3", "a3 e" }, 2, 3 },
    { "revisit", "two slabs of a class", { "a3>0 a3>1 a3>0 a3>1 e", DIRECT }, { "ff", "ff" }, 3, 5 },
    { "revisit", "two slabs of a class, a heap", { "a3>0 a3>1 a3>1 a3>0 e", DIRECT }, { "ff", "ff", "a3 e" }, 2, 3 },
    { "revisit", "two slabs of two classes", { "a3>0 a3>1 a2>0 a2>1 e", DIRECT }, { "ff", "ff", "a3 a2 e" }, 2, 3 },
    { "revisit", "partial slab, givers and looks", { "a2>0 a2>1 e", DIRECT }, { "f", "f", "v v" }, 2, 4 },
    { "revisit", "recycled and back", { TWO_OF_3, DIRECT }, { "f a3 F", "f a2 e f a3 e" }, 2, 4 },
    { "revisit", "a queued slab of a new life", { TWO_OF_3, DIRECT }, { "f a2", "f a2 e f", "a3 e" }, 2, 3 },
    { "follow", "a queued slab is on another list by now", { TWO_OF_LAST, DIRECT }, { "v", "f", "f a2 e" }, 2, 3 },
    { "follow", "a free of the new life relies on the flag", { TWO_OF_LAST, DIRECT }, { "v w f", "f", "f a2 s e" }, 2, 3 },

    { "deep", "a harvest finds a slab of a new life attached", { TWO_OF_LAST, DIRECT }, { "v w p1 q2 f", "f", "f a2 s q1 p2 e" }, 2, 4 },

    /* Threads that end, and come back as others. */
    { "thread", "exit of the holder", { TWO_IN_2, DIRECT }, { "f", "f", "x" }, 3, 4 },
    { "thread", "exit of the holder after a refill", { FOUR_IN_2, DIRECT }, { "f", "ff", "a2 x" }, 2, 3 },
    { "thread", "exit with full magazines", { FOUR_IN_2, MAGAZINES }, { "ff x", "g g", "x" }, 2, 4 },
    { "thread", "frees after the end", { TWO_OF_3, DIRECT }, { "x f", "f" }, 4, 5 },
    { "thread", "frees after the end, with magazines", { TWO_OF_3, MAGAZINES }, { "x f", "x f" }, 3, 5 },
    { "thread", "allocates after the end", { TWO_OF_3, MAGAZINES }, { "x a3 f F", "f x" }, 3, 4 },
    { "thread", "two records change hands", { FOUR_OF_2, MAGAZINES }, { "f x f", "x ff", "x a2" }, 2, 3 },
    { "thread", "trim beside exit", { FOUR_IN_2, MAGAZINES }, { "ff t", "g g", "x" }, 2, 3 },

    /* Heaps rest between two threads: one place. */
    { "rest", "taken by one who looks late", { "@0 a2 a2 ff", MAGAZINES }, { "x p1 q2 < a2 a2", "q1 $", "q1 p2" }, 3, 4 },
    { "rest", "taken by the next", { FOUR_IN_2, MAGAZINES }, { "ff x < a2", "ff x < a2", "x < a2" }, 2, 3 },
    { "rest", "taken beside a trim", { FOUR_IN_2, MAGAZINES }, { "ff x < a2", "t", "x < a2" }, 2, 3 },
    { "rest", "emptied, taken, and rests again", { FOUR_IN_2, MAGAZINES }, { "ff x < a2 f x", "t", "t" }, 2, 3 },
    { "rest", "beside the keeper", { FOUR_IN_2, MAGAZINES }, { "ff x < a2 f x", "+", "x < a2 f" }, 2, 3 },
    { "rest", "outboxes are emptied first", { "@0 a1>1 a1>1 a1>1 a1", MAGAZINES }, { "f x < a1", "f f x f", "x < a1" }, 2, 3 },
    { "rest", "hot runs are emptied first", { "B2>0 B2>0 B2>1", MAGAZINES }, { "f x < f", "B4 f", "f x" }, 2, 3 },
    { "rest", "fork beside an end", { FOUR_IN_2, MAGAZINES }, { "k f a2 x", "ff x", "x < a2" }, 2, 3 },
    { "rest", "fork beside a begin", { FOUR_IN_2 " @3 a2 F", MAGAZINES }, { "k f a2 t", "ff x < a2", "x < a2" }, 2, 3 },
    { "rest", "fork beside a trim", { FOUR_IN_2, MAGAZINES }, { "k a2 x < a2", "ff x", "t t" }, 2, 3 },
    { "rest", "the parent goes on", { FOUR_IN_2, MAGAZINES }, { "K a2 x < a2", "ff x < a2", "x t" }, 2, 3 },

    /* Full trays change hands. */
    { "exchange", "two put", { "@0 " TWO_FULL " @1 " TWO_FULL, MAGAZINES }, { "f", "f" }, 4, 5 },
    { "exchange", "put beside take", { "@0 " TWO_FULL, MAGAZINES }, { "f a4", "a4 f a4" }, 3, 4 },
    { "exchange", "two take one", { "@0 " EXCHANGED, MAGAZINES }, { "a4 a4", "a4 f", "a4 f" }, 2, 3 },
    { "exchange", "put, take and look", { "@0 " TWO_FULL " @1 " EXCHANGED " $", MAGAZINES }, { "f", "$ $", "a4" }, 2, 2 },
    { "exchange", "two look", { "@0 " EXCHANGED " $ a4", MAGAZINES }, { "f", "$", "$" }, 2, 3 },
    { "exchange", "trim beside put and take", { "@0 " TWO_FULL, MAGAZINES }, { "f", "a4 t", "t" }, 2, 2 },
    { "exchange", "exit beside put and take", { "@0 " EXCHANGED, MAGAZINES }, { "x", "a4 x", "a4 f x" }, 2, 2 },
    { "exchange", "fork beside put", { "@1 " TWO_FULL, MAGAZINES }, { "k a4 f e", "f a4" }, 4, 5 },
    { "exchange", "fork beside take and look", { "@1 " EXCHANGED " $", MAGAZINES }, { "k a4 f x", "$", "a4 f" }, 2, 3 },
    { "exchange", "the parent goes on", { "@1 " EXCHANGED, MAGAZINES }, { "K a4 f", "a4 f", "a4 $ $" }, 2, 3 },
    { "exchange", "nothing is left but what waits there", { "@0 a4 a4 a4 a4 a4 a4 a4 a4 a4 a4 a4 a4 a4 a4 fffffffff", MAGAZINES }, { "a3", "a4 a4", "a3" }, 1, 2 },
    { "trays", "a magazine grows, overflows, and is loaded again", { "", MAGAZINES }, { "a4 a4 a4 a4 a4 a4 ffffff a4 a4 a4 a4 a4 a4 ffffff", "a3 a3 a3 a3 a3 a3 ffffff" }, 1, 1 },
    { "trays", "the kept one is loaded, and overflows", { "@0 " TWO_FULL, MAGAZINES }, { "a4 a4 a4 a4 a4 f f f f f f", "a3 a3 a3 f f f" }, 1, 2 },
    { "trays", "a look beside a magazine that grows", { "@0 " EXCHANGED " $ @1 a3 a3 a3 a3 f f", MAGAZINES }, { "$", "f f" }, 4, 5 },
    { "trays", "two exits, and one that grows", { "@0 " TWO_FULL " @1 " TWO_FULL, MAGAZINES }, { "x", "x", "a3 a3 a3 f f f" }, 1, 2 },

    /* Reports that are due: whoever comes by writes them. */
    { "due", "two come by", { "#", DIRECT }, { "%#", "#", "#" }, 4, 5 },
    { "due", "a signal comes in a report", { "#", DIRECT }, { "% # #", "% #", "%" }, 3, 5 },
    { "due", "the keeper comes by, too", { "#", DIRECT }, { "% #", "% ;", "#" }, 3, 5 },
    { "due", "a slow operation comes by", { "#", DIRECT }, { "% B2", "% B2 f" }, 2, 3 },
    { "due", "fork in a report", { "#", DIRECT }, { "% #", "k % #" }, 4, 6 },
    { "due", "the parent goes on", { "#", DIRECT }, { "% #", "K % #", "%" }, 2, 3 },

    /* Samples of objects, while these begin and end. */
    { "sample", "two allocate", { "[1", DIRECT }, { "a3 f a3", "a2 a3" }, 2, 3 },
    { "sample", "an object goes to another thread", { "[1 a3>1", DIRECT }, { "a3 s a3", "w f a3" }, 2, 3 },
    { "sample", "places are handed out unsampled", { "[1 a3>0 a3>1 a2>0 [2", DIRECT }, { "f a3 f", "f a3" }, 2, 3 },
    { "sample", "two share a unit", { "[1 a3>0 a3>1", DIRECT }, { "f a3", "f" }, 2, 3 },
    { "sample", "a slab gets another home", { "[1 @0 a3 e", MAGAZINES }, { "f a3", "a3 f" }, 2, 3 },
    { "sample", "an epoch is released", { "[1 O S2>0 S3>1", DIRECT }, { "R a2", "a2" }, 2, 3 },
    { "sample", "several have one head", { "[1 a3>0 a2>0 e", DIRECT }, { "f f", "a3 a3", "a2" }, 2, 2 },
    { "sample", "sampling ends", { "[1 a3>0", DIRECT }, { "a3 f a2", "[0" }, 2, 3 },
    { "sample", "sampling ends and begins", { "[1 a3>0", DIRECT }, { "a3 [1", "[0", "a3" }, 2, 2 },
    { "sample", "a block grows in its place", { "[1 @0 B1", DIRECT }, { "Z2 Z3", "B1" }, 2, 3 },
    { "sample", "an object in a chunk shrinks", { "[1 O @1 E", DIRECT }, { "|", "a2 Z0 a1 |" }, 1, 2 },
    { "sample", "an object shrinks in a chunk from before", { "P @1 E a2", DIRECT }, { "|", "[1 Z0 a1 a1 | L R" }, 1, 2 },
    { "sample", "a chunk from before serves again", { "P @1 E a1", DIRECT }, { "[1", "f a1 Z0 a1 f f a1 | L R" }, 2, 3 },
    { "sample-fork", "the cut thread's record serves again", { "[1 a3>0", DIRECT }, { "a2 B2 f j t x Z3 |", "a3" }, 1, 2 },
    { "sample-fork", "beside a sample", { "[1 a3>0", DIRECT }, { "k a3 | f", "a3 f a2" }, 2, 3 },
    { "sample-fork", "while sampling ends", { "[1 a3>0", DIRECT }, { "k [1 a3 |", "[0", "a3" }, 2, 2 },
    { "sample-fork", "beside a look", { "[1 a3>0 a3>1", DIRECT }, { "k a3 |", "|", "f" }, 1, 2 },
    { "look", "two look", { "[1 a3>0 a3>1", MAGAZINES }, { "f |", "| a3" }, 2, 3 },
    { "look", "beside frees and births", { "[1 a3>0 a3>1", MAGAZINES }, { "f a3", "f a3", "|" }, 1, 2 },
    { "look", "a tray goes to the exchange", { "[1 @0 " TWO_FULL, MAGAZINES }, { "f", "|" }, 2, 3 },
    { "look", "a heap is emptied", { "[1 @0 " TWO_FULL, MAGAZINES }, { "e", "|" }, 2, 3 },
    { "look", "slots move between caches", { "[1 @0 " TWO_FULL " @1 a4", MAGAZINES }, { "f a4", "a4 f", "|" }, 1, 2 },
    { "look", "large blocks and chunks", { "[1 O @1 E a2 a2", DIRECT }, { "B2 f B2", "f a2 f L", "|" }, 1, 2 },
    { "look", "sampling ends", { "[1 a3>0", DIRECT }, { "a3 f a2", "[0", "|" }, 1, 2 },
    /* Limits by label are set, and epochs opened, which look for theirs. */
    { "label", "one names, one looks", { "", MAGAZINES }, { "~0 ~1", "_ _" }, 3, 5 },
    { "label", "two name the same, one looks", { "~2", MAGAZINES }, { "~0", "~1", "_ _" }, 2, 3 },

    /* The keeper empties idle heaps: a second look without a slow operation in between finds them idle. */
    { "keeper", "beside refills and frees", { "@0 " EXCHANGED " +", MAGAZINES }, { "a4 a4 a4 f f f", "+" }, 3, 4 },
    { "keeper", "beside an overflow", { "@0 " TWO_FULL " +", MAGAZINES }, { "f f a4", "+", "a4 f" }, 2, 3 },
    { "keeper", "two look", { "@0 " EXCHANGED " +", MAGAZINES }, { "a4 a4", "+", "+" }, 2, 3 },
    { "keeper", "beside an exit", { "@0 " EXCHANGED " +", MAGAZINES }, { "x", "+", "a4 f x" }, 1, 3 },
    { "keeper-hot", "beside a large block", { "@0 B2 f +", MAGAZINES }, { "B2 f B2", "+" }, 3, 5 },
    { "keeper-hot", "beside a block that makes room", { "@0 B3 B2 B2 f f +", MAGAZINES }, { "f B2 f", "+" }, 3, 4 },
    { "keeper", "beside trim", { "@0 " EXCHANGED " B2 F +", MAGAZINES }, { "t", "+", "f" }, 1, 3 },
    { "keeper-fork", "the owner forks", { "@0 " EXCHANGED " +", MAGAZINES }, { "k a4 f x", "+" }, 3, 5 },
    { "keeper-fork", "another forks", { "@0 " EXCHANGED " +", MAGAZINES }, { "a4 f", "+", "k a4 f x" }, 2, 3 },
    { "keeper-fork", "fork beside a large block", { "@0 B2 f +", MAGAZINES }, { "B2 f", "+", "k B2 f" }, 2, 3 },
    { "keeper-fork", "in a purge", { "n3 b", PURGES }, { "k r", "+", "n2 b" }, 2, 3 },
    { "keeper-fork", "in a sweep", { "a2>1 a2>2 e", DIRECT }, { "k h f", "+", "f" }, 2, 3 },
    { "keeper-fork", "the parent goes on", { "@0 " EXCHANGED " +", MAGAZINES }, { "K a4 f", "+ +" }, 2, 4 },

    /* Frees by a thread that may not keep the slot: only where slabs have a home (sim_odd). */
    { "outbox", "beside the home's refill", { "@0 a2>1 a2>1 a2>1", MAGAZINES }, { "a2 f", "f f f" }, 3, 5 },
    { "outbox", "two of them flush", { "@0 a2>1 a2>2 a2>1 a2>2 a2>1 a2>2", MAGAZINES }, { "a2", "f f f", "f f f" }, 2, 3 },
    { "outbox", "beside the home's exit", { "@0 a2>1 a2>1 a2>1", MAGAZINES }, { "x", "f f f" }, 4, 5 },
    { "outbox", "both end", { "@0 a2>1 a2>1 a2", MAGAZINES }, { "f x", "f f x" }, 3, 5 },
    { "outbox", "frees after the end", { "@0 a2>1 a2>1 a2>1", MAGAZINES }, { "x f", "f x f f" }, 3, 4 },
    { "outbox", "the slab has another home meanwhile", { "@0 a2>1 a2>1 a2>1 a2", MAGAZINES }, { "f x", "f f e", "a2 F e" }, 2, 3 },
    { "outbox", "the slab comes home to its giver", { "@0 a2>1 a2>1 a2", MAGAZINES }, { "f x", "f a2 F f e" }, 3, 4 },
    { "outbox", "trim beside trim", { "@0 a1>1 a1>1 a1>1 a1", MAGAZINES }, { "f t", "f f t f", "t" }, 2, 3 },
    { "outbox", "fork in a free", { "@0 " TEN_OF_2_FOR_1 "a2>1 a2 @1 fffffff", MAGAZINES }, { "k f a2 e", "f f f f" }, 3, 5 },
    { "outbox", "fork in two frees, and an exit", { "@0 a2>1 a2>2 a2>1 a2>2", MAGAZINES }, { "k a2 f x", "f f x", "f f" }, 2, 3 },
    { "outbox", "a magazine is flushed", { "@0 a2>1 " SIX_OF_2 SIX_OF_2 "a2>1 " SIX_OF_2 "ffffffffffffffff", MAGAZINES }, { "f a2 a2 a2", "f f" }, 2, 3 },
    { "outbox", "fork, the parent goes on", { "@0 a2>1 a2>1 a2>1", MAGAZINES }, { "K a2 f", "f f f e" }, 3, 4 },


    /* Fork cuts the others anywhere outside their gates. */
    { "fork", "in a give", { TWO_OF_3, DIRECT }, { "k f a3 x", "f" }, 4, 6 },
    { "fork", "in two gives", { TWO_OF_LAST, DIRECT }, { "k a3 x", "f", "f" }, 2, 4 },
    { "fork", "in gives of two words", { "a2>1 a2>2 a2>1 a2>2 e", DIRECT }, { "k f a2", "ff", "ff" }, 2, 3 },
    { "fork", "in a give, with one's own", { FOUR_OF_2, DIRECT }, { "f k f x", "ff" }, 4, 5 },
    { "fork", "in a refill", { FOUR_IN_2, DIRECT }, { "k f a2 x", "f", "a2 f" }, 2, 4 },
    { "fork", "in an exit", { FOUR_IN_2, DIRECT }, { "k a2 x", "ff", "x" }, 3, 4 },
    { "fork", "in a free after the end", { TWO_OF_3, MAGAZINES }, { "k a3 f", "x f" }, 4, 5 },
    { "fork", "in a magazine", { FOUR_OF_2, MAGAZINES }, { "k f a2 e", "f m2 u m2" }, 4, 6 },
    { "fork", "in a flush", { FOUR_OF_2, MAGAZINES }, { "k f a2 e", "u u e" }, 4, 6 },
    { "fork", "while another looks and a third gives", { TWO_OF_LAST, DIRECT }, { "k a3", "f", "v f" }, 2, 3 },
    { "fork", "in a trim", { FOUR_IN_2, MAGAZINES }, { "k a2", "f t", "t" }, 2, 3 },
    { "fork", "handlers of the program allocate", { TWO_OF_LAST, DIRECT }, { "j F", "f", "f" }, 2, 3 },
    { "fork", "handlers of the program allocate, in an exit", { FOUR_IN_2, MAGAZINES }, { "j F", "f x", "x" }, 2, 3 },
    { "fork", "the parent goes on", { FOUR_OF_2, DIRECT }, { "K f", "ff", "a2 e" }, 2, 3 },
    { "fork", "the parent goes on, exits", { TWO_OF_LAST, MAGAZINES }, { "K a3", "f x", "f x" }, 2, 3 },
    { "fork", "twice at once", { TWO_OF_3, DIRECT }, { "k f", "k f" }, 4, 6 },

    /* Runs of units. */
    { "depot", "purge and reuse", { "n2 b", DIRECT }, { "r", "n1 n1 b b" }, 4, 6 },
    { "depot", "two purge", { "n2 b", DIRECT }, { "r", "n1 b", "r" }, 3, 4 },
    { "depot", "purge, takes of two lengths", { "n3 b", DIRECT }, { "n1 b", "n2 b", "r" }, 3, 4 },
    { "depot", "purge and slabs", { TWO_OF_3, DIRECT }, { "f r", "f a3 e", "r" }, 2, 3 },
    { "depot", "slow operations purge", { FOUR_OF_2, PURGES }, { "ff", "ff a3" }, 3, 5 },
    { "depot", "slow operations purge, a heap", { TWO_OF_3, PURGES }, { "f", "f", "a2 t" }, 2, 3 },

    /* The arena grows, and absent runs are mapped again. */
    { "growth", "two grow", { "", GROWS(2, 14) }, { "n3 b", "n2 b" }, 4, 6 },
    { "growth", "three grow", { "", GROWS(2, 14) }, { "n3 b", "n2 b", "n3" }, 2, 3 },
    { "growth", "one takes the tail", { "", GROWS(4, 14) }, { "n5 b", "n3 b n1" }, 4, 6 },
    { "growth", "one purges beside a grower", { "n2 b", GROWS(4, 14) }, { "n5 b", "r n1 b" }, 3, 5 },
    { "growth", "frees beside a grower", { TWO_OF_3, GROWS(2, 14) }, { "f a2 e", "f", "n3 b" }, 2, 4 },
    { "growth", "grow in place beside takes", { "B2>0", GROWS(4, 20) }, { "Z5 f", "n1 b n3 b" }, 3, 5 },
    { "growth", "two grow in place", { "B2>0 B2>1", GROWS(6, 20) }, { "Z4 f", "Z4 f", "n2 b" }, 2, 3 },
    { "growth", "an absent run for two", { "@0 n6 @1 n1 @0 b1", GROWS(8, 8) }, { "n2 b", "n3 b" }, 4, 6 },
    { "growth", "an absent run beside neighbours that leave", { "@0 n3 @1 n2 @2 n2 @1 b1", GROWS(8, 8) }, { "b1 n2 b", "n2 b", "b1" }, 2, 4 },
    { "growth", "grow into an absent run", { "B2>0 @1 n4 b1", GROWS(7, 20) }, { "Z4 f", "n2 b" }, 4, 6 },
    { "growth", "a longer run takes the place of one that left", { "@0 n4 b1", GROWS(6, 16) }, { "n7 b", "n2 b" }, 3, 5 },
    { "growth", "the same, and its neighbour leaves", { "@2 n3 @1 n2 b1", GROWS(6, 16) }, { "n5 b", "n1 b", "b1" }, 2, 3 },
    { "growth", "fork beside a grower", { "", GROWS(2, 14) }, { "k n3 b", "n2 b", "n3 b" }, 2, 3 },

    /* Free pages of slabs in use. */
    { "holes", "purge beside givers", { "a2>0 a2>1 e", DIRECT }, { "f", "f", "h" }, 3, 4 },
    { "holes", "purge beside a heap that attaches", { "a2>0 a2>1 e", DIRECT }, { "a2 e", "f", "h" }, 2, 3 },
    { "holes", "two purge, one gives", { "a2>1 a2>1 e", DIRECT }, { "h", "f", "h" }, 3, 4 },
    { "holes", "purge, and two words are freed and recycled", { "a2>0 a2>0 a2>1 a2 e", DIRECT }, { "ff a3 e", "f", "h" }, 2, 3 },
    { "holes", "purge between small objects", { "a1>0 a1>1 a1>0 a1>1 e", DIRECT }, { "ff", "ff", "h" }, 2, 4 },
    { "holes", "fork beside a purge", { "a2>1 a2>2 e", DIRECT }, { "k f a2 e", "f", "h f" }, 2, 3 },
    { "holes", "trim beside trim", { FOUR_IN_2, MAGAZINES }, { "f t", "f t", "t" }, 2, 3 },
    { "holes", "a closed chunk beside its last frees", { "O E a2>0 a2>1 L C", DIRECT }, { "f", "f", "h" }, 3, 4 },
    { "holes", "a closed chunk of which an object stays", { "O E a2>0 a2 a2>0 L C", DIRECT }, { "f", "f", "h h" }, 2, 3 },
    { "holes", "a closed chunk, and its next life", { "O E a2>0 a2>1 L C", DIRECT }, { "f", "f O1 E1 a2 L1 f C1", "h" }, 2, 3 },
    { "holes", "slabs of an epoch that closes", { "O S2>0 S2>1 S2>1", DIRECT }, { "f", "C f f", "h" }, 2, 3 },
    { "holes", "slabs of an epoch that is released", { "O @0 S2 S2 S2 f", DIRECT }, { "R", "h" }, 4, 6 },
    { "holes", "chunks of an epoch that is released", { "O @0 E a2 a2 a2 a2 a2 a2 f L", DIRECT }, { "R", "h" }, 3, 6 },
    { "holes", "who survives is told meanwhile", { "N @0 S2 S2 S2 f", DIRECT }, { "C f f", "h" }, 3, 5 },
    { "holes", "closed with reclaim", { "O @0 S2 S2 S2 f", DIRECT }, { "c f f", "h" }, 3, 5 },

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
    { "epoch-late", "a late helper beside advance", { "O O1 @0 E @1 E1", DIRECT }, { "L", "C V1 L1 C1" }, 4, 5 },
    { "epoch-late", "a stale close", { "O", DIRECT }, { "C", "C O1 E1 a2 L1 f" }, 3, 4 },
    { "epoch-late", "a stale release", { "O", DIRECT }, { "R", "C O1 E1 a2 L1 f C1" }, 3, 4 },
    { "epoch", "release while it drains", { "O @0 E a3 L C", DIRECT }, { "R", "C R" }, 3, 4 },
    { "epoch-late", "a late release beside another, and the record's next life", { "O E a2 L C", DIRECT }, { "R", "R O1 E1 a2 L1 f" }, 3, 4 },
    { "epoch-late", "a late release beside another, and two more lives", { "O E a2 L C", DIRECT }, { "R", "R O1 C1 O2 C2 O3 E3" }, 3, 4 },
    { "epoch", "allocation by name beside close", { "O", DIRECT }, { "A2 A3", "C f", "A2" }, 2, 3 },
    { "epoch", "resize beside close", { "O @0 E a2 L", DIRECT }, { "Z3 f", "C" }, 3, 5 },
    { "epoch", "hand-over", { "O @0 E a2", DIRECT }, { "a1 L s", "w E f L C" }, 5, 8 },
    { "epoch", "scopes in scopes beside close", { "O O1 @0 E E1 a2", DIRECT }, { "L1 a2 L f f", "C C1" }, 2, 3 },
    { "epoch", "a thread ends inside", { "O @0 E a2", DIRECT }, { "a1 x f f", "C", "E L" }, 2, 3 },
    { "epoch", "a thread ends with a warm epoch", { "O @0 O1 C1", DIRECT }, { "x", "E a2 L f C O2 C2" }, 2, 3 },
    { "epoch", "a hold is put away beside close", { "O O1 @0 E a1 f L", DIRECT }, { "E1 a1 L1 f", "C" }, 3, 4 },
    { "epoch", "a hold is put away beside release, and its next life", { "O O1 @0 E a1 f L", DIRECT }, { "E1 a1 L1 f", "R O E a1 f L" }, 2, 3 },
    { "epoch", "a hold is put away beside a close from inside", { "O O1 @0 E @1 E @0 a1 f L", DIRECT }, { "E1 a1 L1 f", "C L" }, 3, 4 },
    { "epoch", "two put the same hold away", { "O O1 @0 E a1 f L @1 E a1 f L", DIRECT }, { "E1 a1 L1 f", "O2 E2 a1 L2 f C2", "C" }, 2, 2 },
    { "epoch", "warm epochs change hands", { "O @0 O1 O2 C C1", DIRECT }, { "C2 O1 C1", "O E a2 L f C", "t" }, 2, 3 },
    { "epoch", "advance beside close", { "O @0 E a2", DIRECT }, { "V a2 L f f", "C" }, 3, 4 },
    { "epoch", "advance beside enter", { "O @0 E a2", DIRECT }, { "V a2 L f f", "E a2 L f" }, 2, 4 },
    { "epoch", "two advance", { "O @0 E a2 @1 E a2", DIRECT }, { "V L f", "V L f" }, 2, 3 },
    { "epoch", "two advance from outside", { "O", DIRECT }, { "V", "V", "E a2 L" }, 2, 3 },
    { "epoch", "statistics beside close", { "O @0 E a2 L", DIRECT }, { "y", "C f" }, 4, 5 },
    { "epoch", "statistics beside leave and close", { "O @0 E a2", DIRECT }, { "L f", "y", "C" }, 3, 3 },
    { "epoch", "statistics beside release and enter", { "O @0 E a2 L", DIRECT }, { "y", "R", "E L" }, 2, 3 },

    /* Holds: those that threads remember, those that earlier lives left, and scopes that are entered once more. */
    { "epoch-holds", "a remembered hold beside close", { "O @0 E a2 L", DIRECT }, { "E a2 L f f", "C" }, 4, 6 },
    { "epoch-holds", "two remember one hold", { "O @0 E L @1 E L", DIRECT }, { "E a1 L E L f", "E a1 L E L f" }, 2, 3 },
    { "epoch-holds", "two remember one hold, beside close", { "O @0 E L @1 E L", DIRECT }, { "E L", "E L", "C" }, 2, 3 },
    { "epoch-holds", "the next life of a record that had two", { "O @0 E @1 E a2 L f @0 L C", DIRECT }, { "O E a2 L f C", "E a1 L f" }, 3, 4 },
    { "epoch-holds", "two remember holds of an earlier life", { "O @0 E @1 E L @0 L C O", DIRECT }, { "E a2 L f", "E a2 L f", "C" }, 2, 2 },
    { "epoch-holds", "a late helper, and a spare hold", { "O @0 E @1 E", DIRECT }, { "L", "L C O1 E1 a2 L1 f C1" }, 3, 4 },
    { "epoch-holds", "a late one makes a hold, in the next life", { "O @0 E", DIRECT }, { "L", "E L", "C O1 E1 L1 C1" }, 2, 3 },
    { "epoch-holds", "a report beside spare holds", { "O @0 E @1 E L @0 L C O", DIRECT }, { "E L C", "E L", "y" }, 2, 2 },
    { "epoch-holds", "entered once more, beside close", { "O @0 E a2", DIRECT }, { "E a2 L a2 L f f f", "C" }, 3, 4 },
    { "epoch-holds", "entered once more, another in between", { "O O1 @0 E E1 E a2", DIRECT }, { "E a1 L L L1 a2 L f f f", "C C1" }, 2, 3 },
    { "epoch-holds", "entered once more, and advanced", { "O @0 E E a2", DIRECT }, { "V a2 L f f", "C" }, 2, 4 },
    { "epoch-holds", "entered once more, another in between, and advanced", { "O O1 @0 E E1 E a2", DIRECT }, { "V a1 L f f", "C C1" }, 2, 3 },
    { "epoch-holds", "a thread ends that is inside twice", { "O O1 @0 E E1 E E a2", DIRECT }, { "x f", "C", "E L" }, 2, 3 },

    /* Frees of objects of chunks and runs. */
    { "epoch-free", "remote frees and the owner", { "O @0 E a1>1 a1", DIRECT }, { "f a1 L", "f" }, 4, 6 },
    { "epoch-free", "the last free beside close", { "O @0 E a2>1 a2>2 L", DIRECT }, { "C", "f", "f" }, 2, 3 },
    { "epoch-free", "the last two frees of a closed chunk", { "O E a2>0 a2>1 L C", DIRECT }, { "f", "f" }, 5, 7 },
    { "epoch-free", "two frees of a closed chunk, and its next life", { "O E a2>0 a2>1 L C", DIRECT }, { "f", "f O1 E1 a2 L1 f C1" }, 3, 4 },
    { "epoch-free", "the last free beside the close of its chunk", { "O @0 E a2 a2 a2 a2>1", DIRECT }, { "f f f a2 L f", "f" }, 4, 5 },
    { "epoch-free", "three frees, and the next chunk", { "O @0 E a2>1 a2>2 a2>1 a2>2", DIRECT }, { "a2 L f C", "f f", "f f" }, 2, 2 },
    { "epoch-free", "frees in a full chunk, by its holder and another", { "O @0 E a2 a2 a2>1 a2>1 a2", DIRECT }, { "f f a2 L C f f", "f f" }, 3, 4 },
    { "epoch-free", "a full chunk that empties, and its next life", { "O @0 E a2 a2 a2 a2>1 a2", DIRECT }, { "f f f a2 a2 a2 a2 L C f f f f f", "f" }, 3, 4 },
    { "epoch-free", "a full chunk, left and entered again", { "O @0 E a2 a2 a2>1 a2>1 a2", DIRECT }, { "L E f f a2 L C f f", "f f" }, 3, 4 },
    { "epoch-free", "a full chunk whose hold another thread has next", { "O @0 E a2 a2>2 a2>1 a2>1 a2", DIRECT }, { "f L", "E f f L", "f" }, 2, 3 },
    { "epoch-free", "a report beside a full chunk", { "O @0 E a2 a2 a2 a2>1 a2", DIRECT }, { "f f f L", "f", "y" }, 2, 3 },
    { "epoch-free", "frees while the chunk starts anew", { "O @0 E a1>1 a1", DIRECT }, { "f a1 a2 F", "f C" }, 4, 6 },
    { "epoch-free", "runs beside close", { "O @0 E a3>1 a3>2 L", DIRECT }, { "C", "f", "f" }, 2, 3 },
    { "epoch-free", "runs and chunks drain", { "O @0 E a3>1 a2>2 L C", DIRECT }, { "O1 C1", "f", "f" }, 2, 3 },
    { "epoch-free", "the last free retires, another opens", { "O @0 E a2>1 L C", DIRECT }, { "O1 E1 a2 L1 f C1", "f" }, 3, 4 },
    { "epoch-free", "a run is resized beside a report", { "O @0 E a3>1 L", DIRECT }, { "y", "Z3 f" }, 3, 5 },
    { "epoch-free", "the last leave beside the last free", { "O @0 E a2>1", DIRECT }, { "C L", "f" }, 4, 6 },

    /* Epochs that went over to slabs. */
    { "epoch-slab", "the last free beside close", { "O S2>0 S2>1", DIRECT }, { "f", "f", "C" }, 2, 3 },
    { "epoch-slab", "the last free of a full slab beside close", { "O S3>0 S3>1", DIRECT }, { "f", "f", "C" }, 2, 3 },
    { "epoch-slab", "frees while it drains", { "O S3>0 S3>1 C", DIRECT }, { "f", "f" }, 4, 5 },
    { "epoch-slab", "frees while it drains, and the record's next life", { "O S3>0 S3>1 C", DIRECT }, { "f", "f O1 S13 f C1" }, 2, 4 },
    { "epoch-slab", "leave, with magazines, beside free and close", { "O @0 S2>1 E a2", MAGAZINES }, { "f a2 L f", "f", "C" }, 2, 2 },
    { "epoch-slab", "two enter, a heap each", { "O S2>0 S2>1", MAGAZINES }, { "E f a2 L f", "E f a2 L f", "C" }, 1, 2 },
    { "epoch-slab", "slabs are put away beside close", { "O O1 @0 E a3 f a3 f a3 f a3 f a2>1 a1 f L", DIRECT }, { "E1 a1 L1 f", "C f" }, 2, 3 },
    { "epoch-slab", "chunks become slabs", { "O @0 E a3 f a3 f a3 f a3 f a2>1", DIRECT }, { "a2 L f", "f", "C" }, 2, 3 },
    { "epoch-slab", "a free by a stranger, and a release", { "O S2>0 S2>1", MAGAZINES }, { "q1 R a2", "f p1 e" }, 2, 3 },
    { "epoch-slab", "the last free by a stranger, and the record's next life", { "O S2>1 C", MAGAZINES }, { "f O S2 f C", "f e" }, 2, 3 },
    { "epoch-slab", "release beside free of another epoch", { "O S2>0 O1 S12>1", DIRECT }, { "R", "f C1" }, 2, 3 },
    { "epoch-slab", "released by its policy, with magazines", { "P @0 S2 E a2", MAGAZINES }, { "a2 L", "C", "E L" }, 2, 2 },

    /* Handles. */
    { "epoch-handle", "two free one", { "O H H", DIRECT }, { "D", "D", "H" }, 2, 3 },
    { "epoch-handle", "get beside free", { "O H", DIRECT }, { "J", "D", "H" }, 2, 3 },
    { "epoch-handle", "get beside close and the last free", { "O H", DIRECT }, { "J J", "C D" }, 3, 4 },
    { "epoch-handle", "two are the first", { "O", DIRECT }, { "H D", "H D1" }, 2, 3 },
    { "epoch-handle", "the first beside close", { "O", DIRECT }, { "H D", "C" }, 3, 4 },
    { "epoch-handle", "the first two beside close", { "O", DIRECT }, { "H", "H", "C" }, 1, 2 },
    { "epoch-handle", "the record lives on", { "O", DIRECT }, { "H", "C O1 O2 E2 a2 L2 f" }, 2, 3 },
    { "epoch-handle", "the record lives on, and there were handles", { "O H D", DIRECT }, { "H", "C O1 O2 E2 a2 L2 f" }, 2, 3 },
    { "epoch-handle", "an entry comes back to the list", { "O H H D D1", DIRECT }, { "H", "H H D2" }, 2, 3 },
    { "epoch-handle", "get beside free, where another entry is free", { "O H H D1", DIRECT }, { "J", "D" }, 2, 3 },
    { "epoch-handle", "two grow the table", { "O H", DIRECT }, { "H D1", "H H D2" }, 2, 3 },
    { "epoch-handle", "a late look at a table that serves another epoch", { "O H", DIRECT }, { "J", "D C O1 H1" }, 3, 4 },
    { "epoch-handle", "close beside free", { "O H H", DIRECT }, { "D", "D1", "C" }, 2, 3 },
    { "epoch-handle", "close with a thread inside", { "O @0 E H", DIRECT }, { "H L D", "C", "D" }, 2, 3 },
    { "epoch-handle", "in a scope, beside close", { "O @0 E", MAGAZINES }, { "H D H L D1", "C" }, 3, 4 },
    { "epoch-handle", "in a scope, beside release", { "O @0 E H D", MAGAZINES }, { "H1 H D1 L", "R" }, 3, 4 },
    { "epoch-handle", "in two scopes", { "O @0 E H @1 E H", MAGAZINES }, { "D1 H L", "D H L", "C" }, 2, 2 },
    { "epoch-handle", "released by its policy, with handles", { "P @0 E H", MAGAZINES }, { "D H L", "C", "J" }, 2, 3 },
    { "epoch-handle", "advance with handles", { "O @0 E H", MAGAZINES }, { "V H D1 L", "C", "D" }, 2, 3 },
    { "epoch-handle", "a thread ends with a hold for handles", { "O @0 E H", MAGAZINES }, { "D x", "C" }, 3, 4 },
    { "epoch-handle", "entered once more, with handles", { "O @0 E E H", MAGAZINES }, { "L D H L D1", "C" }, 3, 4 },
    { "epoch-handle", "release beside allocation", { "O H", DIRECT }, { "R", "H" }, 3, 4 },
    { "epoch-handle", "release while it drains", { "O H C", DIRECT }, { "R", "J" }, 3, 4 },
    { "epoch-handle", "release while it drains, its serving record opened", { "O H A02 C D", DIRECT }, { "R", "O1 E1 a2 L1 f" }, 2, 3 },
    { "epoch-handle", "a stale handle, the record reopened", { "O H", DIRECT }, { "J D", "C D O H" }, 2, 3 },

    { "epoch-handle", "a stale handle, its place lent again", { "O H", DIRECT }, { "J J", "D H D1 H" }, 3, 4 },
    { "epoch-handle", "a stale handle, a chunk in its place", { "O H", DIRECT }, { "J J", "D C O1 E1 a2 a2 L1 f f C1" }, 3, 4 },
    { "epoch-handle", "two epochs take turns in a unit", { "O @0 H D C", DIRECT }, { "O H D1 C", "O1 H1 J H1" }, 2, 3 },

    /* Fork cuts the others anywhere. */
    { "epoch-fork", "in an enter", { "O", DIRECT }, { "k E a2 L C", "E a2 L f" }, 3, 4 },
    { "epoch-fork", "inside, then close", { "O @1 E a2", DIRECT }, { "k C f", "M2 U L f" }, 4, 5 },
    { "epoch-fork", "in the writes of a chunk", { "O @1 E a2", DIRECT }, { "k E a2 L C", "M1 M1 U U M1" }, 3, 4 },
    { "epoch-fork", "in frees of a full chunk", { "O @1 E a2 a2 a2>2 a2>2 a2>2", DIRECT }, { "k E a2 L C f", "U U L", "f f f" }, 3, 4 },
    { "epoch-fork", "of the holder of a full chunk", { "O @0 E a2 a2 a2>1 a2>1 a2", DIRECT }, { "k f f L C f", "f f" }, 3, 4 },
    { "epoch-fork", "in remote frees", { "O @1 E a2>2 a2>2 a1", DIRECT }, { "k C", "f L", "f f" }, 3, 4 },
    { "epoch-fork", "in frees of a closed chunk", { "O @1 E a2>1 a2>2 L C", DIRECT }, { "k O1 C1", "f", "f" }, 3, 4 },
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
    { "epoch-fork", "inside, with handles", { "O @1 E H", MAGAZINES }, { "k E H L C", "D H L" }, 2, 3 },
    { "epoch-fork", "a close waits for one who is inside, with handles", { "N @1 E H D", MAGAZINES }, { "C k", "L" }, 2, 3 },
    { "epoch-fork", "inside twice", { "O O1 @1 E E1 E a2", DIRECT }, { "k E a1 L C C1", "L L1 L f" }, 2, 3 },
    { "epoch-fork", "in a hold of an earlier life", { "O @0 E @1 E L @0 L C O @1 E", DIRECT }, { "k E L C", "L E L" }, 2, 3 },
    { "epoch-fork", "in the first handle", { "O", DIRECT }, { "k H C", "H D", "H" }, 2, 3 },
    { "epoch-fork", "what a borrowed record keeps warm", { "@1 x O C", DIRECT }, { "k O E a2 L x O1 C1", "a1" }, 2, 3 },
    { "epoch-fork", "the parent goes on", { "O @0 E a2 @1 E a2", DIRECT }, { "K f L C", "f L", "E L" }, 2, 2 },

    /* Large objects: up to three units stay hot with who freed them, longer ones go to the depot. */
    { "large", "take beside put", { "B3>1", DIRECT }, { "B3 f", "f B3 f" }, 4, 6 },
    { "large", "hot ones", { "B2>0 B2>1 B1002>0", DIRECT }, { "f f B2 f t", "f B2 f" }, 2, 4 },
    { "large", "grow beside the neighbour's free", { "B3>0 B3>1", DIRECT }, { "Z4 f", "f B3 f" }, 3, 5 },
    { "large", "grow beside a take of what lies behind", { "B3>0 n3 b", DIRECT }, { "Z5 f", "B3 f", "n2 b" }, 2, 3 },
    { "large", "grow at the top beside takes", { "B3>0", DIRECT }, { "Z5 f", "B3 f", "a3 f e" }, 2, 3 },
    { "large", "shrink beside grow and take", { "B3>1 B5>0", DIRECT }, { "Z3 f", "Z5 f", "n2 b" }, 2, 3 },
    { "large", "two grow, one moves", { "B3>0 B3>1 B3>2", DIRECT }, { "Z6 f", "f", "Z5 f" }, 2, 3 },
    { "large", "aligned runs beside purge", { "n5 b", DIRECT }, { "B4003 f", "B2003 f", "r" }, 2, 3 },
    { "large", "takes and puts purge", { "B3>0 B3>1", PURGES }, { "f B4 f", "f n2 b" }, 3, 5 },
    { "large", "shrink and grow beside purge", { "B5>0", PURGES }, { "Z3 Z5 f", "r", "n2 b" }, 2, 3 },
    { "large", "a hot run serves a shorter block", { "B3>0 B2>1", DIRECT }, { "f B2 f t", "f B3 f" }, 2, 4 },
    { "large", "hot runs make room", { "B2>0 B3>0 B2>0 B2>1", DIRECT }, { "f f f B3 f", "f B2 f" }, 2, 3 },
    { "large", "trim takes the hot runs", { "B2>0 B3>1", DIRECT }, { "f t", "f t", "B2 f" }, 2, 3 },
    { "large", "exit with hot runs", { "B2>0 B2>0 B2>1", DIRECT }, { "f x f", "B4 f", "f" }, 2, 3 },
    { "large", "small ones grow large", { "a4>0 a2>1", DIRECT }, { "Z3 f", "Z4 f", "a4 f e" }, 2, 3 },

    /* Nothing is left but what somebody purges just now. */
    { "tight", "small, beside purge", { "n3 b", TIGHT(4) }, { "a4 f e", "r" }, 3, 6 },
    { "tight", "small, beside two who purge", { "n3 b", TIGHT(4) }, { "a4 f e", "r", "r" }, 2, 4 },
    { "tight", "large, beside purge", { "n3 b", TIGHT(4) }, { "B3 f", "r" }, 4, 6 },
    { "tight", "a chunk, beside purge", { "O n3 b", TIGHT(4) }, { "E a2 L f C", "r" }, 3, 4 },
    { "tight", "a run of an epoch, beside purge", { "O n3 b", TIGHT(4) }, { "E B2 L f C", "r" }, 3, 4 },
    { "tight", "a run of an epoch, beside two who purge", { "O n3 b", TIGHT(4) }, { "E B2 L f C", "r", "r" }, 2, 3 },
    { "tight", "dirty and clean neighbours", { "O @0 n1 @1 n2 b r", TIGHT(4) }, { "b E B3 L f C", "r" }, 3, 4 },


    /* Epochs whose objects end, and may not be touched. */
    { "trap", "leave beside close", { "T @0 E a2", DIRECT }, { "a1 L", "C" }, 4, 6 },
    { "trap", "two inside, one closes", { "T @0 E a2 @1 E B3", DIRECT }, { "L", "L", "C" }, 2, 3 },
    { "trap", "release beside enter", { "T @0 E a2 a3 L", DIRECT }, { "R", "E a1 L" }, 3, 4 },
    { "trap", "two epochs at once, and reuse", { "T T1 @0 E a2 L @1 E1 a3 a2 L1", DIRECT }, { "C O2 E2 a2 L2 f", "C1 a4 f e" }, 2, 3 },
    { "trap", "more than the ring holds", { "T T1 @0 E a2 a3 B3 L @1 E1 a3 a2 L1", DIRECT }, { "C n1 b", "C1 n2 b" }, 1, 3 },
    { "trap", "slabs, with magazines", { "T @0 S2 E a2", MAGAZINES }, { "a2 L", "C", "E L" }, 2, 3 },
    { "trap", "handles", { "T H", DIRECT }, { "C", "J", "J" }, 2, 4 },
    { "trap", "statistics beside close", { "T @0 E a2 a3 L", DIRECT }, { "y", "C", "i" }, 1, 3 },
    { "trap", "purge beside close", { "T @0 E a2 B3 L", PURGES }, { "C", "n2 b r" }, 2, 4 },
    { "trap", "nothing else is left", { "T @0 E a2 L", TIGHT(3) }, { "C O1 E1 a2 L1 f C1", "r" }, 3, 4 },

    /* Survivors are told, exactly. */
    { "report", "frees beside close", { "N @0 E a2>1 a2>2 a1>1 L", DIRECT }, { "c", "f f", "f" }, 2, 3 },
    { "report", "the last leave tells", { "N @0 E a2", DIRECT }, { "a1 L f f", "c", "E L" }, 2, 3 },
    { "report", "runs and a closed chunk", { "N @0 E a2>1 a2>2 a2>1 a2>2 a3>1 B2>2 L", DIRECT }, { "c", "f f", "f f" }, 2, 3 },
    { "report", "a run goes while it counts", { "N @0 E B2 B2>1 B2 L", DIRECT }, { "c", "f" }, 2, 4 },
    { "report", "slabs", { "N S2>1 S2>2 S3>1", DIRECT }, { "c", "f f", "f" }, 2, 3 },
    { "report", "slabs, with magazines", { "N @0 S2>1 E a2 a2", MAGAZINES }, { "f L", "f", "c" }, 2, 3 },
    { "report", "handles", { "N H H", DIRECT }, { "c", "D", "D1" }, 2, 3 },
    { "report", "statistics beside close", { "N @0 E a2 L", DIRECT }, { "c", "i", "f" }, 2, 3 },
    { "report", "two close", { "N @0 E a2>2 L", DIRECT }, { "c", "c", "f" }, 2, 3 },
    { "report", "release while it drains", { "N @0 E a2 a3 L C", DIRECT }, { "d", "c", "y" }, 2, 3 },

    /* Empty memory goes back to the system before the call returns. */
    { "reclaim", "close", { "O @0 E a2 a3 f f L", DIRECT }, { "c", "n2 b" }, 4, 5 },
    { "reclaim", "close beside a free", { "O @0 E a2 a3>1 L", DIRECT }, { "c f", "f", "r" }, 2, 3 },
    { "reclaim", "the last leave reclaims", { "O @0 E a2 f", DIRECT }, { "L", "c", "n1 b" }, 3, 4 },
    { "reclaim", "release beside release", { "P @0 E a2 a3 L O1 @1 E1 a3 L1", DIRECT }, { "d", "d1", "t" }, 1, 3 },
    { "reclaim", "trim beside close", { "O @0 E a2 f L O1 C1", DIRECT }, { "c", "a3 f t", "t" }, 2, 3 },
    { "reclaim", "trim beside allocation", { TWO_OF_3, DIRECT }, { "f t", "f a2 f t" }, 2, 4 },
    { "reclaim", "warm epochs beside trim", { "O @0 E a2 f L", DIRECT }, { "C t", "O1 E1 a2 L1 f C1 t" }, 2, 4 },

    /* A sweep for holes, on the way, by whoever comes. */
    { "sweep", "beside givers", { "a1>0 a1>1 a1>0 a1>1 e", DIRECT }, { "ff", "ff", "o a4 f e" }, 2, 3 },
    { "sweep", "two sweep, beside a heap that attaches", { "a2>0 a2>1 e", DIRECT }, { "o a4 F e", "f a3 f e", "a2 e" }, 2, 3 },
    { "sweep", "a sweep beside a trim", { "a2>0 a2>1 a1>0 a1>1 e", DIRECT }, { "o f a3 F e", "f t" }, 2, 4 },
    { "sweep", "with large ones", { "a2>0 a2>1 a2>0 e", DIRECT }, { "o a4 F a4 F", "f B3 f", "h" }, 2, 3 },

    /* Instances. */
    { "instance", "close beside enter", { "I X10 @0 E1 a2 L1", DIRECT }, { "Q", "E1 L1" }, 3, 4 },
    { "instance", "close beside allocation in its root", { "I", DIRECT }, { "Q", "A02", "A03" }, 2, 3 },
    { "instance", "two close", { "I X10 @0 E1 a2 L1 A02", DIRECT }, { "Q", "Q" }, 2, 3 },
    { "instance", "close beside opening in it", { "I X10", DIRECT }, { "Q", "X20 E2 a2 L2 C2" }, 2, 4 },
    { "instance", "close beside close of a member", { "I X10 @0 E1 a2 L1", DIRECT }, { "Q", "C1 I2" }, 3, 4 },
    { "instance", "close beside a leave", { "I X10 X20 @1 E1 a2", DIRECT }, { "Q", "L1", "C2" }, 2, 3 },
    { "instance", "close, and the root's next life", { "I X10 A02", DIRECT }, { "Q", "Q O2 E2 a2 L2 f C2" }, 2, 3 },
    { "instance", "close, and another thread takes a warm record that was in it", { "I @1 X40 C4 @0 X10 X20 X30", DIRECT }, { "Q", "O4 C4" }, 2, 3 },
    { "instance", "handles in it", { "I H", DIRECT }, { "Q", "H J", "J" }, 2, 3 },
    { "instance", "statistics beside close", { "I X10 @0 E1 a2 L1", DIRECT }, { "Q", "i" }, 2, 3 },

    /* Units of work. */
    { "work", "an epoch each", { "", WORK(PER_UNIT) }, { "W a2 Y f", "W a2 Y f" }, 2, 4 },
    { "work", "two units share one, frees by another", { "", WORK(BATCH_2) }, { "W a2 s Y W a2 Y f", "w f W Y" }, 3, 4 },
    { "work", "rotation beside units", { "", WORK(WORK_MANUAL) }, { "W a2 Y W a2 Y f f", "!", "W Y" }, 2, 3 },
    { "work", "two rotate", { "@0 W a2 Y", WORK(WORK_MANUAL) }, { "W W a1 Y Y f", "! W a2 Y", "!" }, 2, 3 },
    { "work", "the thread ends in one", { "", WORK(PER_UNIT) }, { "W a2 x f", "W a2 Y f" }, 2, 4 },
    { "work", "the thread ends between two", { "@0 W a2 Y", WORK(BATCH_2) }, { "x f a2", "W Y W Y", "i" }, 2, 3 },
    { "work", "with epochs in them", { "O", WORK(PER_UNIT) }, { "W E a2 L Y f", "C" }, 3, 4 },
    { "work", "pause", { "", WORK(PER_UNIT) }, { "W a2 ( a2 ) Y ff", "W ( Y ) a2 f" }, 2, 4 },

    /* Statistics while all goes on. */
    { "stats", "beside close and leave", { "O @1 E a2", DIRECT }, { "i", "L f", "C" }, 2, 3 },
    { "stats", "beside a record's next life", { "O", DIRECT }, { "i", "C O1 E1 a2 L1 f C1" }, 3, 3 },
    { "stats", "beside allocation, frees and exits", { FOUR_OF_2, MAGAZINES }, { "i", "f a3 F x", "f f" }, 2, 3 },
    { "stats", "beside advance", { "O @1 E a2", DIRECT }, { "i", "V a2 L f f" }, 2, 4 },
    { "stats", "beside two who advance", { "O @1 E a2 @2 E", DIRECT }, { "i", "V L f", "V L" }, 1, 3 },
    { "stats", "beside large ones", { "B2>1 B3>2", DIRECT }, { "i", "f B2 f", "f t" }, 2, 3 },
    { "stats", "beside handles", { "O H", DIRECT }, { "i", "H C", "D" }, 2, 3 },
    { "stats", "two at once", { "O @2 E a2", DIRECT }, { "i", "i", "L C f" }, 1, 3 },

    /* Fork cuts all of that. */
    { "fork-large", "in frees of hot ones", { "B2>1 B1002>1 B2>1", DIRECT }, { "k B2 f", "f f f B2" }, 4, 5 },
    { "fork-large", "in allocation of hot ones", { "B2>1 @1 f", DIRECT }, { "k B2 f", "B2 f B2" }, 4, 5 },
    { "fork-large", "in a resize", { "B3>0 B3>1", DIRECT }, { "k f B3", "Z5 Z3 f" }, 3, 4 },
    { "fork-large", "in a move", { "B3>1 B3>0", DIRECT }, { "k f B3", "Z5 f", "B3" }, 2, 3 },
    { "fork-large", "in a resize in a chunk", { "O @1 E a2 a1", DIRECT }, { "k F f C", "Z0 L" }, 3, 4 },
    { "fork-large", "in a purge", { "n3 b", PURGES }, { "k n3 b", "n2 b r", "r" }, 2, 3 },
    { "fork-large", "in a sweep", { "a2>1 a2>2 e", DIRECT }, { "k f a2 e h", "o a4 f", "f t" }, 2, 3 },
    { "fork-large", "the parent goes on", { "B2>0 B2>1", DIRECT }, { "K f B2", "f B2 f", "B4 f" }, 2, 3 },
    { "fork-policy", "in a close that traps", { "T @1 E a2", DIRECT }, { "k O1 E1 a2 L1 f C1", "L", "C" }, 2, 3 },
    { "fork-policy", "in a close that tells", { "N @1 E a2 a3>0", DIRECT }, { "k f c", "L f", "c" }, 2, 3 },
    { "fork-policy", "in a close that reclaims", { "O @1 E a2>0 L", DIRECT }, { "k f c", "c", "t" }, 2, 3 },
    { "fork-policy", "in a leave that reclaims", { "O @1 E a2 @2 c", DIRECT }, { "k O1 C1 t", "L f" }, 3, 4 },
    { "fork-policy", "in the close of an instance", { "I X10 @1 E1 a2 L1", DIRECT }, { "k Q", "Q" }, 3, 4 },
    { "fork-policy", "in an opening in an instance", { "I X10", DIRECT }, { "k Q I", "X20 E2 a2 L2", "Q" }, 2, 3 },
    { "fork-policy", "in units of work", { "@1 W a2", WORK(PER_UNIT) }, { "k W a2 Y f", "Y W a2 Y f" }, 2, 4 },
    { "fork-policy", "in units of work, and a rotation", { "@1 W a2 @0 W a2", WORK(WORK_MANUAL) }, { "k Y W a2 Y f", "Y W a2 Y f", "!" }, 2, 3 },
    { "fork-policy", "in units of work, which share one", { "@1 W a2 Y", WORK(BATCH_2) }, { "k W a2 Y f x", "W a2 Y f x" }, 3, 4 },
    { "fork-policy", "in statistics", { "O @1 E a2", DIRECT }, { "k i f C", "i L", "C" }, 2, 3 },
    { "fork-policy", "the parent goes on", { "T N1 @1 E a2 L", WORK(PER_UNIT) }, { "K c1 W a2 Y f", "C", "W a2 Y f" }, 1, 3 },
};
/* clang-format on */

const unsigned scenario_count = sizeof scenarios / sizeof *scenarios;
