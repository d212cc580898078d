/* Which file system a file is on: its type and where it is mounted, from /proc/self/mountinfo. */
#define _GNU_SOURCE
#include "profile.h"
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#define MOST_MOUNTS 128 /* later ones count as the first, which is not known */

static struct {
    dev_t device;
    char type[24], point[104];
} mounts[MOST_MOUNTS] = {{0, "unknown", "?"}};
static int n_mounts = 1;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

const char *mount_type(int mount)
{
    return mounts[mount].type;
}

const char *mount_point(int mount)
{
    return mounts[mount].point;
}

/* Replace the octal escapes of mountinfo (proc(5)), such as \040 for a blank. */
static void unescape(char *text)
{
    char *to = text;
    for (; *text; to++) {
        unsigned code;
        if (*text == '\\' && sscanf(text + 1, "%3o", &code) == 1) {
            *to = (char)code;
            text += 4;
        } else {
            *to = *text++;
        }
    }
    *to = 0;
}

/* Fill in the mount that `path` is on: the longest mount point that it begins with, the last of these. */
static void read_mount(int mount, const char *path)
{
    char line[2 * PATH_MAX], point[PATH_MAX], type[64];
    size_t longest = 0;
    FILE *file = fopen("/proc/self/mountinfo", "re");
    while (file && fgets(line, sizeof line, file)) {
        const char *rest = strstr(line, " - ");
        if (sscanf(line, "%*s %*s %*s %*s %4095s", point) != 1 || !rest || sscanf(rest + 3, "%63s", type) != 1)
            continue;
        unescape(point);
        const size_t n = strcmp(point, "/") == 0 ? 0 : strlen(point);
        if (strncmp(path, point, n) == 0 && (path[n] == '/' || path[n] == 0) && n >= longest) {
            longest = n;
            snprintf(mounts[mount].type, sizeof mounts[mount].type, "%.23s", type);
            snprintf(mounts[mount].point, sizeof mounts[mount].point, "%.103s", point);
        }
    }
    if (file)
        fclose(file);
}

/* Return the number of the mount of a file on `device`; `path` is read when the device is new. */
static int mount_of_device(dev_t device, const char *path)
{
    pthread_mutex_lock(&lock);
    int mount = 1;
    while (mount < n_mounts && mounts[mount].device != device)
        mount++;
    if (mount == n_mounts && n_mounts < MOST_MOUNTS) {
        mounts[n_mounts].device = device;
        strcpy(mounts[n_mounts].type, "unknown");
        strcpy(mounts[n_mounts].point, "?");
        read_mount(n_mounts++, path);
    }
    pthread_mutex_unlock(&lock);
    return mount < MOST_MOUNTS ? mount : 0;
}

/* Return the mount of an open regular file; -1 for anything else, such as a socket or a pipe. */
HIDDEN int mount_of_descriptor(int fd)
{
    struct stat status;
    char link[40], path[PATH_MAX];
    if (fstat(fd, &status) != 0 || !S_ISREG(status.st_mode))
        return -1;
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    return mount_of_device(status.st_dev, realpath(link, path) ? path : "/");
}

/* Return the mount of a path. */
int mount_of_path(const char *path)
{
    struct stat status;
    char real[PATH_MAX];
    return stat(path, &status) == 0 ? mount_of_device(status.st_dev, realpath(path, real) ? real : "/") : 0;
}
