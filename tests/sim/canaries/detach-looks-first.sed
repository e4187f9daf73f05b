# slab/partial_list.c: a detach looks at the bits before it says FULL: a give in between sees ATTACHED, and nobody looks. Groups: slab
/^    (void)swap_seq_cst(&slab->word, word);/i\
    const bool any = slab_has_any(slab, &class_geometry[word_class(word)]);
s/^    partial_evaluate_locked(partial, slab, word, &after);/    if (any)\n    &/
