// driver_test.h is what the tests of the driver are written in: checks, five small
// kernels and what starts them.
#pragma once

#include <cuda.h>
#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

inline int failures = 0;

inline void check(bool holds, const char* what, int line) {
  if (holds) return;
  failures++;
  fprintf(stderr, "driver_test.cc:%d: not so: %s\n", line, what);
}

inline void expect(CUresult got, int want, const char* what, int line) {
  if (got == want) return;
  failures++;
  fprintf(stderr, "driver_test.cc:%d: %s returned %d, not %d\n", line, what, got, want);
}

#define CHECK(condition) check((condition), #condition, __LINE__)
#define OK(call) expect(call, CUDA_SUCCESS, #call, __LINE__)
#define REFUSED(code, call) expect(call, code, #call, __LINE__)

constexpr char kPTX[] = R"(
.version 7.0
.target sm_70
.address_size 64
.visible .entry store(.param .u64 store_0, .param .u32 store_1) {
  .reg .b64 %rd<3>;
  .reg .b32 %r<2>;
  ld.param.u64 %rd1, [store_0];
  ld.param.u32 %r1, [store_1];
  cvta.to.global.u64 %rd2, %rd1;
  st.global.u32 [%rd2], %r1;
  ret;
}
.visible .entry gate(.param .u64 gate_0) {
  .reg .pred %p<2>;
  .reg .b64 %rd<3>;
  .reg .b32 %r<2>;
  ld.param.u64 %rd1, [gate_0];
  cvta.to.global.u64 %rd2, %rd1;
$L__BB1_1:
  ld.relaxed.sys.global.u32 %r1, [%rd2];
  setp.eq.s32 %p1, %r1, 0;
  @%p1 bra $L__BB1_1;
  ret;
}
.visible .entry add(.param .u64 add_0, .param .u32 add_1) {
  .reg .b64 %rd<3>;
  .reg .b32 %r<2>;
  ld.param.u64 %rd1, [add_0];
  ld.param.u32 %r1, [add_1];
  cvta.to.global.u64 %rd2, %rd1;
  red.relaxed.sys.global.add.u32 [%rd2], %r1;
  ret;
}
.visible .entry relay(.param .u64 relay_0, .param .u32 relay_1) {
  .reg .pred %p<3>;
  .reg .b64 %rd<3>;
  .reg .b32 %r<5>;
  ld.param.u64 %rd1, [relay_0];
  ld.param.u32 %r1, [relay_1];
  cvta.to.global.u64 %rd2, %rd1;
$L__BB3_1:
  ld.relaxed.sys.global.u32 %r2, [%rd2];
  setp.ge.u32 %p1, %r2, 100;
  @%p1 bra $L__BB3_2;
  and.b32 %r3, %r2, 1;
  setp.ne.u32 %p2, %r3, %r1;
  @%p2 bra $L__BB3_1;
  add.u32 %r4, %r2, 1;
  st.relaxed.sys.global.u32 [%rd2], %r4;
  bra $L__BB3_1;
$L__BB3_2:
  ret;
}
.visible .entry small() .maxntid 64, 1, 1 {
  ret;
}
)";

inline CUcontext start(int device = 0) {
  CUcontext context = nullptr;
  OK(cuInit(0));
  OK(cuDevicePrimaryCtxRetain(&context, device));
  OK(cuCtxSetCurrent(context));
  return context;
}

inline CUfunction function(const char* name, const char* ptx = kPTX) {
  CUmodule module = nullptr;
  CUfunction found = nullptr;
  OK(cuModuleLoadData(&module, ptx));
  OK(cuModuleGetFunction(&found, module, name));
  return found;
}

inline CUresult launch(CUfunction f, CUstream stream, uint64_t first, uint64_t second = 0) {
  void* params[] = {&first, &second};
  return cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, stream, params, nullptr);
}

inline CUdeviceptr allocate(size_t bytes) {
  CUdeviceptr address = 0;
  OK(cuMemAlloc(&address, bytes));
  return address;
}

inline uint32_t word(CUdeviceptr address) {
  uint32_t value = 0;
  OK(cuMemcpyDtoH(&value, address, 4));
  return value;
}
