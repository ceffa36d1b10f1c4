// linear.cu: a step of a model of one layer with at most 16 outputs: softmax, logistic,
// hinge, linear and l1 regression. linear_one.cu is for steps of one sample.
//
// Launch: THREADS (512) threads a CTA, any number of CTAs; no dynamic shared memory
// (38 KB static). Scratch, floats a CTA: 0 where max_batch <= 8, else
//
//	8 * ceil(max_batch/8) * outputs
//
// A step of up to 8 samples is: bring the live inputs into shared memory (stage.h),
// z = x W by 512 threads that share W coalesced (layer.h), losses (loss.h), W -= lr x'd
// of the live inputs, coalesced too (back.h). Its outputs and deltas never leave shared
// memory. A longer step goes through the forward half 8 samples at a time, keeps the
// deltas in scratch, and sums the gradient over all before it is added.
//
// At 784-10 bytes and b 8 a warp's step is 1,210 issue slots, and was 1,900 with 256 threads: what
// each warp prepares is as much as before. Such a step has four barriers: all have counted their live inputs,
// and pushed the step before; the inputs are there; the parts of sums are there; the deltas are there.
//
// Left out: weights in registers between the two halves (they are only read in one,
// unless there is l2), bytes by fours.
#ifndef ONE
#define CTA_THREADS 512
#endif
#include "back.h"
#include "loss.h"
#include "turn.h"

constexpr int MOST = 16;  // outputs

__shared__ __attribute__((aligned(16))) float z[MOST * GROUP];  // of the group: outputs, then deltas
__shared__ double loss;  // of the step, summed by thread 0

// Turn is a step.
struct Turn {
  u32 ticket;
  i32 start;  // of its rows in job.rows
  Inputs x;

  __device__ void set(i32 first, i32 count) {
    if (lane() == 0) start = first, x = {nullptr, job.rows + first, count, small(job.features)};
  }
};

// step takes one. Its first barrier is that of stage: the tile, z, the scale and losses stay as they are until then.
template <int S> __device__ inline void step(const Turn& own, const Ahead<Turn>& ahead, Global<f4>* scratch) {
  auto i = [&]() INLINE { return *(volatile const u32*)&own.ticket; };  // read anew, as mlp.cu does
  const Layer& l = layers[0];
  const Inputs& x = own.x;
  const int groups = (x.batch + GROUP - 1) / GROUP;
  int held = 0;
  if (sampled<Cta>(i())) __syncthreads();  // what warps of this CTA still push is not what others write
  reads(Cta(), i());
  if (groups == 0) ahead.idle(i());
#pragma unroll 1
  for (int g = 0; g < groups; g++) {
    const int count = x.batch - g * GROUP;
    auto labelled = [&]() INLINE { return warp() < count ? label(own.start + g * GROUP + warp()) : 0; };
    float y = S > 1 ? labelled() : 0;
    held = forward<false, S, S == GROUP>(l, x, g, !optimizer.everywhere(), [&](int o, int s, float v, bool first, bool) INLINE {
      float& to = z[o * GROUP + s];
      to = first ? v : to + v;
    });
    if (S == 1) y = labelled();  // not before: linear_one would spill registers on sm_70
    if (g == 0) ahead.announce(i());
    if (warp() < S) grade(z, l.out, y, count, inverse((float)x.batch));
    __syncthreads();
    if (thread() == 0)
      for (int s = 0; s < S; s++) loss += losses[s];
    if (groups > 1 && thread() < 2 * l.out) scratch[2 * g * l.out + thread()] = ((f4*)z)[thread()];
  }
  if (groups > 1 || x.in > TILE) held = 0;
  if (held) prepare_push<S>(x);
  writes(Cta(), i());
  if (groups > 0)
    push<false, S>(l, x, held, [&](int g, int o, f4& lo, f4& hi) INLINE {
      if (S == 1) lo.x = z[o * GROUP];
      else if (groups == 1) lo = ((f4*)z)[2 * o], hi = ((f4*)z)[2 * o + 1];
      else lo = scratch[2 * (g * l.out + o)], hi = scratch[2 * (g * l.out + o) + 1];
    });
  if (thread() == 0) job.loss[i()] = (float)loss, loss = 0;
  wrote(Cta(), i());
}

template <int S> __device__ inline void steps() {
  zero_row<S>();
  if (thread() == 0) loss = 0;
  each_turn<Turn>([&](const Turn& own, const Ahead<Turn>& ahead) INLINE { step<S>(own, ahead, (Global<f4>*)(job.scratch + cta() * job.scratch_stride)); });
}

#ifndef ONE
extern "C" __global__ void __launch_bounds__(THREADS, 1) linear_step(const Job* from) {
  read_job(job, from);
  read_optimizer();
  read_layers();
  steps<GROUP>();
}
#else
extern "C" __global__ void __launch_bounds__(THREADS, 3) linear_one(const Job* from) {
  read_job(job, from);
  read_optimizer();
  read_layers();
  steps<1>();
}
#endif
