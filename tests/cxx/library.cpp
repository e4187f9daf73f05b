#include "cxx.hpp"

const bool on_dropin = ON_DROPIN != 0;
