/* unloaded LIBRARY: is its code there after dlclose()? The threads of a client that is open run in
 * it. */
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

int main(int argc, char **argv) {
    void *library = argc == 2 ? dlopen(argv[1], RTLD_NOW) : NULL;
    void *symbol = library != NULL ? dlsym(library, "zkl_version") : NULL;
    const char *(*version)(void) = NULL;
    if (symbol == NULL) {
        fprintf(stderr, "%s\n", dlerror());
        return 1;
    }
    memcpy(&version, &symbol, sizeof(version));
    return dlclose(library) == 0 && strlen(version()) > 0 ? 0 : 1;
}
