/* What glibc's build tells its support library: the directory of that build, of which our tests need nothing. */
const char support_objdir_root[] = "";
