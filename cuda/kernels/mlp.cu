// mlp.cu: a step of a multilayer perceptron with ReLU, of up to 9 layers of any width,
// and of linear models with more outputs than linear.cu takes. mlp_one is for launches
// whose steps have one sample each: its rows of inputs are single floats.
//
// Launch: THREADS (256) threads a CTA, any number of CTAs; no dynamic shared memory
// (46 KB static). Scratch, floats a CTA, as in net.h:
//
//	8 * ceil(max_batch/8) * (2 * (sum of the hidden widths) + outputs)
//
// Forward, losses, the deltas of all layers backwards, and only then the pushes, so that
// one CTA alone computes what serial SGD computes. Eight samples at a time go through
// the layers; in each the inputs that are zero in all eight are left out (stage.h), for
// arithmetic and, where a step is up to 8 samples, for the push.
//
// Left out: outputs and deltas in shared memory (they go through L1 and L2, a few
// percent at 784-128-10), leaving out zeros in the push of longer steps, tensor cores.
#include "net.h"

__shared__ double loss;  // of the step, summed

// grade_all turns all groups' outputs into deltas and sums the losses up.
template <int S, bool tiles> __device__ inline void grade_all() {
  if (thread() == 0) loss = 0;
#pragma unroll 1
  for (int g = 0; g < net.groups; g++) {
    const int mine = g * GROUP + warp();
    const float y = mine < net.batch ? label(net.first + mine) : 0;
    Global<float>* z = outputs<S, tiles>(g, !optimizer.everywhere());
    if (warp() < S) grade(z, small(job.outputs), y, net.batch - g * GROUP, inverse((float)net.batch));
    __syncthreads();
    if (thread() == 0)
      for (int s = 0; s < S; s++) loss += losses[s];
  }
}

// spread takes the deltas back to the first layer. Ends with a barrier: no weight is
// written before all are read.
template <int S, bool tiles> __device__ inline void spread() {
#pragma unroll 1
  for (int l = small(job.layers) - 1; l > 0; l--)
#pragma unroll 1
    for (int g = 0; g < net.groups; g++) {
      if constexpr (tiles) back_tiles(layers[l], net.deltas(l, g), net.units(l - 1, g), net.deltas(l - 1, g));
      else back<S>(layers[l], net.deltas(l, g), net.units(l - 1, g), net.deltas(l - 1, g));
    }
  __syncthreads();
}

template <int S, bool tiles> __device__ inline void push_all() {
#pragma unroll 1
  for (int l = 0; l < small(job.layers); l++) {
    enter(l);
    if constexpr (tiles) {
      push_tiles(layers[l], inputs, [](int o, int s) INLINE { return *(Global<const f2>*)((Global<const float>*)deltas_in + o * GROUP + s); });
      continue;
    }
    push<true, S>(layers[l], inputs, 0, [&](int g, int o, f4& lo, f4& hi) INLINE {
      i64 at = 2 * ((i64)g * layers[l].out + o);
      lo = deltas_in[at], hi = deltas_in[at + 1];
    });
  }
}

template <int S, bool tiles = false> __device__ inline void step(u32 i) {
  set_scale(i);
  begin(job.start[i], job.start[i + 1] - job.start[i]);
  reads(Cta(), i);
  grade_all<S, tiles>();
  if (thread() == 0) job.loss[at_hand()] = (float)loss;
  spread<S, tiles>();
  writes(Cta(), at_hand());
  if (net.batch > 0) push_all<S, tiles>();
  wrote(Cta(), at_hand());
}

extern "C" __global__ void __launch_bounds__(THREADS, 2) mlp_step(const Job* from) {
  read_job(job, from);
  read_optimizer();
  read_layers();
  zero_row<GROUP>();
  each_ticket((u32)job.steps, [](u32 i) INLINE { step<GROUP>(i); });
}

extern "C" __global__ void __launch_bounds__(THREADS, 2) mlp_one(const Job* from) {
  read_job(job, from);
  read_optimizer();
  read_layers();
  zero_row<1>();
  each_ticket((u32)job.steps, [](u32 i) INLINE { step<1>(i); });
}

#if __CUDA_ARCH__ >= 800
// mlp_tensor is mlp_step for plain SGD in steps of up to GROUP samples, with products in tf32.
extern "C" __global__ void __launch_bounds__(THREADS, 2) mlp_tensor(const Job* from) {
  read_job(job, from);
  read_optimizer();
  read_layers();
  zero_row<GROUP>();
  each_ticket((u32)job.steps, [](u32 i) INLINE { step<GROUP, true>(i); });
}
#endif
