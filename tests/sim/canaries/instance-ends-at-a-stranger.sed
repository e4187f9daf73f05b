# epoch/ending.c: the close of an instance ends at the first record in use that is none of its own. Groups: instance
/^int instance_close/,/^}/s/^            continue;/            break;/
