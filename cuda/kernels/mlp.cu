// mlp.cu: a step of a multilayer perceptron with ReLU, of up to 9 layers of any width,
// and of linear models with more outputs than linear.cu takes. mlp_one.cu is
// for steps of one sample, mlp_tensor.cu for products in tf32.
//
// Launch: THREADS (512) threads a CTA, any number of CTAs; no dynamic shared memory
// (38 KB static). Scratch, floats a CTA, as in net.h:
//
//	8 * ceil(max_batch/8) * (2 * (sum of the hidden widths) + outputs)
//
// Forward, losses, the deltas of all layers backwards, and only then the pushes, so that
// one CTA alone computes what serial SGD computes. Eight samples at a time go through
// the layers; in each the inputs that are zero in all eight are left out (stage.h), for
// arithmetic and, where a step is up to 8 samples, for the push.
//
// Left out: outputs and deltas in shared memory (they go through L1 and L2, a few
// percent at 784-128-10), leaving out zeros in the push of longer steps.
#ifndef ONE
#define CTA_THREADS 512
#endif
#include "net.h"

__shared__ double loss;  // of the step, summed

// grade_all turns all groups' outputs into deltas and sums the losses up.
template <int S> __device__ inline void grade_all() {
  if (thread() == 0) loss = 0;
#pragma unroll 1
  for (int g = 0; g < net.groups; g++) {
    const int mine = g * GROUP + warp();
    const float y = mine < net.batch ? label(net.first + mine) : 0;
    Global<float>* z = outputs<S>(g, !optimizer.everywhere());
    if (warp() < S) grade(z, small(job.outputs), y, net.batch - g * GROUP, inverse((float)net.batch));
    __syncthreads();
    if (thread() == 0)
      for (int s = 0; s < S; s++) loss += losses[s];
  }
}

// spread takes the deltas back to the first layer, after a barrier. Behind those of forward and
// back no weight is read any more that is written later.
template <int S> __device__ inline void spread() {
#pragma unroll 1
  for (int l = small(job.layers) - 1; l > 0; l--)
#pragma unroll 1
    for (int g = 0; g < net.groups; g++) {
      if constexpr (TILES) back_tiles(layers[l], whole(held), (Global<const float>*)deltas_in[l], inputs[l].units, (Global<float>*)deltas_in[l - 1]);
      else back<S>(layers[l], net.deltas(l, g), net.units(l - 1, g), net.deltas(l - 1, g));
    }
}

template <int S> __device__ inline void push_all() {
#pragma unroll 1
  for (int l = 0; l < small(job.layers); l++) {
    if constexpr (TILES) {
      if (l == 0 && held) prepare_push<GROUP>(inputs[0], Rounded{(u32)layers[0].out});
      push_tiles(layers[l], inputs[l], l == 0 ? held : 0, (Global<const float>*)deltas_in[l]);
      continue;
    }
    push<true, S>(layers[l], inputs[l], 0, [&](int g, int o, f4& lo, f4& hi) INLINE {
      i64 at = 2 * ((i64)g * layers[l].out + o);
      lo = deltas_in[l][at], hi = deltas_in[l][at + 1];
    });
  }
}

template <int S> __device__ inline void step(u32 i) {
  set_scale(i);
  begin(job.start[i], job.start[i + 1] - job.start[i]);
  reads(Cta(), i);
  grade_all<S>();
  if (thread() == 0) job.loss[at_hand()] = (float)loss;
  spread<S>();
  writes(Cta(), at_hand());
  if (net.batch > 0) push_all<S>();
  wrote(Cta(), at_hand());
}

#ifdef TENSOR
#define NAME mlp_tensor
#else
#define NAME mlp_step
#endif

#ifndef ONE
extern "C" __global__ void __launch_bounds__(THREADS, 1) NAME(const Job* from) {
  read_job(job, from);
  read_optimizer();
  read_layers();
#ifdef TENSOR
  read_widest();
#endif
  zero_row<GROUP>();
  each_ticket((u32)job.steps, [](u32 i) INLINE { step<GROUP>(i); });
}
#else
extern "C" __global__ void __launch_bounds__(THREADS, 3) mlp_one(const Job* from) {
  read_job(job, from);
  read_optimizer();
  read_layers();
  zero_row<1>();
  each_ticket((u32)job.steps, [](u32 i) INLINE { step<1>(i); });
}
#endif
