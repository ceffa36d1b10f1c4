// sparse_hot.h keeps the weights of the columns that occur most often, and the bias, in
// shared memory. Were they written to device memory at every step, a few addresses would
// get most of the traffic: of imdb's rows ten columns are in over 80 % and 512 make up
// 56 % of the entries.
//
// Such a weight is base + gain: base is what device memory held last, gain what this CTA
// has added since. Every flush_every steps of a CTA one of its warps adds the gains to the
// weights and takes over what they are then. Additions and the flush are atomic, so no
// update is lost; all of them are up to CTAs x flush_every steps late.
//
// In job.idx the top bit marks such a column, and the rest is its slot; job.plan has the
// columns of the slots. The columns stay where they are: as neighbours the hottest would
// share a sector of memory.
#pragma once

#include "sparse.h"

constexpr int SLOTS = 512;  // at most; a bias has the last that is used
constexpr u32 MARK = 0x80000000;

// place_of is an address in shared memory as asm takes it.
template <class T> __device__ inline u32 place_of(T& v) { return (u32)(u64)(__attribute__((address_space(3))) T*)&v; }

struct Hot {
  float base, gain;
};
__shared__ __attribute__((aligned(8))) Hot hots[SLOTS];
__shared__ u32 held;  // steps since the last flush

__device__ inline bool is_hot(u32 column) { return (i32)column < 0; }
__device__ inline u32 slot_of(u32 column) { return column & ~MARK; }

// column_of is the column that an entry of job.idx stands for.
__device__ inline u32 column_of(u32 column) { return is_hot(column) ? (u32)job.plan[slot_of(column)] : column; }

__device__ inline float hot_weight(u32 slot) {
  return *(const volatile float*)&hots[slot].base + *(const volatile float*)&hots[slot].gain;
}
// hot_parts sets base and gain to those of a hot column, to zero for another one, without a
// branch around it.
__device__ inline void hot_parts(u32 column, float& base, float& gain) {
  base = gain = 0;
  asm volatile("{ .reg .pred hot; setp.lt.s32 hot, %3, 0; @hot ld.volatile.shared.v2.f32 {%0, %1}, [%2]; }"
               : "+f"(base), "+f"(gain) : "r"(place_of(hots) + slot_of(column) * (u32)sizeof(Hot)), "r"(column) : "memory");
}
__device__ inline void hot_add(u32 slot, float v) {
  asm volatile("red.relaxed.cta.shared.add.f32 [%0], %1;" ::"r"(place_of(hots[slot].gain)), "f"(v) : "memory");
}

// flush is for the slots first, first+stride, ...
__device__ inline void flush(int first, int stride) {
  constexpr int AHEAD = 4;
  const int n = small(job.hot);
#pragma unroll 1
  for (int s = first; s < n; s += AHEAD * stride) {
    float w[AHEAD];
    i64 at[AHEAD];
#pragma unroll
    for (int q = 0; q < AHEAD; q++) {
      at[q] = s + q * stride < n ? job.plan[s + q * stride] : -1;
      w[q] = at[q] >= 0 ? job.w.load(at[q]) : 0;
    }
#pragma unroll
    for (int q = 0; q < AHEAD; q++) {
      if (at[q] < 0) continue;
      float g;
      asm volatile("atom.relaxed.cta.shared.exch.b32 %0, [%1], 0;" : "=f"(g) : "r"(place_of(hots[s + q * stride].gain)) : "memory");
      if (g != 0) job.out.add(at[q], g);
      *(volatile float*)&hots[s + q * stride].base = w[q] + g;
    }
  }
}

// hot_begin and hot_end are for all threads of the CTA, hot_step for a warp after its step.
__device__ inline void hot_begin() {
  for (int s = thread(); s < small(job.hot); s += THREADS) hots[s] = {job.w.load(job.plan[s]), 0};
  if (thread() == 0) held = 0;
  __syncthreads();
}
__device__ inline void hot_step() {
  u32 before = 0;
  if (lane() == 0)
    asm volatile("atom.relaxed.cta.shared.inc.u32 %0, [%1], %2;" : "=r"(before) : "r"(place_of(held)), "r"(small(job.flush_every) - 1) : "memory");
  if (from_lane((int)before, 0) == small(job.flush_every) - 1) flush(lane(), 32);
}
__device__ inline void hot_end() {
  __syncthreads();
  flush(thread(), THREADS);
}
