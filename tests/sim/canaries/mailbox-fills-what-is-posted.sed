# thread/mailbox.c: the writer takes a letter that somebody empties for an empty one.
s/^        if (count >= LETTER_SLOTS) {$/        count = count == LETTER_TAKEN ? 0 : count;\n&/
