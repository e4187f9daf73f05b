# thread/mailbox.c: the writer flushes what is posted without a claim, and the home may read it.
s/(count < LETTER_SLOTS || claim(letter))/count <= LETTER_SLOTS/
