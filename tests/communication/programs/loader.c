/* Load a module when running, for itself alone, and call it. Returns 0 if it found two ranks. */
#include <dlfcn.h>
#include <stdio.h>

int main(int argc, char **argv)
{
    void *module = argc > 1 ? dlopen(argv[1], RTLD_NOW | RTLD_LOCAL) : NULL;
    int (*run)(void) = NULL;
    if (module)
        *(void **)&run = dlsym(module, "run");
    if (!run) {
        fprintf(stderr, "%s\n", dlerror());
        return 2;
    }
    return run() == 2 ? 0 : 1;
}
