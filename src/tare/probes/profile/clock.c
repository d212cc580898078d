/* The clock of the profile, and the functions behind its own. */
#define _GNU_SOURCE
#include "profile.h"
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

int profile_has_tsc;
double profile_tick_s = 1e-9;

static uint64_t first_tick, first_ns;

static uint64_t monotonic_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* Use the processor's time-stamp counter if the kernel uses it too: then it is constant and the same on all cores. */
void clock_start(void)
{
#if defined(__x86_64__)
    char source[16] = "";
    FILE *file = fopen("/sys/devices/system/clocksource/clocksource0/current_clocksource", "r");
    if (file) {
        profile_has_tsc = fgets(source, sizeof source, file) && strcmp(source, "tsc\n") == 0;
        fclose(file);
    }
#endif
    first_ns = monotonic_ns();
    first_tick = ticks();
}

/* Measure how long a tick is, from the time since clock_start. */
void clock_settle(void)
{
    if (!profile_has_tsc)
        return;
    uint64_t ns;
    while ((ns = monotonic_ns()) < first_ns + 10000000u) /* 10 ms: an error below 10 ppm */
        ;
    profile_tick_s = (double)(ns - first_ns) / (double)(ticks() - first_tick) * 1e-9;
}

/* Return the function `name` of the libraries behind this one. Ends the process if there is none. */
void *real_function(const char *name)
{
    static const char *const libraries[] = {"libmpi.so.40", "libmpi.so.12", "libmpi.so", "libmpi_abi.so.0"};
    void *found = dlsym(RTLD_NEXT, name);
    for (size_t i = 0; !found && i < sizeof libraries / sizeof *libraries; i++) {
        /* A program may have loaded its MPI for itself alone, as Python does. */
        void *library = dlopen(libraries[i], RTLD_LAZY | RTLD_NOLOAD);
        if (library) {
            found = dlsym(library, name);
            dlclose(library);
        }
    }
    if (!found) {
        fprintf(stderr, "tare profile: no library has %s\n", name);
        abort();
    }
    return found;
}
