/* The front end of libFuzzer: it makes files of operations and follows what they reach in the library. All cases run in
 * one process, each of which leaves nothing behind. At its end it says how many operations that were. */
#include "failure.h"
#include "operation.h"
#include "world.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

static size_t done;
static pid_t self;

static void say_done(void)
{
    if (getpid() == self) {
        printf("%zu operations, all well\n", done);
        fflush(stdout);
    }
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    self = getpid();
    /* Forked children tell by it what they have come to. */
    progress = mmap(NULL, sizeof *progress, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    CHECK(progress != MAP_FAILED);
    return atexit(say_done);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    world_run(bytes, size);
    done += size / RECORD_BYTES;
    return 0;
}
