# epoch/ending.c: survivors are counted and ended while a purger of free pages holds their slabs and chunks. Groups: holes
s/^        holes_keep_out();/        (void)0;/
s/^        holes_let_in();/        (void)0;/
