/* A library that the program of this folder opens: it allocates in its constructor and frees in its destructor. */
#include <stdlib.h>
#include <string.h>

char *plugin_copy(const char *text);

static char *volatile kept;

__attribute__((constructor)) static void begin(void)
{
    kept = strdup("kept by the plugin");
}

__attribute__((destructor)) static void end(void)
{
    free(kept);
    kept = NULL;
}

char *plugin_copy(const char *text)
{
    return strdup(text);
}
