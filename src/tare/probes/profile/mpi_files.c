/* MPI_File_...: calls, bytes and time by file system. What they read and write below is not counted again. */
#define _GNU_SOURCE
#include "profile.h"
#include <pthread.h>

#define MOST_OPEN 256

enum {
#define FILE_FUNCTION(name, params, args, bytes, request) FILE_##name,
#include "functions_files.h"
#undef FILE_FUNCTION
    N_FILE_FUNCTIONS
};

HIDDEN const char *const profile_file_names[] = {
    "open", "close", "read", "write", "sync",
#define FILE_FUNCTION(name, params, args, bytes, request) "MPI_File_" #name,
#include "functions_files.h"
#undef FILE_FUNCTION
    "MPI_File_open", "MPI_File_close",
};

static struct {
    uint64_t handle;
    int mount;
} open_files[MOST_OPEN];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void remember(uint64_t handle, int mount)
{
    pthread_mutex_lock(&lock);
    for (int i = 0; i < MOST_OPEN; i++)
        if (!open_files[i].handle) {
            open_files[i].handle = handle;
            open_files[i].mount = mount;
            break;
        }
    pthread_mutex_unlock(&lock);
}

static int mount_of(uint64_t handle, int forgets)
{
    int mount = 0;
    pthread_mutex_lock(&lock);
    for (int i = 0; i < MOST_OPEN; i++)
        if (open_files[i].handle == handle) {
            mount = open_files[i].mount;
            if (forgets)
                open_files[i].handle = 0;
            break;
        }
    pthread_mutex_unlock(&lock);
    return mount;
}

static inline uint64_t file_bytes(MPI_Count n, MPI_Datatype type)
{
    int size = 0;
    PMPI_Type_size(type, &size);
    return (uint64_t)n * (uint64_t)(size < 0 ? 0 : size);
}

static void count_file(int operation, MPI_File file, uint64_t bytes, uint64_t spent, MPI_Request *request)
{
    const uint64_t key = file_key(FILE_FUNCTIONS + operation, mount_of(HANDLE(file), 0));
    count(key, bytes, spent);
    if (request && *request != MPI_REQUEST_NULL)
        request_put(&(struct pending){HANDLE(*request), key, bytes, spent, 0, 1, 0});
}

#define NO_REQUEST ((MPI_Request *)NULL)
#define DEFINE(symbol, id, params, args, bytes, request)                                                               \
    int MPI_File_##symbol params                                                                                       \
    {                                                                                                                  \
        static __typeof__(&MPI_File_##symbol) real;                                                                    \
        if (UNLIKELY(!real))                                                                                           \
            real = (__typeof__(real))real_function("PMPI_File_" #symbol);                                              \
        if (!profile_active || profile_depth)                                                                          \
            return real args;                                                                                          \
        profile_depth = 1;                                                                                             \
        const uint64_t began = ticks();                                                                                \
        const int result = real args;                                                                                  \
        count_file(FILE_##id, file, bytes, ticks() - began, request);                                                  \
        profile_depth = 0;                                                                                             \
        return result;                                                                                                 \
    }                                                                                                                  \
    int PMPI_File_##symbol params __attribute__((alias("MPI_File_" #symbol)));

#define FILE_FUNCTION(name, params, args, bytes, request) DEFINE(name, name, params, args, bytes, request)
#include "functions_files.h"
#undef FILE_FUNCTION
#if MPI_VERSION >= 4
#undef COUNT
#define COUNT MPI_Count
#define ONLY_COUNTS
#define FILE_FUNCTION(name, params, args, bytes, request) DEFINE(name##_c, name, params, args, bytes, request)
#include "functions_files.h"
#undef FILE_FUNCTION
#endif

int MPI_File_open(MPI_Comm comm, const char *name, int mode, MPI_Info info, MPI_File *file)
{
    static __typeof__(&MPI_File_open) real;
    if (!real)
        real = (__typeof__(real))real_function("PMPI_File_open");
    if (!profile_active || profile_depth)
        return real(comm, name, mode, info, file);
    profile_depth = 1;
    const uint64_t began = ticks();
    const int result = real(comm, name, mode, info, file);
    const uint64_t spent = ticks() - began;
    const char *colon = strchr(name, ':'); /* a prefix of the implementation, such as nfs: */
    const int mount = mount_of_path(colon && colon[1] == '/' ? colon + 1 : name);
    if (result == MPI_SUCCESS)
        remember(HANDLE(*file), mount);
    count(file_key(FILE_FUNCTIONS + N_FILE_FUNCTIONS, mount), 0, spent);
    profile_depth = 0;
    return result;
}
int PMPI_File_open(MPI_Comm comm, const char *name, int mode, MPI_Info info, MPI_File *file)
    __attribute__((alias("MPI_File_open")));

int MPI_File_close(MPI_File *file)
{
    static __typeof__(&MPI_File_close) real;
    if (!real)
        real = (__typeof__(real))real_function("PMPI_File_close");
    if (!profile_active || profile_depth)
        return real(file);
    profile_depth = 1;
    const int mount = mount_of(HANDLE(*file), 1);
    const uint64_t began = ticks();
    const int result = real(file);
    count(file_key(FILE_FUNCTIONS + N_FILE_FUNCTIONS + 1, mount), 0, ticks() - began);
    profile_depth = 0;
    return result;
}
int PMPI_File_close(MPI_File *file) __attribute__((alias("MPI_File_close")));
