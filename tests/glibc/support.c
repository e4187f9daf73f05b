/* The directory of glibc's build, as that build tells its support library. Our tests need nothing of it. */
const char support_objdir_root[] = "";
