// turn.h lets a CTA go from step to step without barriers in between. Of two turns one is the step at hand and one the next, which
// is announced while this one is worked on: a step that is pushed by some warps is followed by the next one in others, up to its
// first barrier. A Turn has a ticket, and a method set(start, count) for the lanes of a warp.
#pragma once

#include "optimizer.h"

template <class Turn> __shared__ Turn turns[2];

constexpr int CLERK = THREADS - 32;  // the first lane of the warp that announces: it grades no sample

// put makes it the turn of step i, by the clerk's warp.
template <class Turn> __device__ inline void put(Turn& to, u32 i) {
  if (thread() == CLERK) to.ticket = i;
  if (i < (u32)small(job.steps)) to.set(job.start[i], job.start[i + 1] - job.start[i]);
}

// early tells whether a CTA takes a ticket while it has one: see each_ticket.
__device__ inline bool early() { return job.discipline != ORDERED; }

// Ahead is the turn that comes.
template <class Turn> struct Ahead {
  Turn& turn;
  u32 ticket;  // the clerk's; it may be on its way still

  // announce also sets the scale of step i, which is at hand. It is for all threads, between two barriers of that step.
  __device__ void announce(u32 i) const {
    if (thread() < CLERK) return;
    set_scale(i, CLERK);
    if (early()) put(turn, __nvvm_shfl_sync_idx_i32(ALL, ticket, 0, 31));
  }
  // idle is a step without rows.
  __device__ void idle(u32 i) const {
    __syncthreads();
    announce(i);
    __syncthreads();
  }
};

// each_turn calls step(own, ahead) with all threads for the tickets that fall to this CTA. Before its first barrier step changes nothing
// that another warp may need for the push of the step before.
template <class Turn, class Step> __device__ inline void each_turn(const Step& step) {
  auto next = [&](bool mine) INLINE { return mine && thread() == CLERK ? take((u32)small(job.steps)) : 0; };
  auto announce = [&](Turn& to) INLINE {
    const u32 ticket = next(true);
    if (thread() >= CLERK) put(to, __nvvm_shfl_sync_idx_i32(ALL, ticket, 0, 31));
    __syncthreads();
  };
  __syncthreads();  // layers are read
  announce(turns<Turn>[0]);
#pragma unroll 1
  for (int t = 0; turns<Turn>[t].ticket < (u32)small(job.steps); t ^= 1) {
    step(turns<Turn>[t], Ahead<Turn>{turns<Turn>[1 - t], next(early())});
    if (!early()) announce(turns<Turn>[1 - t]);
  }
}
