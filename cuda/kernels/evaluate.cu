// evaluate.cu: loss and errors of any model that linear.cu or mlp.cu trains, on the rows
// rows[0] .. rows[start[1]-1]. Weights that are being trained meanwhile may be read.
//
// Launch: THREADS (256) threads a CTA, any number of CTAs; no dynamic shared memory
// (46 KB static). A ticket is BLOCK (64) rows. Scratch, floats a CTA:
//
//	8 * (2 * (sum of the hidden widths) + outputs)
//
// sums gets SUMS doubles a CTA, written, not added to: rows, loss, rows classified
// correctly, squared error, sum of y, sum of y^2, 0, 0. The fields out, velocity, lr,
// loss, taken, steps and max_batch are not looked at.
#include "net.h"

constexpr int BLOCK = 64;
constexpr int SUMS = 8;

struct Score {
  double n, loss, correct, squared, y, y2;
};

__shared__ Score scores[WARPS];

// score adds a sample with outputs z to the warp's sums.
__device__ inline void score(Global<float>* z, float y) {
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

__device__ inline void evaluate_block(u32 block) {
  const int end = job.start[1];
  for (int first = block * BLOCK; first < end && first < (int)(block + 1) * BLOCK; first += GROUP) {
    const int batch = end - first < GROUP ? end - first : GROUP;
    begin(first, batch);
    const float y = warp() < batch ? label(first + warp()) : 0;
    Global<float>* z = outputs(0, true);
    if (warp() < batch) score(z + warp(), y);
    __syncthreads();
  }
}

extern "C" __global__ void __launch_bounds__(THREADS, 2) evaluate(const Job* from) {
  read_job(job, from);
  if (lane() == 0) scores[warp()] = {};
  read_layers();
  each_ticket((job.start[1] + BLOCK - 1) / BLOCK, [](u32 i) INLINE { evaluate_block(i); });
  if (thread() >= SUMS) return;
  double total = 0;
  for (int w = 0; w < WARPS && thread() < 6; w++) total += ((const double*)&scores[w])[thread()];
  job.sums[cta() * SUMS + thread()] = total;
}
