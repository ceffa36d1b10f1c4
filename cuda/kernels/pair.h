// pair.h is what the kernels on pairs share: entries of a matrix, edges of a graph. Row
// r of the data is the nodes idx[2r] and idx[2r+1], and y[r]. A node has job.width[0]
// numbers, one behind the other, in a table of job.features nodes.
//
// A step is taken in one of two ways. Of plain SGD with one pair it is so short that
// several lanes do it, several steps a warp at a time (each_pair). All others are a
// CTA's, which sums the gradient up in scratch: see Batch.
#pragma once

#include "loss.h"
#include "optimizer.h"
#include "guard.h"

__device__ inline int from_lane(int v, int lane) { return __nvvm_shfl_sync_idx_i32(ALL, v, lane, 31); }
__device__ inline u32 from_lane(u32 v, int lane) { return (u32)from_lane((int)v, lane); }
__device__ inline float from_lane(float v, int lane) { return __nvvm_shfl_sync_idx_f32(ALL, v, lane, 31); }

// sum_of is the sum over the L lanes of a team, of each team of the warp.
template <int L> __device__ inline float sum_of(float v) {
#pragma unroll
  for (int m = L / 2; m > 0; m /= 2) v += swap(v, m);
  return v;
}

// node_of is what an array has for a node, of so many bytes each.
template <class Rows> __device__ inline Rows node_of(Rows first, u32 node, u32 bytes) {
  Rows to;
  asm("mad.wide.u32 %0, %1, %2, %3;" : "=l"(to.at) : "r"(node), "r"(bytes), "l"(first.at));
  return to;
}

// Held is what a lane has of a row: N factors, at 0, STRIDE, 2 STRIDE, ... of a place.
// A stride of 1 is a vector's.
template <int N, int STRIDE> struct Held {
  float of[N];

  // read reads those below `left`; of a vector always all.
  template <class Rows> __device__ void read(Rows from, int left) {
    if constexpr (STRIDE == 1) {
      const f4 v = from.load4(0);
      of[0] = v.x, of[1] = v.y, of[2] = v.z, of[3] = v.w;
      return;
    }
#pragma unroll
    for (int x = 0; x < N; x++) of[x] = x * STRIDE < left ? from.load(x * STRIDE) : 0;
  }
  __device__ void add(Weights to, int left) const {
    if constexpr (STRIDE == 1) {
#if __CUDA_ARCH__ >= 900
      if (left > 0) to.add4(0, {of[0], of[1], of[2], of[3]});
#endif
      return;
    }
#pragma unroll
    for (int x = 0; x < N; x++)
      if (x * STRIDE < left) to.add(x * STRIDE, of[x]);
  }
  template <class Rows> __device__ void store(Rows to, int left) const {
    if constexpr (STRIDE == 1) {
      if (left > 0) to.store4(0, {of[0], of[1], of[2], of[3]});
      return;
    }
#pragma unroll
    for (int x = 0; x < N; x++)
      if (x * STRIDE < left) to.store(x * STRIDE, of[x]);
  }
  // plus adds c times another.
  __device__ void plus(float c, const Held& other) {
#pragma unroll
    for (int x = 0; x < N; x++) of[x] += c * other.of[x];
  }
  __device__ float dot(const Held& other) const {
    float sum = 0;
#pragma unroll
    for (int x = 0; x < N; x++) sum += of[x] * other.of[x];
    return sum;
  }
};

// Pair is a step of one pair: scale times its gradient is added to the weights.
struct Pair {
  u32 u, v;
  float y, scale;
};

using u2 = u32 __attribute__((ext_vector_type(2)));

// Pairs is where the steps' pairs are: in registers, as asm would have it read anew.
struct Pairs {
  Global<const i32>* rows;
  Global<const u2>* nodes;
  Global<const float>*y, *lr;
  float slope, unit;  // the scale of a step is slope lr + unit: -lr, or 1 where a gradient is only kept

  __device__ void set() {
    *this = {job.rows, (Global<const u2>*)job.idx, job.y, job.lr, job.gradient ? 0.f : -1.f, job.gradient ? 1.f : 0.f};
  }
  __device__ Pair of(u32 step, i32 row) const { return {nodes[row].x, nodes[row].y, y[row], slope * lr[step] + unit}; }
};

// Alone says of a step, to what takes it, that it needs no reads, writes and wrote.
struct Alone {
  __device__ constexpr operator bool() const { return false; }
};

// each_pair calls work(i, pair, active, careful) for the steps that fall to a warp, with
// all its threads: each team of L lanes has a step i of its own if active. careful tells
// that the team must call reads, writes and wrote.
//
// Steps come in packs of 32, of which a lane brings one. What leads to the weights is on
// its way long before: the row of a step two packs ahead, its nodes and its value one. A
// pack is counted at once. A ticket is one pack or, where teams are small, eight turns of
// the warp. Under a discipline it is one step; L must be 32.
//
// teams is how many of all warps are used. One alone is serial SGD.
constexpr u32 PACK = 32;

__device__ inline u32 take_together(u32 n) { return from_lane(lane() == 0 ? take(n) : 0, 0); }

template <class Work> __device__ inline void each_in_turn(const Pairs& pairs, const Work& work) {
  const u32 steps = (u32)job.steps;
  for (u32 i; (i = take_together(steps)) < steps;) work(i, pairs.of(i, pairs.rows[i]), true, true);
}

template <int L, class Work> __device__ inline void each_pair(const Work& work) {
  constexpr u32 TICKET = L < 8 ? 8 * (32 / L) : PACK;
  const int left = small(job.teams) - warp() * (32 / L);
  if (left <= 0) return;
  const u32 teams = left < 32 / L ? left : 32 / L;
  Pairs pairs;
  pairs.set();
  if (L == 32 && job.discipline != FREE) return each_in_turn(pairs, work);
  const u32 me = thread() & 31, team = me / L, steps = (u32)job.steps, tickets = (steps + TICKET - 1) / TICKET, taken = (u32)job.taken;
  const bool looks = job.record;
  Global<u64>* const own = own_count();
  u32 last = -PACK, ticket = me == 0 ? take(tickets) : 0;
  auto pack = [&]() INLINE {  // the next; none from steps on
    last += PACK;
    if (last % TICKET != 0) return last;
    last = from_lane(ticket, 0) * TICKET;
    if (me == 0) ticket = take(tickets);
    return last;
  };
  auto mine = [&](u32 pack) INLINE { return pack + me < steps ? pack + me : steps - 1; };
  u32 first = pack(), second = pack(), ahead = mine(second);
  Pair next = pairs.of(mine(first), pairs.rows[mine(first)]);
  i32 row = pairs.rows[ahead];
  while (first < steps) {
    const Pair now = next;
    const u32 at = first, count = steps - at < PACK ? steps - at : PACK;
    next = pairs.of(ahead, row);
    first = second, second = pack(), ahead = mine(second);
    row = pairs.rows[ahead];
    u32 samples = __nvvm_vote_ballot_sync(ALL, looks && chosen<Quick<L>>(taken + at + me));
#pragma unroll 1
    for (u32 j = 0; j < count; j += teams, samples >>= teams) {
      const u32 s = j + team;
      const Pair one = {from_lane(now.u, s), from_lane(now.v, s), from_lane(now.y, s), from_lane(now.scale, s)};
      const bool active = L == 32 || (team < teams && s < count);
      if (samples & ALL >> (32 - 32 / L)) work(at + s, one, active, bool(samples >> team & 1));
      else work(at + s, one, active, Alone());
    }
    if (me == 0) counted(count, own);
  }
}

// Batch is a step that a CTA takes. Its 2n ends are numbered: end e is node(e), and the
// other end of its pair is node(e ^ 1). Warp w looks after the nodes with w = node % WARPS,
// so that a node's gradient is summed in the order of the batch, whoever else runs.
//
// Scratch, floats a CTA, of pairs of max_batch B, with R rows:
//
//	R * k       gradients: of a node that the batch touches, in the row of its first end
//	R           and of its bias
//	2B * k      what a kernel keeps of each node
//	2B          of each end, the first end of the same node
//	B           what a kernel keeps of each pair
//
// R is 2B. Where weights move that have no gradient it is the number of nodes, and a node
// has the row of its number: the gradients are then a copy of the weights in shape, zero
// between steps (the host clears them once).
struct Batch {
  int start, n, k;
  bool table;  // R is the number of nodes
  i64 rows;
  Global<float>* g;

  __device__ u32 node(int e) const { return job.idx[2 * (i64)job.rows[start + e / 2] + e % 2]; }
  __device__ float y(int i) const { return job.y[job.rows[start + i]]; }
  __device__ bool mine(int e) const { return (int)(node(e) % WARPS) == warp(); }
  __device__ i64 row(int first) const { return table ? (i64)node(first) : first; }
  __device__ Global<float>* gradient(int first) const { return g + row(first) * k; }
  __device__ Global<float>* bias(int first) const { return g + rows * k + row(first); }
  __device__ Global<float>* kept(int first) const { return g + rows * (k + 1) + (i64)first * k; }
  __device__ Global<int>* first(int e) const { return (Global<int>*)(g + rows * (k + 1) + 2 * job.max_batch * k) + e; }
  __device__ Global<float>* of(int i) const { return (Global<float>*)first(0) + 2 * job.max_batch + i; }
};

__shared__ Batch batch;

// begin_batch sets batch for step i, and finds the first ends. It ends with a barrier.
__device__ inline void begin_batch(u32 i, bool table) {
  if (thread() == 0) {
    batch = {job.start[i], job.start[i + 1] - job.start[i], small(job.width[0]), table, table ? job.features : 2 * job.max_batch,
             job.scratch + cta() * job.scratch_stride};
  }
  __syncthreads();
#pragma unroll 1
  for (int e = warp(); e < 2 * batch.n; e += WARPS) {
    const u32 node = batch.node(e);
    int first = e;
#pragma unroll 1
    for (int at = 0; at < e && first == e; at += 32) {
      const u32 same = __nvvm_vote_ballot_sync(ALL, at + lane() < e && batch.node(at + lane()) == node);
      if (same) first = at + __builtin_ctz(same);
    }
    if (lane() == 0) *batch.first(e) = first;
  }
  __syncthreads();
}

// Score is what an evaluation sums up; its fields are the first of job.sums.
struct Score {
  double n, loss, correct, squared, y, y2;
};
constexpr int SUMS = 8, BLOCK = 64;  // doubles a CTA; rows a ticket

__shared__ Score scores[WARPS];

// evaluate calls score(row, sum) for the rows 0 to start[1]-1, a warp each, whose first
// lane adds to sum; and writes SUMS doubles a CTA to sums.
template <class ScoreRow> __device__ inline void evaluate(const ScoreRow& score) {
  if (lane() == 0) scores[warp()] = {};
  const int end = job.start[1];
  each_ticket((end + BLOCK - 1) / BLOCK, [&](u32 block) INLINE {
#pragma unroll 1
    for (int i = block * BLOCK + warp(); i < end && i < (int)(block + 1) * BLOCK; i += WARPS) score((i64)job.rows[i], scores[warp()]);
  });
  if (thread() >= SUMS) return;
  double total = 0;
  for (int w = 0; w < WARPS && thread() < 6; w++) total += ((const double*)&scores[w])[thread()];
  job.sums[cta() * SUMS + thread()] = total;
}
