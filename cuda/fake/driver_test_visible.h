// driver_test_visible.h: what CUDA_VISIBLE_DEVICES lets a process see.
#pragma once

#include "driver_test.h"

// The third of four devices is seen; the next entry names none, and ends the list.
inline void visible() {
  setenv("CUDA_VISIBLE_DEVICES", "2,GPU-686f6777-696c6400,7,1", 1);
  int n = -1;
  CUuuid id;
  char bus[32];
  OK(cuInit(0));
  OK(cuDeviceGetCount(&n));
  CHECK(n == 1);  // a UUID's groups are 8-4-4-4-12 digits: this is no beginning of one
  OK(cuDeviceGetUuid(&id, 0));
  CHECK(id.bytes[7] == 2);
  OK(cuDeviceGetPCIBusId(bus, sizeof bus, 0));
  CHECK(std::string(bus) == "0000:3B:00.0");
}

inline void visible_by_uuid() {
  setenv("CUDA_VISIBLE_DEVICES", "GPU-686f6777-696c-6403,GPU-686f6777-696c-6400-", 1);
  int n = -1;
  CUuuid first, second;
  OK(cuInit(0));
  OK(cuDeviceGetCount(&n));
  OK(cuDeviceGetUuid(&first, 0));
  OK(cuDeviceGetUuid(&second, 1));
  CHECK(n == 2 && first.bytes[7] == 3 && second.bytes[7] == 0);
}

inline void invisible() {
  setenv("CUDA_VISIBLE_DEVICES", "GPU-686f", 1);  // any of the four
  REFUSED(CUDA_ERROR_NO_DEVICE, cuInit(0));
}
