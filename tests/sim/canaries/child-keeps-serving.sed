# malloc/fork.c: in the child of a fork a hold of a vanished thread still names one of the epoch that serves handles.
/^static void recover_hold(/,/^}/s/^        hold->serving = NULL;.*//
