// sparse_local.h keeps the weights of the columns that occur most often, and the bias, in
// shared memory. Were they written to device memory at every step, a few addresses would
// get most of the traffic: of imdb's rows ten columns are in over 80 % and 512 make up
// 56 % of the entries.
//
// Such a weight is base + gain: base is what device memory had last, gain what this CTA
// has added since. Every merge_every steps of a CTA one of its warps adds the gains to the
// weights and takes over what they are then. Additions and merges are atomic, so no
// update is lost; all of them are stale by up to CTAs x merge_every steps.
//
// In job.idx the top bit marks such a column, and the rest is its slot; job.plan has the
// columns of the slots. The columns stay where they are: as neighbours the most frequent would
// share a sector of memory.
//
// Without job.plan the slots are the biases alone, one an output: no entry is marked. Each step
// changes them, so that all of a GPU's steps would add to one sector.
#pragma once

#include "sparse.h"

constexpr int SLOTS = 512;  // at most; a bias has the last that is used
constexpr u32 MARK = 0x80000000;

// place_of is an address in shared memory as asm takes it.
template <class T> __device__ inline u32 place_of(T& v) { return (u32)(u64)(__attribute__((address_space(3))) T*)&v; }

struct Local {
  float base, gain;
};
__shared__ __attribute__((aligned(8))) Local locals[SLOTS];
__shared__ u32 local_steps;  // steps since the last merge

__device__ inline bool is_local(u32 column) { return (i32)column < 0; }
__device__ inline u32 slot_of(u32 column) { return column & ~MARK; }

// Slots are what they are for, as far as is known when this is compiled.
enum Slots { COLUMNS, BIASES, EITHER };

// weight_of is where among the weights that of a slot is.
template <Slots kind> __device__ inline i64 weight_of(int slot) {
  return kind == COLUMNS || (kind == EITHER && job.plan) ? job.plan[slot] : job.features * job.outputs + slot;
}

// column_of is the column that an entry of job.idx stands for.
__device__ inline u32 column_of(u32 column) { return is_local(column) ? (u32)job.plan[slot_of(column)] : column; }

__device__ inline float local_weight(u32 slot) {
  return *(const volatile float*)&locals[slot].base + *(const volatile float*)&locals[slot].gain;
}
// local_parts sets base and gain to those of a local column, to zero for another one, without a
// branch around it.
__device__ inline void local_parts(u32 column, float& base, float& gain) {
  base = gain = 0;
  asm volatile("{ .reg .pred local; setp.lt.s32 local, %3, 0; @local ld.volatile.shared.v2.f32 {%0, %1}, [%2]; }"
               : "+f"(base), "+f"(gain) : "r"(place_of(locals) + slot_of(column) * (u32)sizeof(Local)), "r"(column) : "memory");
}
__device__ inline void local_add(u32 slot, float v) {
  asm volatile("red.relaxed.cta.shared.add.f32 [%0], %1;" ::"r"(place_of(locals[slot].gain)), "f"(v) : "memory");
}

// merge is for the slots first, first+stride, ...
template <Slots kind> __device__ inline void merge(int first, int stride) {
  constexpr int AHEAD = kind == BIASES ? 1 : 4;
  const int n = small(job.locals);
#pragma unroll 1
  for (int s = first; s < n; s += AHEAD * stride) {
    float w[AHEAD];
    i64 at[AHEAD];
#pragma unroll
    for (int q = 0; q < AHEAD; q++) {
      at[q] = s + q * stride < n ? weight_of<kind>(s + q * stride) : -1;
      w[q] = at[q] >= 0 ? job.w.load(at[q]) : 0;
    }
#pragma unroll
    for (int q = 0; q < AHEAD; q++) {
      if (at[q] < 0) continue;
      float g;
      asm volatile("atom.relaxed.cta.shared.exch.b32 %0, [%1], 0;" : "=f"(g) : "r"(place_of(locals[s + q * stride].gain)) : "memory");
      if (g != 0) job.out.add(at[q], g);
      *(volatile float*)&locals[s + q * stride].base = w[q] + g;
    }
  }
}

// local_begin and local_end are for all threads of the CTA, local_step for a warp after its step.
__device__ inline void local_begin() {
  for (int s = thread(); s < small(job.locals); s += THREADS) locals[s] = {job.w.load(weight_of<EITHER>(s)), 0};
  if (thread() == 0) local_steps = 0;
  __syncthreads();
}
template <Slots kind> __device__ inline void local_step() {
  u32 before = 0;
  if (lane() == 0)
    asm volatile("atom.relaxed.cta.shared.inc.u32 %0, [%1], %2;" : "=r"(before) : "r"(place_of(local_steps)), "r"(small(job.merge_every) - 1) : "memory");
  if (from_lane((int)before, 0) == small(job.merge_every) - 1) merge<kind>(lane(), 32);
}
__device__ inline void local_end() {
  __syncthreads();
  merge<EITHER>(thread(), THREADS);
}
