// driver_test_switches.h tests the switches that make the stand-in behave as other hardware
// and other drivers do.
#pragma once

#include "driver_test.h"

inline void little_memory() {
  start();
  size_t free, total;
  CUdeviceptr a;
  OK(cuMemGetInfo(&free, &total));
  CHECK(free == 6 << 20 && total == 64 << 20);
  allocate(3 << 20);  // two granules of three
  REFUSED(CUDA_ERROR_OUT_OF_MEMORY, cuMemAlloc(&a, 3 << 20));
  allocate(2 << 20);
}

inline void no_memory() {
  start();
  CUdeviceptr a;
  REFUSED(CUDA_ERROR_OUT_OF_MEMORY, cuMemAlloc(&a, 4));
}

// Until it is written memory is not zero, unless that is asked for.
inline void fresh(uint32_t want) {
  start();
  void* pinned;
  OK(cuMemHostAlloc(&pinned, 4, 0));
  CHECK(word(allocate(4)) == want && *static_cast<uint32_t*>(pinned) == want);
}
inline void fresh_ones() { fresh(0xffffffff); }
inline void fresh_zero() { fresh(0); }

// Before the stream is synchronized nobody sees what was copied; what follows in it does.
inline void late_copies() {
  start();
  CUdeviceptr a = allocate(4);
  auto* seen = reinterpret_cast<std::atomic<uint32_t>*>(a);
  uint32_t seven = 7;
  OK(cuMemcpyHtoD(a, &seven, 4));
  CHECK(*seen != 7);
  seven = 8;
  CHECK(word(a) == 7);
}

inline void context_takes_memory() {
  size_t before, after, total;
  CUcontext second;
  start();
  OK(cuMemGetInfo(&before, &total));
  CHECK(total - before == 400 << 20);
  OK(cuCtxCreate(&second, 0, 0));
  OK(cuMemGetInfo(&after, &total));
  CHECK(after == before);
}

inline void max_threads() {
  start();
  CUfunction small = function("small");  // .maxntid 64
  int most;
  OK(cuFuncGetAttribute(&most, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, small));
  CHECK(most == 128);
  OK(cuLaunchKernel(small, 1, 1, 1, 128, 1, 1, 0, nullptr, nullptr, nullptr));
  REFUSED(CUDA_ERROR_INVALID_VALUE, cuLaunchKernel(small, 1, 1, 1, 129, 1, 1, 0, nullptr, nullptr, nullptr));
}

inline void no_ipc() {
  start();
  CUipcMemHandle handle;
  int supported;
  OK(cuDeviceGetAttribute(&supported, CU_DEVICE_ATTRIBUTE_IPC_EVENT_SUPPORTED, 0));
  CHECK(supported == 0);
  REFUSED(CUDA_ERROR_NOT_SUPPORTED, cuIpcGetMemHandle(&handle, allocate(4)));
}

inline void launch_fails() {
  start();
  CUfunction store = function("store");
  CUdeviceptr a = allocate(4);
  OK(launch(store, nullptr, a, 1));
  CHECK(word(a) == 1);
  OK(launch(store, nullptr, a, 2));
  REFUSED(CUDA_ERROR_LAUNCH_FAILED, cuCtxSynchronize());
}

// What waits for a launch that hangs never returns: the others do.
inline void launch_hangs() {
  start();
  CUfunction store = function("store");
  CUstream hung, other;
  CUdeviceptr a = allocate(8);
  OK(cuStreamCreate(&hung, CU_STREAM_NON_BLOCKING));
  OK(cuStreamCreate(&other, CU_STREAM_NON_BLOCKING));
  OK(launch(store, hung, a, 1));
  OK(cuStreamSynchronize(hung));
  OK(launch(store, hung, a, 2));
  OK(launch(store, other, a + 4, 3));
  OK(cuStreamSynchronize(other));
  usleep(20000);  // time to end
  REFUSED(CUDA_ERROR_NOT_READY, cuStreamQuery(hung));
}

inline void slow_waits() {
  start();
  CUdeviceptr a = allocate(4);
  CUstream stream;
  CUevent event;
  OK(cuStreamCreate(&stream, CU_STREAM_DEFAULT));
  OK(cuEventCreate(&event, 0));
  auto slow = [](auto call) {
    auto before = std::chrono::steady_clock::now();
    OK(call());
    CHECK(std::chrono::steady_clock::now() - before >= std::chrono::milliseconds(50));
  };
  slow([&] { return cuStreamSynchronize(stream); });
  slow([&] { return cuEventSynchronize(event); });
  slow([&] { return cuCtxSynchronize(); });
  slow([&] { return cuMemcpyDtoH(&stream, a, 4); });
}

inline void watchdog() {
  start();
  CUdeviceptr a = allocate(4);
  OK(cuMemsetD32(a, 0, 1));
  OK(launch(function("gate"), nullptr, a));
  REFUSED(CUDA_ERROR_LAUNCH_TIMEOUT, cuCtxSynchronize());
}

inline void old_driver() {
  start();
  CUmodule module;
  int version;
  OK(cuDriverGetVersion(&version));
  CHECK(version == 11040);
  REFUSED(CUDA_ERROR_INVALID_VALUE, cuDeviceGetAttribute(&version, CU_DEVICE_ATTRIBUTE_MPS_ENABLED, 0));
  REFUSED(CUDA_ERROR_UNSUPPORTED_PTX_VERSION, cuModuleLoadData(&module, ".version 8.1\n.target sm_80\n.address_size 64\n"));
}
