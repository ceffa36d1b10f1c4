// engine_test.cu is what a compiler makes of kernels: engine_compiled_test.cc compares
// the results of these with the host's.
#define __global__ __attribute__((global))
#define __shared__ __attribute__((shared))

#include "engine_test_mix.h"

extern "C" __global__ void mixed(unsigned long long* out, const unsigned char* bytes, const float* floats, long long n) {
  int i = static_cast<int>(__nvvm_read_ptx_sreg_ctaid_x() * __nvvm_read_ptx_sreg_ntid_x() + __nvvm_read_ptx_sreg_tid_x());
  if (i < n) out[i] = mix(i, bytes, floats);
}

// total adds n numbers up: lanes by shuffles, warps in shared memory, CTAs by an atomic.
extern "C" __global__ void total(int* out, const int* in, long long n) {
  __shared__ int sums[32];
  int t = static_cast<int>(__nvvm_read_ptx_sreg_tid_x()), threads = static_cast<int>(__nvvm_read_ptx_sreg_ntid_x());
  int sum = 0;
  for (long long i = __nvvm_read_ptx_sreg_ctaid_x() * threads + t; i < n; i += __nvvm_read_ptx_sreg_nctaid_x() * threads) sum += in[i];
  for (int m = 16; m; m /= 2) sum += __nvvm_shfl_sync_down_i32(~0u, sum, m, 31);
  if (t % 32 == 0) sums[t / 32] = sum;
  __syncthreads();
  if (t < 32) {
    sum = t < threads / 32 ? sums[t] : 0;
    for (int m = 16; m; m /= 2) sum += __nvvm_shfl_sync_bfly_i32(~0u, sum, m, 31);
    if (t == 0) __nvvm_atom_add_gen_i(out, sum);
  }
}
