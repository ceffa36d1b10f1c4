// evaluate.cu: loss and errors of any model that linear.cu or mlp.cu trains, on the rows
// rows[0] .. rows[start[1]-1]. Weights that are being trained meanwhile may be read.
//
// Launch: THREADS (256) threads a CTA, any number of CTAs; no dynamic shared memory
// (38 KB static). A ticket is BLOCK (64) rows. Scratch, floats a CTA:
//
//	8 * (2 * (sum of the hidden widths) + outputs)
//
// sums gets what score.h says, SUMS doubles a CTA, written, not added to. The fields out, velocity, lr,
// loss, taken, steps and max_batch are not looked at.
#include "net.h"
#include "score.h"

__shared__ Turn turn;

__device__ inline void evaluate_block(u32 block) {
  const int end = job.start[1];
  for (int first = block * BLOCK; first < end && first < (int)(block + 1) * BLOCK; first += GROUP) {
    const int batch = end - first < GROUP ? end - first : GROUP;
    if (warp() == 0) turn.set(first, batch);
    __syncthreads();
    const float y = warp() < batch ? label(first + warp()) : 0;
    Global<float>* z = outputs<GROUP>(turn, 0, true);
    if (warp() < batch) score(z + warp(), y);
    __syncthreads();
  }
}

extern "C" __global__ void __launch_bounds__(THREADS, 2) evaluate(const Job* from) {
  read_job(job, from);
  begin_scores();
  read_layers();
  zero_row<GROUP>();
  each_ticket((job.start[1] + BLOCK - 1) / BLOCK, [](u32 i) INLINE { evaluate_block(i); });
  end_scores();
}
