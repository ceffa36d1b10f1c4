// micro.cu measures the machine, not a model: what additions to few and to many weights
// cost, how long a load takes, how fast bytes become floats, how late a running kernel
// sees what the host writes. cuda/microbench_test.go has the cases. All other kernels' rules on
// weights hold for the loads and additions here, but for the scope, which is what some of
// the cases compare.
//
// Launch: THREADS (256) threads a CTA, any number of CTAs; no dynamic shared memory, no
// scratch. A loop is never longer than its count says.
#include "dev.h"

// Micro is what a kernel here is told. A lane adds and loads at
//
//	base + piece % pieces * step + lane / per * apart + lane % per * width
//
// in floats, of piece p, p+1, ...: each warp begins with its own.
struct Micro {
  Weights base;
  Global<u64>* out;  // of thread 0 of CTA 0: clocks, nanoseconds, what it saw last; after SUMS words a float of each thread
  i64 times;         // turns of a warp, eight accesses each
  i64 pieces, step;
  i64 per, apart;
  i64 width;
  i64 lanes;         // of a warp, that take part
};
static_assert(sizeof(Micro) == 9 * 8);

__shared__ Micro micro;

constexpr int EACH = 8;
constexpr int SUMS = 8;

__device__ inline u64 clock() { return __nvvm_read_ptx_sreg_clock64(); }
__device__ inline u64 nanoseconds() { return __nvvm_read_ptx_sreg_globaltimer(); }

// timed runs work and notes how long it took.
template <class Work> __device__ inline void timed(const Micro* from, const Work& work) {
  read_job(micro, from);
  const u64 c = clock(), n = nanoseconds();
  const u64 seen = work();
  if (cta() != 0 || thread() != 0) return;
  micro.out[0] = clock() - c;
  micro.out[1] = nanoseconds() - n;
  micro.out[2] = seen;
}

// keep writes a thread's sum of what it loaded: no load is left out, and a test can count them.
__device__ inline void keep(float sum) { ((Global<float>*)(micro.out + SUMS))[cta() * THREADS + thread()] = sum; }

// access calls f(at) for this lane's accesses, one after the other.
template <class F> __device__ inline void access(const F& f) {
  const i64 mine = lane() / (int)micro.per * micro.apart + lane() % (int)micro.per * micro.width;
  if (lane() >= (int)micro.lanes) return;
  u32 piece = (cta() * WARPS + warp()) % (u32)micro.pieces;
  const u32 pieces = (u32)micro.pieces;
#pragma unroll 1
  for (i64 i = 0; i < micro.times; i++) {
#pragma unroll
    for (int k = 0; k < EACH; k++) {
      f(piece * micro.step + mine);
      piece = piece + 1 < pieces ? piece + 1 : 0;
    }
  }
}

extern "C" __global__ void __launch_bounds__(THREADS) micro_add(const Micro* from) {
  timed(from, []() INLINE { return access([](i64 at) INLINE { micro.base.add(at, 1); }), 0; });
}

extern "C" __global__ void __launch_bounds__(THREADS) micro_add_gpu(const Micro* from) {
  timed(from, []() INLINE {
    access([](i64 at) INLINE { asm volatile("red.relaxed.gpu.global.add.f32 [%0], %1;" ::"l"(micro.base.at + at), "f"(1.0f) : "memory"); });
    return 0;
  });
}

// Vectors of four are one instruction from Hopper on, four before.
extern "C" __global__ void __launch_bounds__(THREADS) micro_add_vector(const Micro* from) {
  timed(from, []() INLINE {
    access([](i64 at) INLINE {
#if __CUDA_ARCH__ >= 900
      asm volatile("red.relaxed.sys.global.add.v4.f32 [%0], {%1, %1, %1, %1};" ::"l"(micro.base.at + at), "f"(1.0f) : "memory");
#else
      for (int i = 0; i < 4; i++) micro.base.add(at + i, 1);
#endif
    });
    return 0;
  });
}

extern "C" __global__ void __launch_bounds__(THREADS) micro_store(const Micro* from) {
  timed(from, []() INLINE { return access([](i64 at) INLINE { micro.base.store(at, 1); }), 0; });
}

// micro_read loads where micro_add adds.
extern "C" __global__ void __launch_bounds__(THREADS) micro_read(const Micro* from) {
  timed(from, []() INLINE {
    float sum = 0;
    access([&](i64 at) INLINE { sum += micro.base.load(at); });
    return keep(sum), 0;
  });
}

// micro_read_add does both in turn, as a step does with its weights: an addition waits for its load.
extern "C" __global__ void __launch_bounds__(THREADS) micro_read_add(const Micro* from) {
  timed(from, []() INLINE {
    float sum = 0;
    access([&](i64 at) INLINE {
      const float v = micro.base.load(at);
      micro.base.add(at, v * 0 + 1);
      sum += v;
    });
    return keep(sum), 0;
  });
}

// A weak load is one that the compiler may take for unshared memory: it may be served from the L1 cache.
__device__ inline float load_gpu(i64 at) {
  float v;
  asm volatile("ld.relaxed.gpu.global.f32 %0, [%1];" : "=f"(v) : "l"(micro.base.at + at) : "memory");
  return v;
}
__device__ inline float load_weak(i64 at) {
  float v;
  asm volatile("ld.weak.global.f32 %0, [%1];" : "=f"(v) : "l"(micro.base.at + at) : "memory");
  return v;
}

// loads keeps eight in flight, of width floats a lane.
template <class Load> __device__ inline void loads(const Micro* from, int width, const Load& load) {
  timed(from, [&]() INLINE {
    const i64 mine = lane() * width, warps = (i64)ctas() * WARPS;
    float sum = 0;
    i64 piece = (i64)cta() * WARPS + warp();
#pragma unroll 1
    for (i64 i = 0; i < micro.times; i++) {
      float v[EACH];
#pragma unroll
      for (int k = 0; k < EACH; k++) {
        v[k] = load(piece * (32 * width) + mine);
        piece += warps;
        if (piece >= micro.pieces) piece -= micro.pieces;
      }
#pragma unroll
      for (int k = 0; k < EACH; k++) sum += v[k];
    }
    return keep(sum), 0;
  });
}

extern "C" __global__ void __launch_bounds__(THREADS) micro_load(const Micro* from) {
  loads(from, 1, [](i64 at) INLINE { return micro.base.load(at); });
}
extern "C" __global__ void __launch_bounds__(THREADS) micro_load_gpu(const Micro* from) { loads(from, 1, load_gpu); }
extern "C" __global__ void __launch_bounds__(THREADS) micro_load_weak(const Micro* from) { loads(from, 1, load_weak); }
extern "C" __global__ void __launch_bounds__(THREADS) micro_load_vector(const Micro* from) {
  loads(from, 4, [](i64 at) INLINE {
    const f4 v = micro.base.load4(at);
    return v.x + v.y + v.z + v.w;
  });
}

// chase follows a chain: each word says where the next one is.
template <class Load> __device__ inline void chase(const Micro* from, const Load& load) {
  timed(from, [&]() INLINE {
    u32 at = 0;
    if (thread() == 0 && cta() == 0)
#pragma unroll 1
      for (i64 i = 0; i < micro.times; i++) at = __builtin_bit_cast(u32, load(at));
    return (u64)at;
  });
}

extern "C" __global__ void __launch_bounds__(THREADS) micro_chase(const Micro* from) {
  chase(from, [](i64 at) INLINE { return micro.base.load(at); });
}
extern "C" __global__ void __launch_bounds__(THREADS) micro_chase_gpu(const Micro* from) { chase(from, load_gpu); }
extern "C" __global__ void __launch_bounds__(THREADS) micro_chase_weak(const Micro* from) { chase(from, load_weak); }

// micro_bytes makes floats of 32 bytes a turn.
extern "C" __global__ void __launch_bounds__(THREADS) micro_bytes(const Micro* from) {
  timed(from, []() INLINE {
    u32 bytes[EACH];
    float sum[4] = {};
#pragma unroll
    for (int k = 0; k < EACH; k++) bytes[k] = thread() * 0x01010101u + k;
#pragma unroll 1
    for (i64 i = 0; i < micro.times; i++)
#pragma unroll
      for (int k = 0; k < EACH; k++) {
#pragma unroll
        for (int b = 0; b < 4; b++) sum[b] += (float)(bytes[k] >> 8 * b & 0xff);
        bytes[k] += (u32)i;
      }
    return (u64)(sum[0] + sum[1] + sum[2] + sum[3] == 0.25f);
  });
}

// micro_multiply has 64 multiplications and additions a turn, in eight chains.
extern "C" __global__ void __launch_bounds__(THREADS) micro_multiply(const Micro* from) {
  timed(from, []() INLINE {
    float v[EACH];
    const float a = 1 + (float)micro.step;
#pragma unroll
    for (int k = 0; k < EACH; k++) v[k] = (float)thread() + k;
#pragma unroll 1
    for (i64 i = 0; i < micro.times; i++)
#pragma unroll
      for (int n = 0; n < 8; n++)
#pragma unroll
        for (int k = 0; k < EACH; k++) v[k] = v[k] * a + 1;
    float sum = 0;
#pragma unroll
    for (int k = 0; k < EACH; k++) sum += v[k];
    return (u64)(sum == 0.25f);
  });
}

// micro_wait looks at the first word until it is not 0, or times turns have passed.
extern "C" __global__ void __launch_bounds__(THREADS) micro_wait(const Micro* from) {
  timed(from, []() INLINE {
    u32 seen = 0;
    i64 i = 0;
    if (thread() == 0 && cta() == 0) {
      micro.out[3] = 1;  // it runs
#pragma unroll 1
      for (; i < micro.times && seen == 0; i++)
        asm volatile("ld.relaxed.sys.global.u32 %0, [%1];" : "=r"(seen) : "l"(micro.base.at) : "memory");
    }
    return (u64)(seen ? i : 0);
  });
}

extern "C" __global__ void __launch_bounds__(THREADS) micro_nothing(const Micro*) {}
