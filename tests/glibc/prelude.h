/* Definitions of glibc's build for each file of its tests and of their support library, which the compiler's own
 * headers lack. The build includes this file first. */
#include <errno.h>
#include <limits.h>
#include <sys/cdefs.h>

#define __set_errno(value) (errno = (value))
#define attribute_hidden
#define libc_hidden_proto(name)
#define libc_hidden_def(name)
