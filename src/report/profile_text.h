/* The heap profile as text, in the form that docs/profiles.md describes.
 *
 * Threads: any, outside of all gates and locks. Nothing allocates. */
#ifndef TSLAB_REPORT_PROFILE_TEXT_H
#define TSLAB_REPORT_PROFILE_TEXT_H

/* Writes the profile to a descriptor. False: it could not write all of it. */
bool profile_print(int fd);

/* Writes it to the file that the option names, if allocations are sampled. number: which report of the program it is.
 */
void profile_save(uint32_t number);

#endif
