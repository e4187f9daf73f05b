# common/quota.c: a label is counted before it is there. Groups: label
/memcpy(label_quotas.labels\[count\].label, label.start, label.length);/d
s/^            store_release(&label_quotas.count, count + 1);$/&\n            (void)load_acquire(\&label_quotas.count);\n            memcpy(label_quotas.labels[count].label, label.start, label.length);/
