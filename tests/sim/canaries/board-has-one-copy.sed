# report/live_view.c: all postings go into one copy.
s/copies + board.number % BOARD_COPIES \* copy_bytes()/copies/
