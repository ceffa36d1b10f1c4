// cut.cu: a step of the multiway cut of a graph, and its evaluation. Each node has a
// point of the simplex of d corners; the loss of an edge is y/2 |x_u - x_v|_1. A step
// moves the ends of an edge (or of a batch) down their gradients and projects them onto
// the simplex. The terminals, nodes 0 to d-1, stay: see hogwild/model/cut.go and simplex.go.
//
// A step of one edge stores the points (job.racy), or adds the differences. Of steps on one node at once the last
// store stays, a point of the simplex, as on cores. Differences add up: n of them bring back n times what a point
// was off by, so with more than two at once, as nodes of many edges have on a GPU, points run away. On an H200
// 2,048 steps in flight on 9,914 nodes ended in NaN.
//
// Launch: THREADS (256) threads a CTA, any number of CTAs; no dynamic shared memory
// (3 KB static). Scratch: none for one edge a step and d up to 64, else as in pair.h,
// where the gradient becomes the point moved, and what is kept is the point as it was.
//
// The projection is max(x - t, 0), t being found by Michelot's steps (1986): from the t
// with which all numbers of x would add up to 1 on, those that do not lie above t are
// left out, until none is: mostly two or three rounds. Duchi et al. (2008), whom the CPU
// follows, sort instead, for the same t.
//
// Of one edge, half a warp has the point of either end, 4 numbers a lane (or 1: d up to
// 16), and each learns the other's by a shuffle.
#include "pair.h"

constexpr int HALF = 16;

__device__ inline float sign(float v) { return v > 0 ? 1 : v < 0 ? -1 : v; }

// project moves x, of which lane l of a half has the numbers l, l + 16, ... below d, onto
// the simplex. The two halves of a warp have a point each.
template <int V> __device__ inline void project(float (&x)[V], int d) {
  const u32 half = lane() < HALF ? 0xffff : 0xffff0000;
  const int c0 = lane() % HALF;
  if (d == 2) {  // the segment from (1, 0) to (0, 1), in the CPU's very words: ties must stay ties
    const float first = __builtin_fminf(1, __builtin_fmaxf(0, (1 + x[0] - swap(x[0], 1)) / 2)), other = swap(first, 1);
    x[0] = c0 == 0 ? first : 1 - other;
    return;
  }
  float t = -__builtin_inff();
  for (int above = d + 1, n = d;; above = n < above ? n : above) {
    float sum = 0;
    n = 0;
#pragma unroll
    for (int i = 0; i < V; i++) {
      const bool in = c0 + i * HALF < d && x[i] > t;
      n += __builtin_popcount(__nvvm_vote_ballot_sync(ALL, in) & half);
      sum += in ? x[i] : 0;
    }
    if (!__nvvm_vote_any_sync(ALL, n < above)) break;  // of neither half; NaN is never above
    t = (sum_of<HALF>(sum) - 1) * inverse((float)n);
  }
#pragma unroll
  for (int i = 0; i < V; i++) x[i] = x[i] - t <= 0 ? 0 : x[i] - t;  // NaN stays
}

// step takes one edge.
template <int V, class Careful> __device__ inline void step(u32 i, Pair e, bool active, Careful careful) {
  const int d = small(job.width[0]), c0 = lane() % HALF;
  const u32 node = lane() < HALF ? e.u : e.v;
  const i64 at = (i64)node * d + c0;
  Quick<32> team;
  if (careful) reads(team, i, [&](u32 r) INLINE {
    const i64 one = below(2 * d, r);
    return one < d ? (i64)e.u * d + one : (i64)e.v * d + (one - d);
  });
  float was[V], to[V], apart = 0;
#pragma unroll
  for (int x = 0; x < V; x++) {
    was[x] = active && c0 + x * HALF < d ? job.w.load(at + x * HALF) : 0;
    const float by = was[x] - swap(was[x], HALF);
    apart += __builtin_fabsf(by);
    to[x] = was[x] + e.scale * e.y / 2 * sign(by);
  }
  apart = sum_of<HALF>(apart);
  project(to, d);
  if (active && lane() == 0) job.loss[i] = e.y / 2 * apart;
  if (careful) writes(team, i);
#pragma unroll
  for (int x = 0; x < V; x++)
    if (active && node >= (u32)d && c0 + x * HALF < d) {
      if (job.racy) job.out.store(at + x * HALF, to[x]);
      else job.out.add(at + x * HALF, to[x] - was[x]);
    }
  if (careful) wrote(team, i, job.discipline != FREE);
}

template <int V> __device__ inline void steps() {
  each_pair<32>([](u32 i, Pair e, bool active, auto careful) INLINE { step<V>(i, e, active, careful); });
}

// distance is |x_u - x_v|_1 / 2, by a warp.
__device__ inline float distance(u32 u, u32 v) {
  const int d = small(job.width[0]);
  float sum = 0;
#pragma unroll 1
  for (int c = lane(); c < d; c += 32) sum += __builtin_fabsf(job.w.load((i64)u * d + c) - job.w.load((i64)v * d + c));
  return sum_lanes(sum) / 2;
}

// gather sums the gradient of the batch's mean loss up, node by node.
__device__ inline void gather() {
  const float mean = inverse((float)batch.n);
#pragma unroll 1
  for (int e = 0; e < 2 * batch.n; e++) {
    const u32 node = batch.node(e);
    if (!batch.mine(e) || node < (u32)batch.k) continue;
    const int first = *batch.first(e);
    const i64 p = (i64)node * batch.k, q = (i64)batch.node(e ^ 1) * batch.k;
    const float half = batch.y(e / 2) / 2 * mean;
    Global<float>* g = batch.gradient(first);
#pragma unroll 1
    for (int c = lane(); c < batch.k; c += 32) g[c] = (first == e ? 0 : g[c]) + half * sign(job.w.load(p + c) - job.w.load(q + c));
  }
}

// threshold is t for the point x, of which lane l has the numbers l, l + 32, ...
__device__ inline float threshold(Global<float>* x, int d) {
  float t = -__builtin_inff();
  for (int above = d + 1, n = d;; above = n < above ? n : above) {
    float sum = 0, in = 0;
#pragma unroll 1
    for (int c = lane(); c < d; c += 32)
      if (x[c] > t) sum += x[c], in += 1;
    n = (int)sum_lanes(in);
    sum = sum_lanes(sum);
    if (n >= above) return t;
    t = (sum - 1) * inverse((float)n);
  }
}

// push moves the points that the batch touches.
__device__ inline void push() {
  const int d = batch.k;
#pragma unroll 1
  for (int e = 0; e < 2 * batch.n; e++) {
    const u32 node = batch.node(e);
    if (!batch.mine(e) || node < (u32)d || *batch.first(e) != e) continue;
    Global<float>*x = batch.gradient(e), *was = batch.kept(e);
#pragma unroll 1
    for (int c = lane(); c < d; c += 32) {
      was[c] = job.w.load((i64)node * d + c);
      x[c] = was[c] + optimizer.scale * x[c];
    }
    const float t = threshold(x, d);
#pragma unroll 1
    for (int c = lane(); c < d; c += 32) job.out.add((i64)node * d + c, (x[c] - t <= 0 ? 0 : x[c] - t) - was[c]);
  }
}

__shared__ double losses_of[WARPS];

__device__ inline void batch_step(u32 i) {
  set_scale(i);
  begin_batch(i, false);
  reads(Cta(), i, [&](u32 r) INLINE {
    const i64 at = below(2 * (i64)batch.n * batch.k, r);
    return (i64)batch.node((int)(at / batch.k)) * batch.k + at % batch.k;
  });
  double loss = 0;
#pragma unroll 1
  for (int j = warp(); j < batch.n; j += WARPS) loss += (double)batch.y(j) * distance(batch.node(2 * j), batch.node(2 * j + 1));
  if (lane() == 0) losses_of[warp()] = loss;
  gather();
  __syncthreads();
  if (thread() == 0) {
    double sum = 0;
    for (int w = 0; w < WARPS; w++) sum += losses_of[w];
    job.loss[i] = (float)sum;
  }
  writes(Cta(), i);
  push();
  wrote(Cta(), i);
}

extern "C" __global__ void __launch_bounds__(THREADS, 2) cut_step(const Job* from) {
  read_job(job, from);
  read_optimizer();
  __syncthreads();
  if (job.max_batch > 1 || job.width[0] > 4 * HALF) each_ticket((u32)job.steps, [](u32 i) INLINE { batch_step(i); });
  else if (job.width[0] > HALF) steps<4>();
  else steps<1>();
}

extern "C" __global__ void __launch_bounds__(THREADS, 2) cut_evaluate(const Job* from) {
  read_job(job, from);
  evaluate([](i64 r, Score& sum) INLINE {
    const double loss = (double)job.y[r] * distance(job.idx[2 * r], job.idx[2 * r + 1]);
    if (lane() != 0) return;
    sum.n += 1, sum.loss += loss;
  });
}
