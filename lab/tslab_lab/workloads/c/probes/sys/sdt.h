// In place of SystemTap's header: each probe calls the program that is measured, where it wants to know.

#ifndef PROBES_SDT_H
#define PROBES_SDT_H

#include "../../causes.h"

#define LAB_PROBE(name, first)                  (lab_probe != 0 ? lab_probe(PROBED_##name, first) : (void)0)
#define STAP_PROBE1(provider, name, a)          LAB_PROBE(name, a)
#define STAP_PROBE2(provider, name, a, b)       ((void)(b), LAB_PROBE(name, a))
#define STAP_PROBE3(provider, name, a, b, c)    ((void)(b), (void)(c), LAB_PROBE(name, a))
#define STAP_PROBE4(provider, name, a, b, c, d) ((void)(b), (void)(c), (void)(d), LAB_PROBE(name, a))

#endif
