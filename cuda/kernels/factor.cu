// factor.cu: a step of matrix factorization, and its evaluation. The entry at nodes u
// and v is z = mean + p_u . q_v (+ b_u + b_v), its loss (z - y)^2; l2 acts on the factors
// of an entry, not on biases. Weights are the factors of all nodes, a bias each where
// there are any, and the mean, which stays: see hogwild/model/factor.go.
//
// Launch: THREADS (256) threads a CTA, any number of CTAs; no dynamic shared memory
// (14 KB static). Scratch: none for plain SGD with one entry a step, else as in pair.h.
//
// Of plain SGD with one entry a step, 2 to 32 lanes have an entry, and a lane 4 of its
// factors in registers between the read and the write: 4 neighbours, if k is a multiple
// of 4, so that rows are aligned to vectors, and the GPU adds vectors; else every 8th,
// 16th or 32nd, so that neighbouring lanes touch neighbouring floats, a sector or more of
// them, wherever a row begins. (Before sm_90, with k of 4, 8, 12 and 16, every 2nd or 4th:
// the lanes of a team are as many, and an addition is four or two of a sector's.)
//
// Slots an entry (sm_90): 77, 22 and 6.6 for k = 128, 32 and 8. A turn of the warp, which
// takes 1, 4 and 16 entries, has 24 for arithmetic and accesses, 10, 6 and 2 for the sum over
// lanes, and some 40 more: 8 for ends and values that come by shuffles, 8 for sums of 64-bit
// addresses, 7 for a bias that may be there, 4 for the step's loss, 13 for the loop, samples
// and what may be asked for (l2). To these come 2 an entry for packs and tickets.
// With halves it is 140, 37 and 10: conversions, random bits and packing come to that, for half of the bytes.
//
// Left out: rows padded to 16 bytes.
#include "pair.h"

template <class Rows> constexpr bool HALF = Rows::BYTES == 2;

// Table is where the numbers of the weights are, read once a launch.
struct Table {
  Weights w, out;
  u32 k;
  bool biased;
  float mean, l2;
  i64 bias;  // of node 0
  Global<float>* loss;
};

// table is of Weights or Halves: biases and the mean are floats in either case, from the next whole word on.
template <class Rows> __device__ inline Table table() {
  const u32 k = small(job.width[0]);
  const i64 rows = job.features * k, bias = HALF<Rows> ? (rows + 1) / 2 : rows;
  const i64 mean = job.weights - 1 - (rows - bias);
  return {job.w, job.out, k, small(job.bias) != 0, job.w.load(mean), (float)job.l2, bias, job.loss};
}

// Own is what a lane has of the table: its factors of node 0, and the biases; it is `me`
// of its team, and `left` factors of a row lie from its first one on. Lane 0 has the bias
// of one end, lane 1 of the other.
template <class Rows> struct Own {
  Rows w;
  Weights bias;
  i64 apart;  // bytes from what is read to what is written
  u32 me;
  u32 biased;
  int left;

  __device__ static Own of(const Table& t, u32 me, u32 first) {
    const u32 c = first < t.k ? first : 0;  // where it has none it reads others, in vain
    return {{(decltype(Rows::at))t.w.at + c}, {t.w.at + t.bias}, (Global<char>*)t.out.at - (Global<char>*)t.w.at, me, t.biased && me < 2, (int)(t.k - first)};
  }
  template <class In> __device__ In out(In in) const { return {(decltype(in.at))((Global<char>*)in.at + apart)}; }
};

// Chance rounds to half precision up or down, so that the mean is the number itself (stochastic rounding): what is far
// below a unit of the last place moves a factor as it should, in one step of many. To the nearest, such steps are all
// lost. The bits are a hash of step and lane. Below 2^-14, where halves are 2^-24 apart, the store takes the nearest.
struct Chance {
  static constexpr u32 BITS = 13;  // that a float has behind a half's
  u32 state;

  // of is a step's. Where its error is not a number, what is not one is left as it is.
  __device__ static Chance of(u32 i, u32 me, float err) {
    u32 x = ((u32)job.taken + i) * 32 + me + (u32)small(job.rank) * GOLDEN;
    x = (x ^ x >> 16) * 0x7feb352d;  // lowbias32 (Wellons)
    x = (x ^ x >> 15) * 0x846ca68b;
    return {err == err ? x | 1 : 0};
  }
  template <int N, int STRIDE> __device__ void round(Held<N, STRIDE>& v) {
#pragma unroll
    for (int x = 0; x < N; x++) {
      state *= 747796405;  // of PCG (O'Neill)
      const u32 bits = __builtin_bit_cast(u32, v.of[x]) + (state >> (32 - BITS));
      v.of[x] = __builtin_bit_cast(float, bits & -(1u << BITS));
    }
  }
};

// step takes one entry, by L lanes with N factors each; LONG where a row has more than
// L * N: then it is read again to be written.
template <class Rows, int L, int N, int STRIDE, bool LONG, class Careful>
__device__ inline void step(const Table& t, const Own<Rows>& own, u32 i, Pair e, bool active, Careful careful) {
  Quick<L> team;
  Held<N, STRIDE> a, b;
  const u32 bytes = Rows::BYTES * t.k;
  const Rows p = node_of(own.w, e.u, bytes), q = node_of(own.w, e.v, bytes);
  auto read = [&](int from) INLINE {
    const int at = LONG && STRIDE == 1 && from >= own.left ? 0 : from;
    a.read(Rows{p.at + at}, own.left - from), b.read(Rows{q.at + at}, own.left - from);
  };
  if (careful && active) reads(team, i, [&](u32 r) INLINE {
    const i64 at = below(2 * (i64)t.k, r), weight = at < t.k ? (i64)e.u * t.k + at : (i64)e.v * t.k + (at - t.k);
    return HALF<Rows> ? weight / 2 : weight;  // the word that has it
  });
  float z = 0, bias = 0;
  const Weights its = node_of(own.bias, own.me == 0 ? e.u : e.v, 4);
  if (own.biased) bias = its.load(0);
#pragma unroll 1
  for (int from = 0; from == 0 || (LONG && from < (int)t.k); from += L * N) {
    read(from);
    const float dot = a.dot(b);
    z += from < own.left ? dot : 0;
  }
  const float err = sum_of<L>(z + bias) + t.mean - e.y, d = 2 * err * e.scale;
  if (active && own.me == 0) t.loss[i] = err * err;
  if (careful && active) writes(team, i);
  const Rows to = own.out(p), fro = own.out(q);
  Chance chance = Chance::of(i, own.me, err);
#pragma unroll 1
  for (int from = 0; from == 0 || (LONG && from < (int)t.k); from += L * N) {
    const int left = active ? own.left - from : 0;
    if (LONG) read(from);
    Held<N, STRIDE> by = {}, back = {};
    by.plus(d, b), back.plus(d, a);
    if (t.l2 != 0) by.plus(t.l2 * e.scale, a), back.plus(t.l2 * e.scale, b);
    if constexpr (HALF<Rows>) {
      by.plus(1, a), back.plus(1, b);
      chance.round(by), chance.round(back);
      by.store(Rows{to.at + from}, left), back.store(Rows{fro.at + from}, left);
    } else {
      by.add({to.at + from}, left), back.add({fro.at + from}, left);
    }
  }
  if (own.biased && active) own.out(its).add(0, d);
  if (careful && active) wrote(team, i, job.discipline != FREE);
}

template <class Rows, int L, int N, int STRIDE, bool LONG = false> __device__ inline void steps(const Table& t) {
  const u32 me = thread() & (L - 1);
  const auto own = Own<Rows>::of(t, me, STRIDE == 1 ? me * N : me);
  each_pair<L>([&](u32 i, Pair e, bool active, auto careful) INLINE { step<Rows, L, N, STRIDE, LONG>(t, own, i, e, active, careful); });
}

// vectors and singles choose how many lanes take an entry. So does factorLanes of pairs.go.
template <class Rows> __device__ inline void vectors(const Table& t, u32 least) {
  constexpr bool V = VECTORS || HALF<Rows>;  // which are not added
  if (t.k > 128) steps<Rows, 32, 4, V ? 1 : 32, true>(t);
  else if (least > 64) steps<Rows, 32, 4, V ? 1 : 32>(t);
  else if (least > 32) steps<Rows, 16, 4, V ? 1 : 16>(t);
  else if (least > 16) steps<Rows, 8, 4, V ? 1 : 8>(t);
  else if (least > 8) steps<Rows, 4, 4, V ? 1 : 4>(t);
  else steps<Rows, 2, 4, V ? 1 : 2>(t);
}

template <class Rows> __device__ inline void singles(const Table& t, u32 least) {
  if (t.k > 128) steps<Rows, 32, 4, 32, true>(t);
  else if (least > 64) steps<Rows, 32, 4, 32>(t);
  else if (least > 32) steps<Rows, 16, 4, 16>(t);
  else if (least > 16) steps<Rows, 8, 4, 8>(t);
  else if (least > 8) steps<Rows, 8, 2, 8>(t);
  else steps<Rows, 8, 1, 8>(t);
}

// product is p_u . q_v and biases, by a warp.
__device__ inline float product(const Table& t, u32 u, u32 v) {
  float z = 0;
#pragma unroll 1
  for (u32 c = lane(); c < t.k; c += 32) z += t.w.load((i64)u * t.k + c) * t.w.load((i64)v * t.k + c);
  if (t.biased && lane() < 2) z += t.w.load(t.bias + (lane() == 0 ? u : v));
  return sum_lanes(z) + t.mean;
}

__shared__ double losses_of[WARPS];

// gather sums the gradient of the batch's mean loss up. It ends with a barrier.
__device__ inline void gather(const Table& t) {
  double loss = 0;
#pragma unroll 1
  for (int i = warp(); i < batch.n; i += WARPS) {
    const float err = product(t, batch.node(2 * i), batch.node(2 * i + 1)) - batch.y(i);
    loss += (double)err * err;
    if (lane() == 0) *batch.of(i) = err;
  }
  if (lane() == 0) losses_of[warp()] = loss;
  __syncthreads();
  const float mean = inverse((float)batch.n);
#pragma unroll 1
  for (int e = 0; e < 2 * batch.n; e++) {
    if (!batch.mine(e)) continue;
    const int first = *batch.first(e);
    const float d = 2 * *batch.of(e / 2) * mean;
    const i64 p = (i64)batch.node(e) * t.k, q = (i64)batch.node(e ^ 1) * t.k;
    Global<float>* g = batch.gradient(first);
#pragma unroll 1
    for (u32 c = lane(); c < t.k; c += 32)
      g[c] = (first == e ? 0 : g[c]) + d * t.w.load(q + c) + t.l2 * mean * t.w.load(p + c);
    if (lane() == 0) *batch.bias(first) = (first == e ? 0 : *batch.bias(first)) + d;
  }
  __syncthreads();
}

// move adds the step of weight i for the gradient g.
__device__ inline void move(const Table& t, i64 i, float g) {
  const float by = update(i, g);
  if (by != 0) t.out.add(i, by);
}

// push moves the weights that the batch touches; push_all all of them.
__device__ inline void push(const Table& t) {
#pragma unroll 1
  for (int e = 0; e < 2 * batch.n; e++) {
    if (!batch.mine(e) || *batch.first(e) != e) continue;
    const i64 p = (i64)batch.node(e) * t.k;
    Global<float>* g = batch.gradient(e);
#pragma unroll 1
    for (u32 c = lane(); c < t.k; c += 32) move(t, p + c, g[c]);
    if (t.biased && lane() == 0) move(t, t.bias + batch.node(e), *batch.bias(e));
  }
}

__device__ inline void push_all(const Table& t) {
#pragma unroll 1
  for (i64 i = thread(); i < job.weights - 1; i += THREADS) {
    const float g = batch.g[i];
    if (g != 0) batch.g[i] = 0;
    move(t, i, g);
  }
}

__device__ inline void batch_step(const Table& t, u32 i) {
  const bool all = optimizer.kind == MOMENTUM || optimizer.kind == ADAM;
  set_scale(i);
  begin_batch(i, all);
  reads(Cta(), i, [&](u32 r) INLINE {
    const i64 at = below(2 * (i64)batch.n * t.k, r);
    return (i64)batch.node((int)(at / t.k)) * t.k + at % t.k;
  });
  gather(t);
  if (thread() == 0) {
    double sum = 0;
    for (int w = 0; w < WARPS; w++) sum += losses_of[w];
    job.loss[i] = (float)sum;
  }
  writes(Cta(), i);
  if (all) push_all(t);
  else push(t);
  wrote(Cta(), i);
}

extern "C" __global__ void __launch_bounds__(THREADS, 2) factor_step(const Job* from) {
  read_job(job, from);
  read_optimizer();
  __syncthreads();
  const Table t = table<Weights>();
  if (job.max_batch > 1 || optimizer.kind != SGD) each_ticket((u32)job.steps, [&](u32 i) INLINE { batch_step(t, i); });
  else if (t.k % 4 == 0) vectors<Weights>(t, job.discipline == FREE ? t.k : 128);
  else singles<Weights>(t, job.discipline == FREE ? t.k : 128);
}

// factor_half takes steps of plain SGD with one entry on rows of half precision; biases and mean are floats.
extern "C" __global__ void __launch_bounds__(THREADS, 2) factor_half(const Job* from) {
  read_job(job, from);
  const Table t = table<Halves>();
  if (t.k % 4 == 0) vectors<Halves>(t, t.k);
  else singles<Halves>(t, t.k);
}

extern "C" __global__ void __launch_bounds__(THREADS, 2) factor_evaluate(const Job* from) {
  read_job(job, from);
  const Table t = table<Weights>();
  evaluate([&](i64 r, Score& sum) INLINE {
    const double y = job.y[r], e = product(t, job.idx[2 * r], job.idx[2 * r + 1]) - y;
    if (lane() != 0) return;
    sum.n += 1, sum.loss += e * e, sum.squared += e * e, sum.y += y, sum.y2 += y * y;
  });
}
