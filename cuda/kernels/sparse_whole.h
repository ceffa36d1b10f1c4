// sparse_whole.h is a step that needs the gradient as a whole, by a CTA: that of an
// optimizer with state, or a gradient that is only kept.
//
// The rows' gradients are added up in scratch, which is as long as the weights and zero
// before and after a step; a kept one where it is kept. Momentum, adam and l2 then turn
// every weight: d k of them a step, however few occur in it. Adagrad without l2 has
// nothing to do where the gradient is zero, and goes along the rows again.
#pragma once

#include "sparse_many.h"

// each_of calls f as each does, for the rows of a step one after the other, by all threads
// of the CTA: sums do not depend on who comes first.
template <class F> __device__ inline void each_of(const Spread& s, int from, int rows, const F& f) {
#pragma unroll 1
  for (int r = 0; r < rows; r++) {
    each(s, row_at(from + r), warp(), WARPS, [&](int c, u32 column, float x) INLINE { f(r, c, column, x); });
    __syncthreads();
  }
}

// add_rows adds the gradient of the step to g, that of the regularizers left out.
__device__ inline void add_rows(const Spread& s, int from, int rows, Global<float>* z, Weights g) {
  each_of(s, from, rows, [&](int r, int c, u32 column, float x) INLINE {
    g.add((i64)column * s.k + c, of_row(z, r)[c * GROUP] * x);
  });
#pragma unroll 1
  for (int c = thread(); c < s.k && small(job.bias); c += THREADS) {
    float sum = 0;
#pragma unroll 1
    for (int r = 0; r < rows; r++) sum += of_row(z, r)[c * GROUP];
    g.add(job.features * s.k + c, sum);
  }
  __syncthreads();
}

// take_all updates every weight, and leaves g zero.
__device__ inline void take_all(Weights g) {
  const i64 decayed = job.features * job.outputs;
#pragma unroll 1
  for (i64 i = thread(); i < job.weights; i += THREADS) {
    float v = g.load(i);
    if (v != 0) g.store(i, 0);
    if (optimizer.l2 != 0 && i < decayed) v += optimizer.l2 * job.w.load(i);
    v = update(i, v);
    if (v != 0) job.out.add(i, v);
  }
}

// take updates one weight, if nobody has done so in this step.
__device__ inline void take(Weights g, i64 i) {
  const float v = g.take(i);
  if (v != 0) job.out.add(i, update(i, v));
}

__device__ inline void take_rows(const Spread& s, int from, int rows, Weights g) {
  each_of(s, from, rows, [&](int, int c, u32 column, float) INLINE { take(g, (i64)column * s.k + c); });
#pragma unroll 1
  for (int c = thread(); c < s.k && small(job.bias); c += THREADS) take(g, job.features * s.k + c);
}

// threshold_columns moves the weights of the step's columns towards zero: l1.
__device__ inline void threshold_columns(const Spread& s, int from, int rows) {
  const Regularizers regularizers = {0, optimizer.l1 * inverse((float)rows)};
  each_of(s, from, rows, [&](int, int c, u32 column, float) INLINE {
    const i64 at = (i64)column * s.k + c;
    job.out.add(at, regularizers.of(job.w.load(at), 0, column));
  });
}

__device__ inline void step_whole(const Spread& s, u32 i, Global<float>* scratch) {
  const int from = job.start[i], rows = job.start[i + 1] - from;
  const bool keep = job.gradient;
  const Weights g = keep ? job.out : Weights{scratch};
  Global<float>* z = scratch + (job.weights + 7) / 8 * 8;
  const float mean = inverse((float)rows);
  float loss = 0;
  set_scale(i);
  reads(Cta(), i);
#pragma unroll 1
  for (int r = warp(); r < rows; r += WARPS) {
    outputs(s, row_at(from + r), of_row(z, r));
    loss += deltas(job.loss_kind, of_row(z, r), s.k, label(from + r), mean);
  }
  if (lane() == 0) losses[warp()] = loss;
  __syncthreads();
  writes(Cta(), i);
  add_rows(s, from, rows, z, g);
  if (keep) {
    const i64 decayed = job.features * job.outputs;
    for (i64 w = thread(); w < decayed && optimizer.l2 != 0; w += THREADS) g.add(w, optimizer.l2 * job.w.load(w));
  } else if (optimizer.kind == ADAGRAD && optimizer.l2 == 0) {
    take_rows(s, from, rows, g);
  } else {
    take_all(g);
  }
  __syncthreads();
  if (optimizer.l1 != 0) threshold_columns(s, from, rows);
  if (thread() == 0) {
    double sum = 0;
    for (int w = 0; w < WARPS; w++) sum += losses[w];
    job.loss[i] = (float)sum;
  }
  wrote(Cta(), i);
}
