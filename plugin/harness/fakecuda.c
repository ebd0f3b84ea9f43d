/* Stands in for the CUDA driver: one device whose number comes from FAKE_GPU. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define API __attribute__((visibility("default")))

static int device(void) { return getenv("FAKE_GPU") ? atoi(getenv("FAKE_GPU")) : 0; }

API int cuCtxGetDevice(int *dev);
API int cuCtxGetDevice(int *dev) {
  *dev = device();
  return 0;
}

API int cuDeviceGetUuid(unsigned char *uuid, int dev);
API int cuDeviceGetUuid(unsigned char *uuid, int dev) {
  memset(uuid, dev, 16);
  return 0;
}

API int cuDeviceGetUuid_v2(unsigned char *uuid, int dev);
API int cuDeviceGetUuid_v2(unsigned char *uuid, int dev) {
  memset(uuid, getenv("FAKE_MIG") ? dev + 1 : dev, 16);
  return 0;
}

API int cuDeviceGetPCIBusId(char *id, int len, int dev);
API int cuDeviceGetPCIBusId(char *id, int len, int dev) {
  snprintf(id, (size_t)len, "0000:%02x:00.0", dev);
  return 0;
}
