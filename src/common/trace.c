/* Whom the engine tells, filled in by what is above it. */
#include "common/trace.h"

struct trace trace;
