# api/epoch.c: an instance is closed although an epoch in it could not be.
/^TSLAB_API int tslab_instance_close/,/^}/s/^        if (status == TSLAB_BUSY || /        if (/
