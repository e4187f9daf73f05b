/* The front end of libFuzzer: it makes files of operations and follows what they reach in the library. All cases run in
 * one process, each of which leaves nothing behind. */
#include "world.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    world_run(bytes, size);
    return 0;
}
