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
using u2 = u32 __attribute__((ext_vector_type(2)));
using f2 = float __attribute__((ext_vector_type(2)));
using f4 = float __attribute__((ext_vector_type(4)));

// Global is device memory: without it, loads and stores would be generic ones.
template <class T> using Global = __attribute__((address_space(1))) T;

#ifndef CTA_THREADS
#define CTA_THREADS 256               // a source may say another number before it includes this
#endif
constexpr int THREADS = CTA_THREADS;  // a CTA
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
// Most additions are single floats. Neighbouring lanes add to neighbouring weights
// everywhere, so that a warp's addition is four 32-byte sectors, as one of vectors
// would be, whatever the alignment of the layer and the architecture. Four floats a lane
// are for where they are aligned to 16 bytes; they are added from sm_90 on (VECTORS).
#if __CUDA_ARCH__ >= 900
constexpr bool VECTORS = true;
#else
constexpr bool VECTORS = false;
#endif

struct Weights {
  static constexpr u32 BYTES = 4;
  Global<float>* at;

  __device__ bool none() const { return at == nullptr; }

  __device__ float load(i64 i) const {
    float v;
    asm volatile("ld.relaxed.sys.global.f32 %0, [%1];" : "=f"(v) : "l"(at + i) : "memory");
    return v;
  }
  // load_if is other for the lanes for which there is none, without a branch around them.
  __device__ float load_if(bool there, i64 i, float other = 0) const {
    asm volatile("{ .reg .pred there; setp.ne.s32 there, %2, 0; @there ld.relaxed.sys.global.f32 %0, [%1]; }" : "+f"(other) : "l"(at + i), "r"((int)there) : "memory");
    return other;
  }
  __device__ void store(i64 i, float v) const {
    asm volatile("st.relaxed.sys.global.f32 [%0], %1;" ::"l"(at + i), "f"(v) : "memory");
  }
  __device__ f4 load4(i64 i) const {
    f4 v;
    asm volatile("ld.relaxed.sys.global.v4.f32 {%0, %1, %2, %3}, [%4];" : "=f"(v.x), "=f"(v.y), "=f"(v.z), "=f"(v.w) : "l"(at + i) : "memory");
    return v;
  }
  __device__ f2 load2(i64 i) const {
    f2 v;
    asm volatile("ld.relaxed.sys.global.v2.f32 {%0, %1}, [%2];" : "=f"(v.x), "=f"(v.y) : "l"(at + i) : "memory");
    return v;
  }
  __device__ void store4(i64 i, f4 v) const {
    asm volatile("st.relaxed.sys.global.v4.f32 [%0], {%1, %2, %3, %4};" ::"l"(at + i), "f"(v.x), "f"(v.y), "f"(v.z), "f"(v.w) : "memory");
  }
#if __CUDA_ARCH__ >= 900
  __device__ void add4(i64 i, f4 v) const {
    asm volatile("red.relaxed.sys.global.add.v4.f32 [%0], {%1, %2, %3, %4};" ::"l"(at + i), "f"(v.x), "f"(v.y), "f"(v.z), "f"(v.w) : "memory");
  }
  __device__ void add2(i64 i, f2 v) const {
    asm volatile("red.relaxed.sys.global.add.v2.f32 [%0], {%1, %2};" ::"l"(at + i), "f"(v.x), "f"(v.y) : "memory");
  }
#endif
  // take is what was there, and leaves zero.
  __device__ float take(i64 i) const {
    float v;
    asm volatile("atom.relaxed.sys.global.exch.b32 %0, [%1], 0;" : "=f"(v) : "l"(at + i) : "memory");
    return v;
  }
  // add is THE racy line of the GPU: no addition is lost, but what was read before
  // it may be stale. The sum of subnormals is zero (the hardware flushes them).
  __device__ void add(i64 i, float v) const {
    asm volatile("red.relaxed.sys.global.add.f32 [%0], %1;" ::"l"(at + i), "f"(v) : "memory");
  }
};

// Halves are weights of half precision (IEEE binary16), computed with as floats. There is no addition: stores are racy, and
// lose what others wrote to the row since it was read. A store takes the nearest number, infinity from 65,520 on.
struct Halves {
  static constexpr u32 BYTES = 2;
  Global<unsigned short>* at;

  __device__ float load(i64 i) const {
    float v;
    asm volatile("{ .reg .b16 h; ld.relaxed.sys.global.b16 h, [%1]; cvt.f32.f16 %0, h; }" : "=f"(v) : "l"(at + i) : "memory");
    return v;
  }
  __device__ void store(i64 i, float v) const {
    asm volatile("{ .reg .b16 h; cvt.rn.f16.f32 h, %1; st.relaxed.sys.global.b16 [%0], h; }" ::"l"(at + i), "f"(v) : "memory");
  }
  // Two numbers lie in a word.
  __device__ f4 load4(i64 i) const {
    u32 low, high;
    asm volatile("ld.relaxed.sys.global.v2.b32 {%0, %1}, [%2];" : "=r"(low), "=r"(high) : "l"(at + i) : "memory");
    f4 v;
    asm("{ .reg .b16 l, h; mov.b32 {l, h}, %2; cvt.f32.f16 %0, l; cvt.f32.f16 %1, h; }" : "=f"(v.x), "=f"(v.y) : "r"(low));
    asm("{ .reg .b16 l, h; mov.b32 {l, h}, %2; cvt.f32.f16 %0, l; cvt.f32.f16 %1, h; }" : "=f"(v.z), "=f"(v.w) : "r"(high));
    return v;
  }
  __device__ void store4(i64 i, f4 v) const {
    u32 low, high;
    asm("{ .reg .b16 l, h; cvt.rn.f16.f32 l, %1; cvt.rn.f16.f32 h, %2; mov.b32 %0, {l, h}; }" : "=r"(low) : "f"(v.x), "f"(v.y));
    asm("{ .reg .b16 l, h; cvt.rn.f16.f32 l, %1; cvt.rn.f16.f32 h, %2; mov.b32 %0, {l, h}; }" : "=r"(high) : "f"(v.z), "f"(v.w));
    asm volatile("st.relaxed.sys.global.v2.b32 [%0], {%1, %2};" ::"l"(at + i), "r"(low), "r"(high) : "memory");
  }
};

// Loss is the kind of a loss; loss.h has what they are.
enum Loss : i64 { CROSS_ENTROPY, LOGISTIC, HINGE, SQUARED, L1 };

// Optimizer is how a gradient becomes a step: optimizer.h.
enum Optimizer : i64 { SGD, MOMENTUM, ADAGRAD, ADAM };

// Discipline is who may write while a step is written; guard.h keeps it.
enum Discipline : i64 { FREE, LOCKED, ORDERED };

constexpr int MAX_LAYERS = 9;
constexpr int COUNT_STRIDE = 32;  // words from one rank's count to the next: a line each

// Job is what the host asks of a kernel that takes steps or evaluates. All fields are
// eight bytes wide. Addresses that are not used are 0.
struct Job {
  // The weights, and where a step is written: the weights themselves, or a gradient.
  Weights w;       // layer by layer [in][out], then the layer's bias [out]; other models as model.Params says
  Weights out;
  Weights first;   // the optimizer's state, as long as the weights: velocity, sum of squares, or first moment
  Weights second;  // adam: second moment
  Global<u64>* updates;  // adam: steps taken with this state, by all who share it
  // The rows. Of x8, x and (ptr, idx, val) one is there; pairs have idx (two a row) and y.
  Global<const u8>* x8;    // n x d, as bytes
  Global<const float>* x;  // n x d
  Global<const i64>* ptr;  // n+1: the entries of row i are ptr[i] .. ptr[i+1]-1
  Global<const u32>* idx;  // of each entry its column
  Global<const float>* val;
  Global<const float>* y;     // n labels: the class, or the value
  Global<const float>* m;     // n: the row's product with the means of the inputs
  Global<const float>* freq;  // d: share of rows in which a column occurs
  Global<const float>* mul;   // a byte is worth byte*mul + add; 0: 1
  Global<const float>* add;   // 0: 0
  // The steps.
  Global<const i32>* rows;   // row numbers; those of step i are start[i] .. start[i+1]-1
  Global<const i32>* start;  // steps+1
  Global<const i32>* ids;    // of each of rows, its number in the training set: dropout's. 0: rows has it
  Global<const float>* lr;   // of each step
  Global<float>* loss;       // of each step, summed over its rows: written
  Global<u32>* ticket;       // [0] the next step; [TURN] guard.h
  Global<float>* scratch;    // scratch_stride floats a CTA
  Global<u64>* counts;       // updates written by each rank since the run began, COUNT_STRIDE words apart
  Global<u64>* record;       // what samples have shown: record.h; 0: no samples
  Global<double>* sums;      // evaluate: eight a CTA
  Global<const i64>* plan;   // of some models: what shape they have
  i64 scratch_stride;
  i64 steps;
  i64 teams;       // kernels in which a warp takes a step: how many of a CTA's do
  i64 features;    // d; of pairs, nodes
  i64 layers;      // 1 to MAX_LAYERS; 1: a linear model
  i64 outputs;     // of the last layer
  i64 classes;     // 0: labels are values
  i64 loss_kind;   // a Loss
  i64 bias;        // 1: each layer has one
  i64 center;      // where s begins in w (model.Center); -1: inputs are taken as they are
  i64 scale_wide;  // 1: mul and add have d entries; 0: one
  i64 gradient;    // 1: out += gradient; 0: out -= step
  i64 width[MAX_LAYERS - 1];  // of the hidden layers; of pairs, width[0] is the rank or the terminals
  i64 optimizer;   // an Optimizer
  i64 racy;        // 1: weights are written by stores, not by additions
  i64 discipline;  // a Discipline
  i64 rank, ranks;
  i64 weights;     // how many
  i64 max_batch;   // the longest step: scratch is laid out for it
  i64 locals;      // columns of which a CTA has a local copy; 0: none
  i64 merge_every; // its updates between two merges of them
  i64 epoch;
  u64 seed;        // dropout's
  double momentum;
  double beta1, beta2;
  double l1, l2;   // on weights, not on biases
  double bias_step;  // of a linear model's bias against that of its weights
  double norm2;    // |mu|^2 of the inputs' means
  double mean;     // factor: of the values
  i64 taken;       // steps of this rank before this launch: they go on where those ended
};
static_assert(sizeof(Job) == 66 * 8);

// small reads a number of the job that fits 32 bits.
__device__ inline i32 small(const i64& v) { return *(const i32*)&v; }

__shared__ Job job;  // this launch's: read in shared memory, as every thread needs all of it

// read_job copies the job into shared memory. A barrier follows.
template <class T> __device__ inline void read_job(T& to, const T* from) {
  static_assert(sizeof(T) % 8 == 0);
  for (int i = thread(); i < (int)(sizeof(T) / 8); i += THREADS) ((u64*)&to)[i] = ((Global<const u64>*)from)[i];
  __syncthreads();
}

// take is the next of n tickets, or n when there is none. A ticket once taken must be
// finished: its rows are nobody else's. (There is no word by which the host stops a launch: it
// would be read at each ticket, and a launch is short.)
__device__ inline u32 take(u32 n) {
  u32 i;
  asm volatile("atom.relaxed.sys.global.add.u32 %0, [%1], 1;" : "=r"(i) : "l"(job.ticket) : "memory");
  return i < n ? i : n;
}

__shared__ u32 ticket, tickets;

// at_hand is the ticket that is worked on, and of_all how many there are: read anew, as
// work that is long would rather not keep them in registers.
__device__ inline u32 at_hand() { return *(volatile u32*)&ticket; }
__device__ inline u32 of_all() { return *(volatile u32*)&tickets; }

// each_ticket calls work(i) for the tickets that fall to this CTA, one after the other,
// with all threads. The next ticket is on its way while the present one is worked on,
// so that nobody waits for it. (Not under ORDERED: a CTA that holds two tickets is twice
// as many steps behind the others.)
template <class Work> __device__ inline void each_ticket(u32 n, const Work& work) {
  if (thread() == 0) tickets = n;
  u32 next = thread() == 0 ? take(n) : 0;
  for (;;) {
    __syncthreads();  // nobody reads the last ticket any more
    if (thread() == 0) ticket = next;
    __syncthreads();
    if (at_hand() >= of_all()) return;
    if (thread() == 0 && job.discipline != ORDERED) next = take(of_all());
    work(at_hand());
    if (thread() == 0 && job.discipline == ORDERED) next = take(of_all());
  }
}

// Approximations, good to 2^-22 or better, of one to three instructions. A division
// or an exponential of full precision would be a subroutine of 30 to 130.
__device__ inline float inverse(float v) { return __nvvm_rcp_approx_ftz_f(v); }
__device__ inline float exponential(float v) { return __nvvm_ex2_approx_ftz_f(v * 1.44269504f); }
__device__ inline float logarithm(float v) { return __nvvm_lg2_approx_ftz_f(v) * 0.693147181f; }
