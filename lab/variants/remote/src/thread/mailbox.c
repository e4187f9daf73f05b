/* A letter is an array and a count. The count tells whose the letter is. */
#include "thread/mailbox.h"

#include "common/metadata.h"
#include "common/misuse.h"
#include "os/fatal.h"
#include "space/arena.h"
#include "thread/flush.h"

#include <errno.h>
#include <string.h>

struct home mailbox_homes[MAILBOX_HOMES];

static unsigned place_of(uint32_t tag)
{
    return ((tag >> AFFINITY_SHIFT) + tag_class(tag) * (MAILBOX_OUTGOING / 4 + 1)) % MAILBOX_OUTGOING;
}

/* Makes the mailbox for a tag, and links it into the list of its home. NULL: no memory. */
static noinline struct mailbox *make_mailbox(struct gate *gate, struct home *writer, struct home *home, uint32_t tag)
{
    const int saved = errno;
    gate_lock(gate);
    struct mailbox *const box = metadata_alloc(sizeof *box);
    invariant(load_plain(&writer->outgoing[place_of(tag)]) == NULL && tag_class(tag) != CLASS_NONE);
    if (box != NULL) {
        box->tag = tag;
        box->next = load_relaxed(&home->incoming);
        while (!cas_release(&home->incoming, &box->next, box)) {
        }
        store_release(&writer->outgoing[place_of(tag)], box);
    }
    gate_unlock(gate);
    errno = saved;
    return box;
}

/* The flag shares its line with others: it is written only where that changes it. */
static void raise_flag(struct home *home, unsigned class)
{
    if (load_relaxed(&home->has_mail[class]) == 0) {
        store_relaxed(&home->has_mail[class], 1);
    }
}

bool mailbox_put(struct gate *gate, uint32_t writer_affinity, uint32_t tag, void *slot)
{
    struct home *const writer = mailbox_home(writer_affinity), *const home = mailbox_home(tag >> AFFINITY_SHIFT);
    if (writer == NULL || home == NULL) {
        return false;
    }
    struct mailbox *box = load_plain(&writer->outgoing[place_of(tag)]);
    invariant(home != writer);
    if (unlikely(box == NULL) && (box = make_mailbox(gate, writer, home, tag)) == NULL) {
        return false;
    }
    if (unlikely(box->tag != tag)) {
        return false;
    }
    struct letter *letter = &box->letters[box->filling];
    /* Whoever emptied the letter is done with its places. */
    uint32_t count = load_acquire(&letter->count);
    if (unlikely(count >= LETTER_SLOTS)) {
        const uint32_t next = (box->filling + 1) % LETTERS;
        letter = &box->letters[next];
        count = load_acquire(&letter->count);
        if (count >= LETTER_SLOTS) {
            raise_flag(home, tag_class(tag));
            return false;
        }
        box->filling = next;
    }
    if (unlikely(count != 0 && letter->slots[count - 1] == slot)) {
        misuse("double free of", slot);
    }
    invariant(count < LETTER_SLOTS && slot_starts(slot, tag_class(tag)));
    letter->slots[count] = slot;
    store_release(&letter->count, count + 1);
    if (unlikely(count + 1 == LETTER_SLOTS)) {
        raise_flag(home, tag_class(tag));
    }
    return true;
}

bool mailbox_has_mail(uint32_t affinity, unsigned class)
{
    struct home *const home = mailbox_home(affinity);
    return home != NULL && load_relaxed(&home->has_mail[class]) != 0;
}

/* Claims a letter that is posted. False: it is not, or not any more. */
static bool claim(struct letter *letter)
{
    uint32_t posted = LETTER_SLOTS;
    return load_relaxed(&letter->count) == LETTER_SLOTS && cas_acquire(&letter->count, &posted, LETTER_TAKEN);
}

unsigned mailbox_take(uint32_t affinity, unsigned class, void **places, unsigned room)
{
    struct home *const home = mailbox_home(affinity);
    invariant(home != NULL && class_geometry[class].shares_lines);
    unsigned n = 0;
    store_relaxed(&home->has_mail[class], 0); /* what is posted from now on raises it again */
    for (struct mailbox *box = load_acquire(&home->incoming); box != NULL; box = box->next) {
        invariant(box->tag >> AFFINITY_SHIFT == affinity);
        for (unsigned i = 0; tag_class(box->tag) == class && i != LETTERS; i++) {
            struct letter *const letter = &box->letters[i];
            if (room - n < LETTER_SLOTS) {
                raise_flag(home, class); /* look again */
                return n;
            }
            if (claim(letter)) {
                invariant(letter->slots[LETTER_SLOTS - 1] != NULL);
                memcpy(places + n, letter->slots, sizeof letter->slots);
                store_release(&letter->count, 0);
                n += LETTER_SLOTS;
            }
        }
    }
    invariant(n <= room);
    return n;
}

size_t mailbox_flush(uint32_t affinity, unsigned class)
{
    struct home *const writer = mailbox_home(affinity);
    size_t sum = 0;
    for (unsigned i = 0; i != LETTERS * MAILBOX_OUTGOING && class_geometry[class].shares_lines; i++) {
        uint32_t count;
        struct letter *const letter = mailbox_letter(writer, i, class, &count);
        if (letter != NULL && (count < LETTER_SLOTS || claim(letter))) {
            invariant(letter->slots[count - 1] != NULL);
            flush_slots(class, letter->slots, count);
            store_relaxed(&letter->count, 0);
            sum += count;
        }
    }
    return sum;
}

size_t mailbox_slots(uint32_t affinity, unsigned class)
{
    size_t sum = 0;
    for (unsigned i = 0; i != LETTERS * MAILBOX_OUTGOING && class_geometry[class].shares_lines; i++) {
        uint32_t count;
        sum += mailbox_letter(mailbox_home(affinity), i, class, &count) != NULL ? count : 0;
    }
    return sum;
}
