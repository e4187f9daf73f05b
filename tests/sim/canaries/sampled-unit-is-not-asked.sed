# malloc/object.c: the free of a sampled slot does not end its record. Groups: sample
s/if (unlikely(is_in_sampled_unit(p)))/if (false \&\& is_in_sampled_unit(p))/
