# common/quota.c: the count of labels does not release them. Groups: label
s/store_release(&label_quotas.count, count + 1)/store_relaxed(\&label_quotas.count, count + 1)/
