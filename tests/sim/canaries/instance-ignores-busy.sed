# epoch/ending.c: an instance is closed although an epoch in it could not be. Groups: instance
/^int instance_close/,/^}/s/^        if (status == TSLAB_BUSY || /        if (/
