# api/epoch.c: an instance is closed although an epoch in it could not be.
/^static enum tslab_status instance_close/,/^}/s/^        if (status == TSLAB_BUSY || /        if (/
