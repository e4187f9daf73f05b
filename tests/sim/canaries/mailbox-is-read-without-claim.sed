# thread/mailbox.c: the home reads what is posted without a claim, and the writer may flush it.
s/^            if (claim(letter)) {$/            if (load_acquire(\&letter->count) == LETTER_SLOTS) {/
