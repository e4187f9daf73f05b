// The one thing in which the programs on the two libraries differ.
extern const bool on_dropin;
const bool on_dropin = ON_DROPIN != 0;
