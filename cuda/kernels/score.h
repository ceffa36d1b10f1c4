// score.h adds up how good a model is: what every evaluation writes to sums, SUMS doubles
// a CTA: rows, loss, rows classified correctly, squared error, sum of y, sum of y^2, 0, 0.
#pragma once

#include "loss.h"

constexpr int BLOCK = 64;  // rows to a ticket
constexpr int SUMS = 8;

struct Score {
  double n, loss, correct, squared, y, y2;
};

__shared__ Score scores[WARPS];

__device__ inline void begin_scores() {
  if (lane() == 0) scores[warp()] = {};
}

// score adds a sample with outputs z, as loss.h has them, to the warp's sums.
template <class Z> __device__ inline void score(Z z, float y) {
  const int k = small(job.outputs);
  const int chosen = decide(z, k);
  const double e = lane() == 0 ? (double)z[0] - y : 0;
  const float loss = deltas(job.loss_kind, z, k, y, 1);
  if (lane() != 0) return;
  Score& sum = scores[warp()];
  const bool values = small(job.classes) == 0;
  sum.n += 1;
  sum.loss += loss;
  sum.correct += !values && chosen == (int)y;
  sum.squared += values ? e * e : 0;
  sum.y += values ? y : 0;
  sum.y2 += values ? (double)y * y : 0;
}

// end_scores writes the CTA's. A barrier has gone before.
__device__ inline void end_scores() {
  if (thread() >= SUMS) return;
  double total = 0;
  for (int w = 0; w < WARPS && thread() < 6; w++) total += ((const double*)&scores[w])[thread()];
  job.sums[cta() * SUMS + thread()] = total;
}
