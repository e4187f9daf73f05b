// The first steps of a user's program. With the argument "malloc" it also expects the library to be its malloc.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tslab/tslab.h>

static int fail(const char *what)
{
    fprintf(stderr, "%s\n", what);
    return 1;
}

int main(int argc, char **argv)
{
    char *object = tslab_malloc(100);
    if (object == NULL || tslab_usable_size(object) < 100) {
        return fail("tslab_malloc did not give 100 bytes");
    }
    memset(object, 1, 100);
    tslab_free(object);
    if (argc > 1 && strcmp(argv[1], "malloc") == 0) {
        // Only the tslab that serves malloc takes this object back. Any other would end the program.
        tslab_free(malloc(100));
        // libc was linked against its own malloc, of a certain version, and gets ours.
        tslab_free(strdup("a string of libc's"));
    }
    puts(tslab_version());
    return 0;
}
