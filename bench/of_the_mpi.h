/* Find functions of the MPI's own library, past what was loaded before it. */
#include <dlfcn.h>
#include <mpi.h>
#include <stdio.h>

static void *of_the_mpi(const char *name)
{
    Dl_info info;
    void *library = NULL, *found = NULL;
    if (dladdr(dlsym(RTLD_DEFAULT, "MPI_Get_library_version"), &info)) /* the profiling library does not define it */
        library = dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
    if (library)
        found = dlsym(library, name);
    if (!found) {
        fprintf(stderr, "no %s in the MPI's library\n", name);
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    return found;
}
