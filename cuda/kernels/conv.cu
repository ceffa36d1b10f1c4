// conv.cu: a step of a convolutional network, and its evaluation: convolutions of any
// kernel with max-pooling, dropout of channels and ReLU, then fully connected layers with
// ReLU and dropout. The plan (conv.h) says which.
//
// Launch: THREADS (512) threads a CTA, any number of CTAs; no dynamic shared memory (47 KB
// static). Scratch, floats a CTA, as in conv.h.
//
// A step packs the weights of the convolutions, takes its samples through the network and
// back, a group at a time, and adds the gradient up in scratch; only then it is pushed, all
// weights in their order. So one CTA alone computes what serial SGD computes.
//
// conv_tensor.cu is the same with the products of the convolutions on tensor cores. What each costs is counted in
// docs/results/kernels.md.
//
// Left out: pushes of a step's only group without sums, fetching the next images ahead, and dropped
// channels on the way forth.
#define CTA_THREADS 512
#include "conv_tensor_back.h"
#include "conv_back.h"
#include "conv_forth.h"
#include "conv_full.h"
#include "optimizer.h"
#include "score.h"
#include "guard.h"

__shared__ double loss;  // of the step, summed

// learn_group adds the loss and the gradient of the group.
template <class F> __device__ inline void learn_group(F room) {
  if constexpr (TILES) forth_tiles(room);
  else forth(room);
  const auto z = outputs(room);
  if (const int s = warp(); s < group.count) {
    const float mine = deltas(job.loss_kind, z, small(job.outputs), label(group.first + s), inverse((float)(group.end - group.start)));
    if (lane() == 0) losses[s] = mine;
  }
  const auto x = as<f4>(room + plan.full[0].x);
  back_full(room, [&](int i, f4 v) INLINE {
    if constexpr (TILES) spread_last(room, i, v);
    else x[i] = v;
  });
  if (thread() == 0)
#pragma unroll 1
    for (int s = 0; s < group.count; s++) loss += losses[s];
  if constexpr (TILES) back_tiles(room);
  else back(room);
}

// push_plain adds the step of all weights by plain SGD. What is zero is not added: a channel that was dropped costs no traffic.
__device__ inline void push_plain() {
  constexpr int AHEAD = 4, EACH = VECTORS ? 4 : 1;
  const float scale = optimizer.scale;
  const int n = small(job.weights);
  const Weights out = job.out;
#pragma unroll 1
  for (int base = EACH * thread(); base < n; base += AHEAD * EACH * THREADS) {
    f4 g[AHEAD];
#pragma unroll
    for (int k = 0; k < AHEAD; k++) {
      const int at = base + k * EACH * THREADS;
      g[k] = 0;
      if (VECTORS && at + 4 <= n) g[k] = *(Global<const f4>*)(sums() + at);
      else if (at < n)
        for (int e = 0; e < EACH && at + e < n; e++) g[k][e] = sums()[at + e];
    }
#pragma unroll
    for (int k = 0; k < AHEAD; k++) {
      const int at = base + k * EACH * THREADS;
#if __CUDA_ARCH__ >= 900
      if (at + 4 <= n) {
        if (g[k].x != 0 || g[k].y != 0 || g[k].z != 0 || g[k].w != 0) out.add4(at, scale * g[k]);
        continue;
      }
#endif
      for (int e = 0; e < EACH; e++)
        if (g[k][e] != 0) out.add(at + e, scale * g[k][e]);
    }
  }
}

// push adds the step of n weights to them.
__device__ inline void push(i64 from, int n, bool decays) {
  constexpr int AHEAD = 2;
  const bool regularizes = decays && optimizer.regularizes();
  Global<const float>* sum = sums() + from;
#pragma unroll 1
  for (int base = thread(); base < n; base += AHEAD * THREADS) {
    float g[AHEAD];
#pragma unroll
    for (int k = 0; k < AHEAD; k++) {
      g[k] = 0;
      if (base + k * THREADS < n) g[k] = sum[base + k * THREADS];
    }
#pragma unroll
    for (int k = 0; k < AHEAD; k++) {
      const i64 at = from + base + k * THREADS;
      if (base + k * THREADS >= n) continue;
      const float w = regularizes ? job.w.load(at) : 0;
      if (regularizes) g[k] += optimizer.l2 * w;
      if (g[k] == 0 && !optimizer.everywhere()) continue;
      const float step = update(at, g[k]);
      job.out.add(at, regularizes && optimizer.l1 != 0 ? soft_threshold(w, step) : step);
    }
  }
}

__device__ inline void push_all() {
  if (optimizer.kind == SGD && !optimizer.regularizes()) {
    push_plain();
    return;
  }
#pragma unroll 1
  for (int l = 0; l < plan.convs; l++) {
    const Conv& c = plan.conv[l];
    push(c.weight, c.out * c.taps(), true);
    if (c.bias >= 0) push(c.bias, c.out, false);
  }
#pragma unroll 1
  for (int l = 0; l < plan.fulls; l++) {
    const Full& f = plan.full[l];
    push(f.weight, f.out * f.in, true);
    if (f.bias >= 0) push(f.bias, f.out, false);
  }
}

__shared__ u32 coming;  // ticket

// step takes the one at hand. The next ticket is taken meanwhile: see each_ticket.
__device__ inline void step() {
  set_scale(at_hand());
  if (thread() == 0) loss = 0;
  reads(Cta(), at_hand());
  if constexpr (TILES) pack_tiles();
  else pack();
  if (thread() == THREADS - 32 && job.discipline != ORDERED) coming = take(of_all());  // this warp has little to bring
  each_group([] INLINE {
    if (TILES || on_chip()) learn_group((Shared<float>*)room);
    else if constexpr (!TILES) learn_group(far_room());
  });
  if (thread() == 0) job.loss[at_hand()] = (float)loss;
  writes(Cta(), at_hand());
  if (group.end > group.start) push_all();
  wrote(Cta(), at_hand());
  if (thread() == THREADS - 32 && job.discipline == ORDERED) coming = take(of_all());
}

__device__ inline void each_step() {
  if (thread() == 0) tickets = (u32)job.steps, coming = take(tickets);
  for (;;) {
    __syncthreads();
    if (thread() == 0) {
      ticket = coming;
      if (ticket < tickets) start(job.start[ticket], job.start[ticket + 1], true);
    }
    __syncthreads();
    if (at_hand() >= of_all()) return;
    step();
  }
}

#ifdef TENSOR
#define NAME conv_tensor
#else
#define NAME conv_step
#endif

extern "C" __global__ void __launch_bounds__(THREADS, 1) NAME(const Job* from) {
  read_job(job, from);
  read_optimizer();
  read_plan();
#ifdef TENSOR
  prepare_tiles();
#endif
  each_step();
}

#ifndef TENSOR
template <class F> __device__ inline void score_group(F room) {
  forth(room);
  const auto z = outputs(room);
  if (warp() < group.count) score(z, label(group.first + warp()));
}

__device__ inline void score(u32 block) {
  const int first = block * BLOCK, rows = job.start[1];
  if (thread() == 0) start(first, rows < first + BLOCK ? rows : first + BLOCK, false);
  __syncthreads();
  each_group([] INLINE {
    if (on_chip()) score_group((Shared<float>*)room);
    else score_group(far_room());
  });
}

extern "C" __global__ void __launch_bounds__(THREADS, 1) conv_evaluate(const Job* from) {
  read_job(job, from);
  read_plan();
  begin_scores();
  __syncthreads();
  pack();
  each_ticket((job.start[1] + BLOCK - 1) / BLOCK, [](u32 i) INLINE { score(i); });
  __syncthreads();
  end_scores();
}
#endif
