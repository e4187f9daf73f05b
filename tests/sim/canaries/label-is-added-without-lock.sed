# common/quota.c: two threads that set limits do not wait for each other. Groups: label
s/lock_acquire(&label_limits_lock);/(void)\&label_limits_lock;/
/lock_release(&label_limits_lock);/d
