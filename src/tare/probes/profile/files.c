/*
 * Files that the program itself opens, reads, writes and syncs: the functions of the C library.
 *
 * Only regular files count, not sockets and pipes, and nothing that an MPI function does below. The buffered functions
 * that are counted are fopen, fclose, fread, fwrite, fflush, fgets, fputs, fprintf; mapped files are not seen.
 */
#undef _FORTIFY_SOURCE
#define _GNU_SOURCE
#undef _FILE_OFFSET_BITS
#include "profile.h"
#include <dlfcn.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/uio.h>
#include <unistd.h>

#define MOST_FILES 65536

HIDDEN int mount_of_descriptor(int fd);

static unsigned char mount_of_fd[MOST_FILES]; /* 0: no regular file; else its mount plus 1 */

#define REAL(name)                                                                                                     \
    static __typeof__(&name) real;                                                                                     \
    if (UNLIKELY(!real))                                                                                               \
    real = (__typeof__(real))dlsym(RTLD_NEXT, #name)

static inline int is_on(void)
{
    return profile_active && !profile_depth;
}

static inline int mount_at(int fd)
{
    return fd >= 0 && fd < MOST_FILES ? mount_of_fd[fd] - 1 : -1;
}

static inline void count_io(int operation, int mount, ssize_t bytes, uint64_t spent)
{
    profile_depth = 1;
    count(file_key(operation, mount), bytes > 0 ? (uint64_t)bytes : 0, spent);
    profile_depth = 0;
}

static void learn(int fd)
{
    if (fd >= 0 && fd < MOST_FILES)
        mount_of_fd[fd] = (unsigned char)(mount_of_descriptor(fd) + 1);
}

/* Learn which files are open already. */
void files_start(void)
{
    for (int fd = 0; fd < 1024; fd++)
        learn(fd);
}

/* A file was opened at `began`: count it if it is a regular one. Until then, opening tells nothing about it. */
static int opened(int fd, uint64_t began)
{
    if (!is_on() || fd < 0)
        return fd;
    const uint64_t spent = ticks() - began;
    profile_depth = 1;
    learn(fd);
    profile_depth = 0;
    if (mount_at(fd) >= 0)
        count_io(FILE_OPEN, mount_at(fd), 0, spent);
    return fd;
}

#define OPEN(name, params, args)                                                                                       \
    int name params                                                                                                    \
    {                                                                                                                  \
        REAL(name);                                                                                                    \
        va_list more;                                                                                                  \
        va_start(more, flags);                                                                                         \
        const int mode = flags & (O_CREAT | __O_TMPFILE) ? va_arg(more, int) : 0;                                      \
        va_end(more);                                                                                                  \
        const uint64_t began = is_on() ? ticks() : 0;                                                                  \
        return opened(real args, began);                                                                               \
    }
OPEN(open, (const char *path, int flags, ...), (path, flags, mode))
OPEN(open64, (const char *path, int flags, ...), (path, flags, mode))
OPEN(openat, (int folder, const char *path, int flags, ...), (folder, path, flags, mode))
OPEN(openat64, (int folder, const char *path, int flags, ...), (folder, path, flags, mode))

int creat(const char *path, mode_t mode)
{
    REAL(creat);
    const uint64_t began = is_on() ? ticks() : 0;
    return opened(real(path, mode), began);
}

int close(int fd)
{
    REAL(close);
    const int mount = mount_at(fd);
    if (mount < 0 || !is_on()) {
        if (mount >= 0)
            mount_of_fd[fd] = 0;
        return real(fd);
    }
    mount_of_fd[fd] = 0;
    const uint64_t began = ticks();
    const int result = real(fd);
    count_io(FILE_CLOSE, mount, 0, ticks() - began);
    return result;
}

#define ACCESS(type, name, operation, mount_here, bytes, params, args)                                                 \
    type name params                                                                                                   \
    {                                                                                                                  \
        REAL(name);                                                                                                    \
        const int mount = mount_here;                                                                                  \
        if (mount < 0 || !is_on())                                                                                     \
            return real args;                                                                                          \
        const uint64_t began = ticks();                                                                                \
        const type result = real args;                                                                                 \
        count_io(operation, mount, bytes, ticks() - began);                                                            \
        return result;                                                                                                 \
    }
#define ON_FD(name, operation, params, args) ACCESS(ssize_t, name, operation, mount_at(fd), result, params, args)
ON_FD(read, FILE_READ, (int fd, void *to, size_t n), (fd, to, n))
ON_FD(write, FILE_WRITE, (int fd, const void *from, size_t n), (fd, from, n))
ON_FD(pread, FILE_READ, (int fd, void *to, size_t n, off_t at), (fd, to, n, at))
ON_FD(pread64, FILE_READ, (int fd, void *to, size_t n, off64_t at), (fd, to, n, at))
ON_FD(pwrite, FILE_WRITE, (int fd, const void *from, size_t n, off_t at), (fd, from, n, at))
ON_FD(pwrite64, FILE_WRITE, (int fd, const void *from, size_t n, off64_t at), (fd, from, n, at))
ON_FD(readv, FILE_READ, (int fd, const struct iovec *parts, int n), (fd, parts, n))
ON_FD(writev, FILE_WRITE, (int fd, const struct iovec *parts, int n), (fd, parts, n))
ACCESS(int, fsync, FILE_SYNC, mount_at(fd), 0, (int fd), (fd))
ACCESS(int, fdatasync, FILE_SYNC, mount_at(fd), 0, (int fd), (fd))

#define COPY(name, params, args)                                                                                       \
    int name params                                                                                                    \
    {                                                                                                                  \
        REAL(name);                                                                                                    \
        const int made = real args;                                                                                    \
        if (made >= 0 && made < MOST_FILES)                                                                            \
            mount_of_fd[made] = (unsigned char)(mount_at(fd) + 1);                                                     \
        return made;                                                                                                   \
    }
COPY(dup, (int fd), (fd))
COPY(dup2, (int fd, int to), (fd, to))
COPY(dup3, (int fd, int to, int flags), (fd, to, flags))

static int mount_of_stream(FILE *file)
{
    return file ? mount_at(fileno(file)) : -1; /* fflush(NULL) flushes all */
}

#define FOPEN(name)                                                                                                    \
    FILE *name(const char *path, const char *mode)                                                                     \
    {                                                                                                                  \
        REAL(name);                                                                                                    \
        const uint64_t began = is_on() ? ticks() : 0;                                                                  \
        FILE *file = real(path, mode);                                                                                 \
        if (file)                                                                                                      \
            opened(fileno(file), began);                                                                               \
        return file;                                                                                                   \
    }
FOPEN(fopen)
FOPEN(fopen64)

int fclose(FILE *file)
{
    REAL(fclose);
    const int mount = is_on() ? mount_of_stream(file) : -1, fd = file ? fileno(file) : -1;
    if (fd >= 0 && fd < MOST_FILES)
        mount_of_fd[fd] = 0;
    if (mount < 0)
        return real(file);
    const uint64_t began = ticks();
    const int result = real(file);
    count_io(FILE_CLOSE, mount, 0, ticks() - began);
    return result;
}

#define ON_FILE(type, name, operation, bytes, params, args) ACCESS(type, name, operation, mount_of_stream(file), bytes, params, args)
ON_FILE(size_t, fread, FILE_READ, (ssize_t)(result * size), (void *to, size_t size, size_t n, FILE *file),
        (to, size, n, file))
ON_FILE(size_t, fwrite, FILE_WRITE, (ssize_t)(result * size), (const void *from, size_t size, size_t n, FILE *file),
        (from, size, n, file))
ON_FILE(int, fflush, FILE_WRITE, 0, (FILE * file), (file))
ON_FILE(int, fputs, FILE_WRITE, (ssize_t)strlen(text), (const char *text, FILE *file), (text, file))

char *fgets(char *to, int n, FILE *file)
{
    REAL(fgets);
    const int mount = mount_of_stream(file);
    if (mount < 0 || !is_on())
        return real(to, n, file);
    const uint64_t began = ticks();
    char *result = real(to, n, file);
    count_io(FILE_READ, mount, result ? (ssize_t)strlen(result) : 0, ticks() - began);
    return result;
}

ON_FILE(int, vfprintf, FILE_WRITE, result, (FILE * file, const char *format, va_list list), (file, format, list))

int fprintf(FILE *file, const char *format, ...)
{
    va_list list;
    va_start(list, format);
    const int result = vfprintf(file, format, list);
    va_end(list);
    return result;
}

/* The names of the same functions in programs that were compiled with _FORTIFY_SOURCE. */
extern int __vfprintf_chk(FILE *file, int flag, const char *format, va_list list);
ON_FILE(int, __vfprintf_chk, FILE_WRITE, result, (FILE * file, int flag, const char *format, va_list list),
        (file, flag, format, list))

extern int __fprintf_chk(FILE *file, int flag, const char *format, ...);
int __fprintf_chk(FILE *file, int flag, const char *format, ...)
{
    va_list list;
    va_start(list, format);
    const int result = __vfprintf_chk(file, flag, format, list);
    va_end(list);
    return result;
}

extern ssize_t __read_chk(int fd, void *to, size_t n, size_t room);
ON_FD(__read_chk, FILE_READ, (int fd, void *to, size_t n, size_t room), (fd, to, n, room))
extern ssize_t __pread_chk(int fd, void *to, size_t n, off_t at, size_t room);
ON_FD(__pread_chk, FILE_READ, (int fd, void *to, size_t n, off_t at, size_t room), (fd, to, n, at, room))
extern ssize_t __pread64_chk(int fd, void *to, size_t n, off64_t at, size_t room);
ON_FD(__pread64_chk, FILE_READ, (int fd, void *to, size_t n, off64_t at, size_t room), (fd, to, n, at, room))
extern size_t __fread_chk(void *to, size_t room, size_t size, size_t n, FILE *file);
ON_FILE(size_t, __fread_chk, FILE_READ, (ssize_t)(result * size),
        (void *to, size_t room, size_t size, size_t n, FILE *file), (to, room, size, n, file))
extern int __open_2(const char *path, int flags);
extern int __open64_2(const char *path, int flags);
#define OPEN_2(name)                                                                                                   \
    int name(const char *path, int flags)                                                                              \
    {                                                                                                                  \
        REAL(name);                                                                                                    \
        const uint64_t began = is_on() ? ticks() : 0;                                                                  \
        return opened(real(path, flags), began);                                                                       \
    }
OPEN_2(__open_2)
OPEN_2(__open64_2)
