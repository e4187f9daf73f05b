/* Whom the engine tells, filled in by what is above it. */
#include "common/trace.h"

#include <unistd.h>

struct trace trace = { .keeps = STDERR_FILENO };
