// average.cu: barrier mode. Each rank averages its slice of the weights over the ranks'
// replicas, or steps down the mean of their gradients, in rank order and with ordinary
// single-precision arithmetic: bit by bit what the CPU computes. So this file is
// compiled without contraction to fused multiply-adds. The next barrier of the ranks
// must come after this kernel.
//
// Launch: THREADS (256) threads a CTA, any number of CTAs; no dynamic shared memory, no
// scratch. The job is a Mean.
#include "dev.h"

// Mean describes one slice. Addresses are those of index 0; all fields are eight bytes.
struct Mean {
  Weights dst;
  Weights src;                // ranks x stride: replicas, or gradients
  Weights velocity;           // 0: plain SGD
  Global<const float>* share;  // of each rank in the mean; of 0: what it has is not read
  i64 from, count;            // the slice: dst[from] .. dst[from+count-1]
  i64 ranks, stride;
  double lr, momentum;
};
static_assert(sizeof(Mean) == 10 * 8);

__shared__ Mean mean;

// of is the mean of the ranks' values at i.
__device__ inline float of(i64 i) {
  float sum = 0;
  for (int r = 0; r < (int)mean.ranks; r++) {
    float share = mean.share[r];
    if (share != 0) sum = sum + share * mean.src.load(r * mean.stride + i);
  }
  return sum;
}

// each calls f for the indices of the slice that fall to this thread.
template <class F> __device__ inline void each(const F& f) {
  const i64 end = mean.from + mean.count;
  for (i64 i = mean.from + (i64)cta() * THREADS + thread(); i < end; i += (i64)ctas() * THREADS) f(i);
}

extern "C" __global__ void __launch_bounds__(THREADS) average_weights(const Mean* from) {
  read_job(mean, from);
  each([](i64 i) INLINE { mean.dst.store(i, of(i)); });
}

extern "C" __global__ void __launch_bounds__(THREADS) average_gradients(const Mean* from) {
  read_job(mean, from);
  const float lr = (float)mean.lr, mu = (float)mean.momentum;
  each([&](i64 i) INLINE {
    float g = of(i);
    if (!mean.velocity.none()) {
      g = mu * mean.velocity.load(i) + g;
      mean.velocity.store(i, g);
    }
    mean.dst.store(i, mean.dst.load(i) - lr * g);
  });
}
