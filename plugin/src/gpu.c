/* The GPU that is current on the calling thread. CUDA is asked only if the process has loaded it already, only here. */
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

#include "inside.h"

/* glibc 2.34 moved these into libc under new versions. The old ones are in every glibc, before 2.34 in libdl, which a
 * process that uses CUDA has loaded; where it has not, they are NULL and nothing is asked. */
#if defined(__GLIBC__) && defined(__x86_64__)
#define OLD(name) __asm__(".symver old_" #name "," #name "@GLIBC_2.2.5")
#elif defined(__GLIBC__) && defined(__aarch64__)
#define OLD(name) __asm__(".symver old_" #name "," #name "@GLIBC_2.17")
#endif
#ifdef OLD
extern void *old_dlopen(const char *, int) __attribute__((weak));
extern void *old_dlsym(void *, const char *) __attribute__((weak));
extern int old_dlclose(void *) __attribute__((weak));
OLD(dlopen);
OLD(dlsym);
OLD(dlclose);
#else
#define old_dlopen dlopen
#define old_dlsym dlsym
#define old_dlclose dlclose
#endif

typedef struct { unsigned char bytes[16]; } cuda_uuid;
typedef int (*get_device)(int *);
typedef int (*get_uuid)(cuda_uuid *, int);
typedef int (*get_pci)(char *, int, int);

/* dlsym returns an object pointer where a function pointer is needed: POSIX allows the copy, ISO C forbids the cast. */
static void look_up(void *lib, const char *name, void *function) {
  void *symbol = old_dlsym(lib, name);
  memcpy(function, &symbol, sizeof symbol);
}

static void format(const cuda_uuid *u, bool mig, char *out, size_t len) {
  const unsigned char *b = u->bytes;
  snprintf(out, len, "%s-%02x%02x%02x%02x-%02x%02x-%02x%02x-%02x%02x-%02x%02x%02x%02x%02x%02x", mig ? "MIG" : "GPU", b[0],
           b[1], b[2], b[3], b[4], b[5], b[6], b[7], b[8], b[9], b[10], b[11], b[12], b[13], b[14], b[15]);
}

void cw_gpu_identity(unsigned char *uuid, size_t uuid_len, unsigned char *pci, size_t pci_len) {
  memset(uuid, 0, uuid_len);
  memset(pci, 0, pci_len);
#ifdef OLD
  if (!old_dlopen || !old_dlsym || !old_dlclose) return;
#endif
  void *lib = old_dlopen("libcuda.so.1", RTLD_LAZY | RTLD_LOCAL | RTLD_NOLOAD);
  if (!lib) return;
  get_device device;
  get_uuid v1, v2;
  get_pci bus;
  look_up(lib, "cuCtxGetDevice", &device);
  look_up(lib, "cuDeviceGetUuid", &v1);
  look_up(lib, "cuDeviceGetUuid_v2", &v2);
  look_up(lib, "cuDeviceGetPCIBusId", &bus);
  int dev = 0;
  if (device && device(&dev) == 0) {
    cuda_uuid a, b;
    char text[48] = "";
    bool have1 = v1 && v1(&a, dev) == 0, have2 = v2 && v2(&b, dev) == 0;
    /* The second call names the MIG instance where there is one, the first always the whole GPU. */
    if (have2) format(&b, have1 && memcmp(&a, &b, sizeof a) != 0, text, sizeof text);
    else if (have1) format(&a, false, text, sizeof text);
    memcpy(uuid, text, strlen(text) < uuid_len ? strlen(text) : uuid_len);
    char id[16] = "";
    if (bus && bus(id, (int)sizeof id, dev) == 0) {
      id[sizeof id - 1] = 0;
      memcpy(pci, id, strlen(id) < pci_len ? strlen(id) : pci_len);
    }
  }
  old_dlclose(lib);
}
