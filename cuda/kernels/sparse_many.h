// sparse_many.h is a step of plain SGD with several outputs, by a warp. Outputs, which
// become deltas, are in scratch as loss.h has them: 8 rows x outputs at a time.
#pragma once

#include "sparse_local.h"

// of_row is where output 0 of a step's row r is.
__device__ inline Global<float>* of_row(Global<float>* z, int r) {
  return z + (i64)(r / GROUP) * GROUP * small(job.outputs) + r % GROUP;
}

// push_row adds g times the row's gradient to the weights. z are the row's deltas.
__device__ inline void push_row(const Spread& s, Row row, Global<const float>* z, float g, const Regularizers& regularizers) {
  const Weights w = job.w, out = job.out;
  const bool racy = small(job.racy), look = racy || regularizers.any();
  each(s, row, 0, 1, [&](int c, u32 column, float x) INLINE {
    const i64 at = (i64)column * s.k + c;
    const float was = look ? w.load(at) : 0;
    float v = g * z[c * GROUP] * x;
    if (regularizers.any()) v = regularizers.of(was, v, column);
    if (racy) out.store(at, was + v);
    else if (v != 0) out.add(at, v);
  });
}

// push_biases adds g times the sum of the rows' deltas to the biases.
__device__ inline void push_biases(const Spread& s, int rows, Global<float>* z, float g) {
  if (small(job.bias) == 0) return;
#pragma unroll 1
  for (int c = lane(); c < s.k; c += 32) {
    float sum = 0;
#pragma unroll 1
    for (int r = 0; r < rows; r++) sum += of_row(z, r)[c * GROUP];
    const i64 at = job.features * s.k + c;
    if (small(job.locals)) local_add(c, g * sum);
    else if (small(job.racy)) job.out.store(at, job.w.load(at) + g * sum);
    else job.out.add(at, g * sum);
  }
}

__device__ inline void step_many(const Spread& s, u32 i, int from, int rows, Global<float>* z) {
  const float lr = job.lr[i], mean = inverse((float)rows);
  const Regularizers regularizers = {lr * (float)job.l2 * mean, lr * (float)job.l1 * mean};
  const i64 biases = job.features * s.k;
  double loss = 0;
  reads(Warp(), i, [&](u32 r) INLINE { return a_weight(row_at(from), r, [](u32 column) INLINE { return column; }); });
#pragma unroll 1
  for (int r = 0; r < rows; r++) {
    outputs(s, row_at(from + r), of_row(z, r), [&](int c) INLINE { return small(job.locals) ? local_weight(c) : job.w.load(biases + c); });
    loss += deltas(job.loss_kind, of_row(z, r), s.k, label(from + r), mean);
  }
  writes(Warp(), i);
  regularizers.phases(rows, -lr, [&](const Regularizers& now, float g) INLINE {
#pragma unroll 1
    for (int r = 0; r < rows && (g != 0 || now.any()); r++) {
      Warp::sync();  // deltas are there, and the row before has been pushed
      push_row(s, row_at(from + r), of_row(z, r), g, now);
    }
  });
  push_biases(s, rows, z, -lr * (float)job.bias_step);
  if (lane() == 0) job.loss[i] = (float)loss;
  wrote(Warp(), i, 0);
  if (small(job.locals)) local_step<BIASES>();
}
