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
#include "turn.h"

__shared__ double loss;  // of the step, summed by thread 0

// grade_all turns all groups' outputs into deltas and sums the losses up.
template <int S> __device__ inline void grade_all(const Turn& at, const Ahead<Turn>& ahead) {
  const Net& net = at.net;
#pragma unroll 1
  for (int g = 0; g < net.groups; g++) {
    const int mine = g * GROUP + warp();
    const float y = mine < net.batch ? label(net.first + mine) : 0;
    Global<float>* z = outputs<S>(at, g, !optimizer.everywhere());
    if (g == 0) ahead.announce(at.ticket);
    if (warp() < S) grade(z, small(job.outputs), y, net.batch - g * GROUP, inverse((float)net.batch));
    __syncthreads();
    if (thread() == 0)
      for (int s = 0; s < S; s++) loss += losses[s];
  }
}

// spread takes the deltas back to the first layer, after a barrier. Behind the first barrier of the push no weight is read any
// more that is written later, and there are all deltas.
template <int S> __device__ inline void spread(const Turn& at) {
  const Net& net = at.net;
#pragma unroll 1
  for (int l = small(job.layers) - 1; l > 0; l--)
#pragma unroll 1
    for (int g = 0; g < net.groups; g++) {
      const bool last = TILES && l == 1 && g == net.groups - 1;  // the others would spill registers
      if constexpr (TILES) back_tiles(layers[l], whole(held), (Global<const float>*)at.deltas_in[l], at.inputs[l].units, (Global<float>*)at.deltas_in[l - 1], last);
      else back<S>(layers[l], net.deltas(l, g), net.units(l - 1, g), net.deltas(l - 1, g), last);
    }
}

// push_all pushes all layers, the first one last, whose tile may be there.
template <int S> __device__ inline void push_all(const Turn& at) {
#pragma unroll 1
  for (int i = 0; i < small(job.layers); i++) {
    const int l = S > 1 ? small(job.layers) - 1 - i : i;  // mlp_one would spill registers
    if constexpr (TILES) {
      if (l == 0 && held) prepare_push<GROUP>(at.inputs[0], Rounded{(u32)layers[0].out});
      push_tiles(layers[l], at.inputs[l], whole(held), l == 0 ? held : 0, (Global<const float>*)at.deltas_in[l]);
      continue;
    }
    push<true, S>(layers[l], at.inputs[l], 0, [&](int g, int o, f4& lo, f4& hi) INLINE {
      i64 k = 2 * ((i64)g * layers[l].out + o);
      lo = at.deltas_in[l][k], hi = at.deltas_in[l][k + 1];
    });
  }
}

// step takes one. Its first barrier is that of stage: the tile, held, the scale and losses stay as they are until then.
template <int S> __device__ inline void step(const Turn& at, const Ahead<Turn>& ahead) {
  if (sampled<Cta>(at.ticket)) __syncthreads();  // what warps of this CTA still push is not what others write
  reads(Cta(), at.ticket);
  grade_all<S>(at, ahead);
  if (at.net.batch == 0) ahead.idle(at.ticket);
  if (thread() == 0) job.loss[at.ticket] = (float)loss, loss = 0;
  spread<S>(at);
  writes(Cta(), at.ticket);
  if (at.net.batch > 0) push_all<S>(at);
  wrote(Cta(), at.ticket);
}

template <int S> __device__ inline void steps() {
  zero_row<S>();
  if (thread() == 0) loss = 0;
  each_turn<Turn>([](const Turn& at, const Ahead<Turn>& ahead) INLINE { step<S>(at, ahead); });
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
  steps<GROUP>();
}
#else
extern "C" __global__ void __launch_bounds__(THREADS, 3) mlp_one(const Job* from) {
  read_job(job, from);
  read_optimizer();
  read_layers();
  steps<1>();
}
#endif
