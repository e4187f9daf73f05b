/* Mailboxes: the way of slots from the thread that frees them straight to the heap that their slab is home to
 * (docs/decisions/remote-frees.md).
 *
 * The mail stays with its writer until its home comes for it. A mailbox has the slots of one class on their way from
 * one heap to one home, in a few letters. The writer fills a letter without a lock. The count that makes the letter
 * full posts it. The home looks at its flag when a magazine is empty, and takes what is posted. While all letters are
 * posted and not taken, a slot goes straight to its slab.
 *
 * Heaps have numbers here: their affinities, which tags name. A mailbox is made once for a pair of heaps and a class,
 * and is never unmapped; like records of threads, it serves whoever has the record.
 *
 * Invariants: the slots of a letter are in no bitmap and no other place. A letter has one owner at a time: the writer
 * while it is not full, and then whoever claims it by compare-and-swap, the home or the writer.
 *
 * Orders: the count of the last slot posts a letter by release, and the claim acquires. Who emptied a letter stores 0
 * by release, and the writer acquires that. A letter that a fork cuts holds what it counts.
 *
 * Threads: the holder of the heap whose number comes first. */
#ifndef TSLAB_THREAD_MAILBOX_H
#define TSLAB_THREAD_MAILBOX_H

#include "space/arena.h"
#include "thread/gate.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Heaps with higher numbers have no mail. A writer has a table of its mailboxes; where two fall on one place, the first
 * is served. */
enum { MAILBOX_HOMES = TSLAB_SIM ? 16 : 1024, MAILBOX_OUTGOING = TSLAB_SIM ? 4 : 64 };

/* All letters of a mailbox together are as long as the longest tray. */
enum { LETTER_SLOTS = TSLAB_SIM ? 2 : 64, LETTERS = TRAY_MOST / LETTER_SLOTS, LETTER_TAKEN = LETTER_SLOTS + 1 };
_Static_assert(LETTERS >= 2, "the writer goes on while a letter is posted");

struct letter {
    _Alignas(CACHE_LINE) atomic_u32 count; /* slots; LETTER_SLOTS: posted; LETTER_TAKEN: somebody empties it */
    void *slots[LETTER_SLOTS];
};

struct mailbox {
    struct mailbox *next; /* in the list of those for the same home */
    uint32_t tag;         /* of the slots: their class, and their home */
    uint32_t filling;     /* the number of the letter that the writer fills; private to it */
    struct letter letters[LETTERS];
};

struct home {
    _Alignas(CACHE_LINE) _Atomic(struct mailbox *) incoming; /* the list of mailboxes for this home */
    atomic_u8 has_mail[CLASS_LIMIT];
    _Atomic(struct mailbox *) outgoing[MAILBOX_OUTGOING]; /* the mailboxes of this heap as a writer, by tag */
};

extern struct home mailbox_homes[MAILBOX_HOMES];

/* NULL: that heap has neither mail nor mailboxes. */
static inline struct home *mailbox_home(uint32_t affinity)
{
    return affinity - AFFINITY_FIRST_HEAP < MAILBOX_HOMES ? &mailbox_homes[affinity - AFFINITY_FIRST_HEAP] : NULL;
}

/* The letter with this number, below LETTERS * MAILBOX_OUTGOING, of a writer that may be NULL, and its count. NULL: it
 * is not of the class, or is empty, or somebody empties it. */
static inline struct letter *mailbox_letter(struct home *writer, unsigned number, unsigned class, uint32_t *count)
{
    struct mailbox *const box = writer == NULL ? NULL : load_acquire(&writer->outgoing[number / LETTERS]);
    struct letter *const letter = box == NULL || tag_class(box->tag) != class ? NULL : &box->letters[number % LETTERS];
    *count = letter == NULL ? 0 : load_plain(&letter->count);
    return *count == 0 || *count == LETTER_TAKEN ? NULL : letter;
}

/* Puts a slot with this tag into the writer's mailbox for the home that the tag names. False: there is no mailbox, or
 * no room in it. Enters the gate when a mailbox is made. */
bool mailbox_put(struct gate *gate, uint32_t writer, uint32_t tag, void *slot);

/* Whether there may be mail of a class. A hint: it may be wrong for a while, either way. */
bool mailbox_has_mail(uint32_t home, unsigned class);

/* Takes whole letters of a class, at most `room` slots, into the places. Returns how many. In the gate. */
unsigned mailbox_take(uint32_t home, unsigned class, void **places, unsigned room);

/* Gives the slots that wait in a writer's mailboxes of a class back to their slabs. Returns how many. In the gate. */
size_t mailbox_flush(uint32_t writer, unsigned class);

/* The slots that wait there. Any thread; what its holder does meanwhile may be counted or not. */
size_t mailbox_slots(uint32_t writer, unsigned class);

#endif
