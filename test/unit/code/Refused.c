// Code that must be refused before any of it runs: if it runs, it ends the test.
#include <stdint.h>

void work(char *const *buffers, const int64_t *scalars, int64_t begin, int64_t end) {
  (void)scalars;
  for (int64_t i = begin; i < end; ++i)
    ((float *)buffers[0])[i] = 0;
}

#ifdef CONSTRUCTOR
__attribute__((constructor)) static void begin(void) { __builtin_trap(); }
#endif

#ifdef DESTRUCTOR
__attribute__((destructor)) static void end(void) { __builtin_trap(); }
#endif

#ifdef IMPORT
int system(const char *command);
int run(void) { return system("touch /tmp/run"); }
#endif

#ifdef IFUNC
static void *choose(void) { __builtin_trap(); }
void chosen(void) __attribute__((ifunc("choose")));
void call(void) { chosen(); }
#endif

#ifdef THREAD
static _Thread_local int counter;
int count(void) { return ++counter; }
#endif
