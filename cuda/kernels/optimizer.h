// optimizer.h is how a gradient becomes what is added to a weight: plain SGD, momentum,
// adagrad and adam, with l2 and l1, as hogwild/cpu/optimizer.go has them:
//
//	momentum  v = mu v + g              lr v                    (as torch.optim.SGD)
//	adagrad   s += g^2                  lr g/(sqrt(s) + eps)    (Duchi et al. 2011)
//	adam      m, v: moving averages     lr m'/(sqrt(v') + eps)  (Kingma and Ba 2015, algorithm 1)
//
// A state that several steps in flight share is loaded and stored without care. Were it
// added to, decay with stale reads would diverge from some 30 steps in flight on, at any
// learning rate.
//
// So a step may see m of one step and v of another. Where v is the older, and almost
// nothing, the weight would be thrown thousands of steps away. Of numbers that belong
// together Cauchy and Schwarz say
//
//	m^2 = (sum (1-b1) b1^i g_i)^2 <= v (1-b1)^2/(1-b2) sum (b1^2/b2)^i
//
// v is never less than that: alone a step does not notice.
#pragma once

#include "dev.h"

// OptimizerStep is what the step at hand needs to know.
struct OptimizerStep {
  i32 kind;        // an Optimizer; SGD for a gradient that is only kept
  u32 all;         // weights move that have no gradient
  float scale;     // -lr; of a gradient that is only kept, 1
  float l1, l2;    // l1 times lr
  float mu;
  float b1, b2, least;  // least: adam's v is no less than this times m^2
  float rate, unbias;  // adam: -lr/(1-b1^t) and 1/sqrt(1-b2^t)

  __device__ bool everywhere() const { return all; }
  __device__ bool regularizes() const { return l1 != 0 || l2 != 0; }
};

__shared__ OptimizerStep optimizer;

// power is b^t.
__device__ inline double power(double b, u64 t) {
  double p = 1;
#pragma unroll 1
  for (; t > 0; t >>= 1, b *= b)
    if (t & 1) p *= b;
  return p;
}

__device__ inline float inverse_root(float v) { return __nvvm_rsqrt_approx_ftz_f(v); }
__device__ inline float root(float v) { return v > 0 ? v * inverse_root(v) : 0; }

// read_optimizer sets what is the same for all steps, set_scale, by a thread of its own, what is not. Both are for all
// threads; a barrier follows.
__device__ inline void read_optimizer() {
  if (thread() != 0) return;
  const i32 kind = job.gradient ? (i32)SGD : small(job.optimizer);
  const bool all = kind == MOMENTUM || kind == ADAM || job.l2 != 0 || (job.l1 != 0 && !job.gradient);
  const double b1 = job.beta1, b2 = job.beta2, slow = 1 - b1;
  const float least = (float)((1 - b2) * (b2 - b1 * b1)) * inverse((float)(b2 * slow * slow));
  optimizer = {kind, all, 0, 0, (float)job.l2, (float)job.momentum, (float)b1, (float)b2, least, 0, 0};
}
__device__ inline void set_scale(u32 step, int own = 0) {
  if (thread() != own) return;
  const float lr = job.gradient ? 0 : job.lr[step];
  optimizer.scale = job.gradient ? 1 : -lr;
  optimizer.l1 = lr * (float)job.l1;
  if (optimizer.kind != ADAM) return;
  u64 t;
  asm volatile("atom.relaxed.sys.global.add.u64 %0, [%1], 1;" : "=l"(t) : "l"(job.updates) : "memory");
  optimizer.rate = -lr * inverse((float)(1 - power(job.beta1, t + 1)));
  optimizer.unbias = inverse_root((float)(1 - power(job.beta2, t + 1)));
}

// What is to be added to a weight for its gradient g (that of l2 included, of l1 not), // each optimizer that keeps a state: of that the arguments are the old, and become the new.
constexpr float EPSILON = 1e-8f;

__device__ inline float momentum(float& v, float g) {
  v = optimizer.mu * v + g;
  return optimizer.scale * v;
}
__device__ inline float adagrad(float& s, float g) {
  s += g * g;
  return optimizer.scale * g * inverse(root(s) + EPSILON);
}
__device__ inline float adam(float& m, float& v, float g) {
  m = optimizer.b1 * m + (1 - optimizer.b1) * g;
  v = __builtin_fmaxf(optimizer.b2 * v + (1 - optimizer.b2) * g * g, optimizer.least * m * m);
  return optimizer.rate * m * inverse(root(v) * optimizer.unbias + EPSILON);
}

// step_of is what is to be added by the optimizer at hand, with a state of a, and b for adam.
__device__ inline float step_of(float& a, float& b, float g) {
  switch (optimizer.kind) {
    case MOMENTUM: return momentum(a, g);
    case ADAGRAD: return g == 0 ? 0 : adagrad(a, g);
    case ADAM: return adam(a, b, g);
    default: return optimizer.scale * g;
  }
}

// update is the same for the weight at i, whose state it loads and stores.
__device__ inline float update(i64 i, float g) {
  if (optimizer.kind == ADAGRAD && g == 0) return 0;
  float a = 0, b = 0;
  if (optimizer.kind != SGD) a = job.first.load(i);
  if (optimizer.kind == ADAM) b = job.second.load(i);
  const float step = step_of(a, b, g);
  if (optimizer.kind != SGD) job.first.store(i, a);
  if (optimizer.kind == ADAM) job.second.store(i, b);
  return step;
}

// soft_threshold is the step of a weight, w now, with l1's part of it: w + step goes towards zero
// by l1, and no further (the proximal step). A weight that gets there is zero exactly.
__device__ inline float soft_threshold(float w, float step) {
  const float v = w + step;
  return __builtin_fabsf(v) <= optimizer.l1 ? -w : step - __builtin_copysignf(optimizer.l1, v);
}
