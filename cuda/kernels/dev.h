// dev.h is what every kernel stands on: the machine without NVIDIA's headers, the
// weights that other processes write, the job that the host describes, and the
// ticket by which CTAs share its steps.
//
// A launch is one-dimensional with THREADS threads a CTA, without dynamic shared
// memory. No thread waits for another CTA, nor for the host.
#pragma once

#define __global__ __attribute__((global))
#define __device__ __attribute__((device, always_inline))
#define __shared__ __attribute__((shared))
#define INLINE __attribute__((always_inline))  // of a lambda
#define __launch_bounds__(...) __attribute__((launch_bounds(__VA_ARGS__)))

using i32 = int;
using u32 = unsigned;
using i64 = long long;
using u64 = unsigned long long;
using u8 = unsigned char;
using f4 = float __attribute__((ext_vector_type(4)));

// Global is device memory: without it, loads and stores would be generic ones.
template <class T> using Global = __attribute__((address_space(1))) T;

constexpr int THREADS = 256;          // a CTA, in every kernel
constexpr int WARPS = THREADS / 32;
constexpr int GROUP = 8;              // samples that are worked on together, one a warp in the losses
constexpr u32 ALL = 0xffffffff;       // the lanes of a warp

// thread is this one's number in the CTA. It is read anew each time, else the compiler
// would keep all that follows from it in registers for the whole launch.
__device__ inline int thread() {
  int t;
  asm volatile("mov.u32 %0, %%tid.x;" : "=r"(t));
  return t;
}
__device__ inline int lane() { return thread() % 32; }
__device__ inline int warp() { return thread() / 32; }
__device__ inline int cta() { return __nvvm_read_ptx_sreg_ctaid_x(); }
__device__ inline int ctas() { return __nvvm_read_ptx_sreg_nctaid_x(); }

__device__ inline float swap(float v, int mask) { return __nvvm_shfl_sync_bfly_f32(ALL, v, mask, 31); }
__device__ inline int swap(int v, int mask) { return __nvvm_shfl_sync_bfly_i32(ALL, v, mask, 31); }

// Weights are floats that any thread of any process may be writing. Accesses are
// relaxed and of system scope, the only scope that reaches another process: each
// is whole, none is ordered, and none is served from the L1 cache, which is not
// coherent. There is no other way to the memory, so there is no plain access.
//
// The additions are single floats. Neighbouring lanes add to neighbouring weights
// everywhere, so that a warp's addition is four 32-byte sectors, as one of vectors
// would be, whatever the alignment of the layer and the architecture.
struct Weights {
  Global<float>* at;

  __device__ bool none() const { return at == nullptr; }

  __device__ float load(i64 i) const {
    float v;
    asm volatile("ld.relaxed.sys.global.f32 %0, [%1];" : "=f"(v) : "l"(at + i) : "memory");
    return v;
  }
  __device__ void store(i64 i, float v) const {
    asm volatile("st.relaxed.sys.global.f32 [%0], %1;" ::"l"(at + i), "f"(v) : "memory");
  }
  // add is THE racy line of the GPU: no addition is lost, but what was read before
  // it may be stale. The sum of subnormals is zero (the hardware flushes them).
  __device__ void add(i64 i, float v) const {
    asm volatile("red.relaxed.sys.global.add.f32 [%0], %1;" ::"l"(at + i), "f"(v) : "memory");
  }
};

// Loss is the kind of a loss; loss.h has what they are.
enum Loss : i64 { CROSS_ENTROPY, LOGISTIC, HINGE, SQUARED, L1 };

constexpr int MAX_LAYERS = 9;

// Job is what the host asks of linear_step, mlp_step and evaluate. All fields are
// eight bytes wide. Addresses that are not used are 0.
struct Job {
  Weights w;               // weights that are read: layer by layer [in][out], then its bias [out]
  Weights out;             // where a step is written: w itself, or a gradient
  Weights velocity;        // momentum's state, as long as the weights; 0: plain SGD
  Global<const u8>* x8;    // inputs n x d, as bytes (one of x8 and x is 0)
  Global<const float>* x;  // or as floats
  Global<const float>* y;  // n labels: the class, or the value
  Global<const float>* mul;  // a byte is worth byte*mul + add; 0: 1
  Global<const float>* add;  // 0: 0
  Global<const i32>* rows;   // row numbers; those of step i are start[i] .. start[i+1]-1
  Global<const i32>* start;  // steps+1
  Global<const float>* lr;   // of each step
  Global<float>* loss;       // of each step, summed over its rows: written
  Global<u32>* ticket;       // [0] the next step; [1] not 0: take no further one
  Global<float>* scratch;    // scratch_stride floats a CTA
  Global<u32>* taken;        // steps finished: added to. They are the first ones, without gaps
  i64 scratch_stride;
  i64 steps;
  i64 features;    // d
  i64 layers;      // 1 to MAX_LAYERS; 1: a linear model
  i64 outputs;     // of the last layer
  i64 classes;     // 0: labels are values
  i64 loss_kind;   // a Loss
  i64 bias;        // 1: each layer has one
  i64 scale_wide;  // 1: mul and add have d entries; 0: one
  i64 gradient;    // 1: out += gradient; 0: out -= lr * step
  i64 width[MAX_LAYERS - 1];  // of the hidden layers
  double momentum;
  double l2;         // on weights, not on biases
  i64 max_batch;     // the longest step: scratch is laid out for it
  Global<double>* sums;  // evaluate: eight a CTA
};
static_assert(sizeof(Job) == 37 * 8);

// small reads a number of the job that fits 32 bits.
__device__ inline i32 small(const i64& v) { return *(const i32*)&v; }

__shared__ Job job;  // this launch's: read in shared memory, as every thread needs all of it

// read_job copies the job into shared memory. A barrier follows.
template <class T> __device__ inline void read_job(T& to, const T* from) {
  static_assert(sizeof(T) % 8 == 0);
  for (int i = thread(); i < (int)(sizeof(T) / 8); i += THREADS) ((u64*)&to)[i] = ((Global<const u64>*)from)[i];
  __syncthreads();
}

// take is the next of n tickets, or n when there is none or the host says stop. A
// ticket once taken must be finished: its rows are nobody else's.
__device__ inline u32 take(u32 n) {
  u32 stop, i = n;
  asm volatile("ld.relaxed.sys.global.u32 %0, [%1];" : "=r"(stop) : "l"(job.ticket + 1) : "memory");
  if (stop == 0) asm volatile("atom.relaxed.sys.global.add.u32 %0, [%1], 1;" : "=r"(i) : "l"(job.ticket) : "memory");
  return i < n ? i : n;
}

// finish counts a step that is done. It is for one thread.
__device__ inline void finish() {
  asm volatile("red.relaxed.sys.global.add.u32 [%0], 1;" ::"l"(job.taken) : "memory");
}

__shared__ u32 ticket;

// each_ticket calls work(i) for the tickets that fall to this CTA, one after the other,
// with all threads. The next ticket is on its way while the present one is worked on,
// so that nobody waits for it; after a stop a CTA may do one more for that reason.
template <class Work> __device__ inline void each_ticket(u32 n, const Work& work) {
  u32 next = thread() == 0 ? take(n) : 0;
  for (;;) {
    __syncthreads();  // nobody reads the last ticket any more
    if (thread() == 0) ticket = next;
    __syncthreads();
    u32 i = ticket;
    if (i >= n) return;
    if (thread() == 0) next = take(n);
    work(i);
  }
}

// Approximations, good to 2^-22 or better, of one to three instructions. A division
// or an exponential of full precision would be a subroutine of 30 to 130.
__device__ inline float inverse(float v) { return __nvvm_rcp_approx_ftz_f(v); }
__device__ inline float exponential(float v) { return __nvvm_ex2_approx_ftz_f(v * 1.44269504f); }
__device__ inline float logarithm(float v) { return __nvvm_lg2_approx_ftz_f(v) * 0.693147181f; }
