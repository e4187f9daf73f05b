/* Functions of libc that hand out memory for the caller to free, or that allocate inside. */
#include "check.h"

#include <dirent.h>
#include <fnmatch.h>
#include <glob.h>
#include <iconv.h>
#include <locale.h>
#include <netdb.h>
#include <pwd.h>
#include <regex.h>
#include <search.h>
#include <sys/socket.h>
#include <time.h>
#include <wchar.h>

static void test_strings(void)
{
    char *copy = strdup("a string");
    CHECK(strcmp(copy, "a string") == 0);
    copy = realloc(copy, 100000);
    CHECK(strcmp(copy, "a string") == 0);
    free(copy);
    copy = strndup("a string", 3);
    CHECK(strcmp(copy, "a s") == 0);
    free(copy);
    wchar_t *wide = wcsdup(L"wide");
    CHECK(wcscmp(wide, L"wide") == 0);
    free(wide);
    for (int width = 1; width < 300000; width = width * 3 + 1) {
        char *text = NULL;
        CHECK(asprintf(&text, "%*d", width, 7) == width);
        CHECK(text[width - 1] == '7' && strlen(text) == (size_t)width);
        free(text);
    }
}

static void test_streams(void)
{
    char *text = NULL;
    size_t size = 0;
    FILE *memory = open_memstream(&text, &size);
    for (int i = 0; i < 50000; i++)
        fprintf(memory, "line %d\n", i);
    CHECK(fclose(memory) == 0);
    CHECK(strncmp(text, "line 0\nline 1\n", 14) == 0 && text[size] == 0 && strlen(text) == size);

    memory = fmemopen(text, size, "r");
    char *line = NULL;
    size_t capacity = 0;
    for (int i = 0; i < 50000; i++) {
        CHECK(getline(&line, &capacity, memory) > 0);
        CHECK(atoi(line + 5) == i);
    }
    rewind(memory);
    CHECK(getdelim(&line, &capacity, EOF, memory) == (ssize_t)size);
    CHECK(memcmp(line, text, size) == 0);
    free(line);
    fclose(memory);
    free(text);

    wchar_t *wide = NULL;
    memory = open_wmemstream(&wide, &size);
    fwprintf(memory, L"%ls %d", L"wide", 42);
    fclose(memory);
    CHECK(wcscmp(wide, L"wide 42") == 0);
    free(wide);

    FILE *files[100];
    for (size_t i = 0; i < COUNT_OF(files); i++) {
        files[i] = tmpfile();
        CHECK(files[i] != NULL);
        setvbuf(files[i], NULL, _IOFBF, i * 500);
        fprintf(files[i], "%zu", i);
    }
    for (size_t i = 0; i < COUNT_OF(files); i++) {
        size_t value = 0;
        rewind(files[i]);
        CHECK(fscanf(files[i], "%zu", &value) == 1 && value == i);
        fclose(files[i]);
    }
    char *word = NULL;
    CHECK(sscanf("allocated 1", "%ms", &word) == 1);
    CHECK(strcmp(word, "allocated") == 0);
    free(word);
}

static int by_value(const void *one, const void *other)
{
    int a = *(const int *)one, b = *(const int *)other;
    return (a > b) - (a < b);
}

/* The comparison allocates, as qsort does itself: both must get along. */
static int by_text(const void *one, const void *other)
{
    char *a = NULL, *b = NULL;
    CHECK(asprintf(&a, "%08d", *(const int *)one) == 8);
    CHECK(asprintf(&b, "%08d", *(const int *)other) == 8);
    int order = strcmp(a, b);
    free(a);
    free(b);
    return order;
}

static void test_sorting(void)
{
    enum { many = 200000, few = 5000 };
    int *values = malloc(many * sizeof *values);
    uint64_t random = 7;
    for (int i = 0; i < many; i++)
        values[i] = (int)(random_next(&random) % 10000000);
    qsort(values, few, sizeof *values, by_text);
    for (int i = 1; i < few; i++)
        CHECK(values[i - 1] <= values[i]);
    qsort(values, many, sizeof *values, by_value);
    for (int i = 1; i < many; i++)
        CHECK(values[i - 1] <= values[i]);
    free(values);
}

static void test_trees(void)
{
    void *root = NULL;
    for (int i = 0; i < 20000; i++) {
        int *value = malloc(sizeof *value);
        *value = i * 7919 % 20011;
        CHECK(**(int **)tsearch(value, &root, by_value) == *value);
    }
    tdestroy(root, free);
    CHECK(hcreate(1000) != 0);
    CHECK(hsearch((ENTRY){ (char *)"key", (void *)"value" }, ENTER) != NULL);
    hdestroy();
}

static void test_files_and_names(void)
{
    char *here = getcwd(NULL, 0);
    CHECK(here != NULL && here[0] == '/');
    free(here);
    char *root = realpath("/proc/../proc/./self/..", NULL);
    CHECK(strcmp(root, "/proc") == 0);
    free(root);
    struct dirent **entries = NULL;
    int found = scandir("/etc", &entries, NULL, alphasort);
    CHECK(found > 2);
    for (int i = 0; i < found; i++)
        free(entries[i]);
    free(entries);
    glob_t matches;
    CHECK(glob("/etc/*", 0, NULL, &matches) == 0 && matches.gl_pathc > 2);
    globfree(&matches);
    CHECK(fnmatch("*.[ch]", "check.h", 0) == 0);
    DIR *directory = opendir("/");
    CHECK(readdir(directory) != NULL);
    closedir(directory);
    CHECK(getpwuid(0) != NULL);
}

static void test_the_rest(void)
{
    regex_t expression;
    CHECK(regcomp(&expression, "^(a|b)*([0-9]{2,5})x+$", REG_EXTENDED) == 0);
    CHECK(regexec(&expression, "ababab1234xxx", 0, NULL, 0) == 0);
    CHECK(regexec(&expression, "ababab1xxx", 0, NULL, 0) != 0);
    regfree(&expression);

    char name[32], text[32];
    for (int i = 0; i < 2000; i++) {
        snprintf(name, sizeof name, "VARIABLE_%d", i % 300);
        snprintf(text, sizeof text, "%d", i);
        CHECK(setenv(name, text, 1) == 0);
    }
    CHECK(strcmp(getenv("VARIABLE_17"), "1817") == 0);

    struct addrinfo *addresses = NULL, hints = { .ai_flags = AI_NUMERICHOST, .ai_socktype = SOCK_STREAM };
    CHECK(getaddrinfo("127.0.0.1", NULL, &hints, &addresses) == 0);
    freeaddrinfo(addresses);

    CHECK(setlocale(LC_ALL, "C.UTF-8") != NULL || setlocale(LC_ALL, "C") != NULL);
    locale_t place = newlocale(LC_ALL_MASK, "C", NULL);
    freelocale(place);
    iconv_t conversion = iconv_open("UTF-16LE", "UTF-8");
    CHECK(conversion != (iconv_t)-1);
    char *from = (char *)"abc", to[16], *out = to;
    size_t from_left = 3, to_left = sizeof to;
    CHECK(iconv(conversion, &from, &from_left, &out, &to_left) == 0 && to_left == sizeof to - 6);
    iconv_close(conversion);
    CHECK(setenv("TZ", "Europe/Berlin", 1) == 0);
    tzset();
}

int main(void)
{
    test_strings();
    test_streams();
    test_sorting();
    test_trees();
    test_files_and_names();
    test_the_rest();
    return 0;
}
