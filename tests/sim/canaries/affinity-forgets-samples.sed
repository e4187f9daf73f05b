# slab/slab.c: a slab that gets another home is taken to have no sampled objects. Groups: sample
s/if (likely(!samples_were_on()))/if (true)/
