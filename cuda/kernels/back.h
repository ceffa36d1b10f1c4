// back.h is what follows the losses: the way of the deltas back through the layers,
// and the push of each layer's gradient into the weights.
#pragma once

#include "layer.h"

// Rule is how a gradient g becomes an addition: g += l2 w; with momentum, v = mu v + g
// and g = v; out += scale g.
struct Rule {
  float l2, mu;
  u32 momentum;
  float scale;  // -lr of the step; of a gradient that is only kept, 1

  // everywhere tells whether weights move that have no gradient.
  __device__ bool everywhere() const { return momentum || l2 != 0; }
};

__shared__ Rule rule;

// read_rule sets what is the same for all steps, set_scale what is not. Both are for all
// threads; a barrier follows.
__device__ inline void read_rule() {
  if (thread() == 0) rule = {(float)job.l2, (float)job.momentum, !job.gradient && !job.velocity.none(), 0};
}
__device__ inline void set_scale(u32 step) {
  if (thread() == 0) rule.scale = job.gradient ? 1 : -job.lr[step];
}

// fold adds v up over eight neighbouring lanes; lane i%8 gets the sum of sample i%8.
__device__ inline float fold(const float (&v)[GROUP]) {
  float a[4], b[2];
#pragma unroll
  for (int i = 0; i < 4; i++) {
    float lo = v[i], hi = v[i + 4];
    a[i] = (lane() & 4 ? hi : lo) + swap(lane() & 4 ? lo : hi, 4);
  }
#pragma unroll
  for (int i = 0; i < 2; i++) {
    float lo = a[i], hi = a[i + 2];
    b[i] = (lane() & 2 ? hi : lo) + swap(lane() & 2 ? lo : hi, 2);
  }
  float lo = b[0], hi = b[1];
  return (lane() & 1 ? hi : lo) + swap(lane() & 1 ? lo : hi, 1);
}

// back computes the deltas of the layer before l, for one group: before[i][s] = sum_o
// W[i][o] d[o][s] where unit i was alive, and 0 elsewhere. Eight lanes do an input, a
// 32-byte sector of W at a time.
__device__ inline void back(const Layer& l, Global<const float>* d, Global<const float>* units, Global<float>* before) {
  constexpr int AHEAD = 4, LANES = 8;
  for (int from = 0; from < l.out; from += TILE) {
    const int n = l.out - from < TILE ? l.out - from : TILE;
    __syncthreads();
#pragma unroll 1
    for (int i = thread(); i < 2 * n; i += THREADS) tile[i] = ((Global<const f4>*)d)[2 * from + i];
    __syncthreads();
#pragma unroll 1
    for (int first = 4 * warp(); first < l.in; first += 4 * WARPS) {
      const int i = first + lane() / LANES, own = lane() % LANES;
      const i64 at = l.at + (i64)i * l.out + from;
      float v[GROUP] = {};
#pragma unroll 1
      for (int o = own; o < n && i < l.in; o += AHEAD * LANES) {
        float w[AHEAD];
#pragma unroll
        for (int k = 0; k < AHEAD; k++) w[k] = o + k * LANES < n ? job.w.load(at + o + k * LANES) : 0;
#pragma unroll
        for (int k = 0; k < AHEAD; k++) {
          int r = o + k * LANES < n ? o + k * LANES : o;
          f4 lo = tile[2 * r], hi = tile[2 * r + 1];
#pragma unroll
          for (int s = 0; s < GROUP; s++) v[s] += w[k] * (s < 4 ? lo[s] : hi[s - 4]);
        }
      }
      float sum = fold(v);
      if (i >= l.in) continue;
      const i64 to = (i64)i * GROUP + own;
      if (from > 0) sum += before[to];
      before[to] = from + n == l.out && units[to] <= 0 ? 0 : sum;
    }
  }
}

// PIECE is how many sums of a gradient a thread holds: those of PIECE/Q rows of the tile
// and of its Q outputs, but of eight rows at most.
constexpr int PIECE = 12;

template <int Q> constexpr int rows_held() { return PIECE / Q < 8 ? PIECE / Q : 8; }

// accumulate adds a group to a gradient: sum[k*Q+q] is that of the k-th row of this
// thread's part from base on, of n, and of its output q; d are the group's deltas, as
// deltas_of has them, and first is where the group's rows begin in the tile.
template <int Q>
__device__ inline void accumulate(float (&sum)[PIECE], const float (&d)[HELD], const Columns& c, int first, int base, int n) {
#pragma unroll
  for (int k = 0; k < rows_held<Q>(); k++) {
    int r = base + k * c.parts + c.part;
    if (k % 4 == 0 && base + k * c.parts >= n) break;
    r = first + (r < n ? r : 0);
    f4 lo = tile[2 * r], hi = tile[2 * r + 1];
#pragma unroll
    for (int q = 0; q < Q; q++)
#pragma unroll
      for (int s = 0; s < GROUP; s++) sum[k * Q + q] += d[q * GROUP + s] * (s < 4 ? lo[s] : hi[s - 4]);
  }
}

// Mine says where the sums of a thread belong: input[k] is that of its k-th row, -1
// where there is none.
template <int Q> struct Mine {
  i32 input[rows_held<Q>()];

  __device__ Mine(const Columns& c, int base, int n) {
#pragma unroll
    for (int k = 0; k < rows_held<Q>(); k++) {
      int r = base + k * c.parts + c.part;
      input[k] = r < n && !c.idle() ? input_of[r] : -1;
    }
  }
  // each calls f(i, k, at) for all sums: the i-th is that of the weight at at.
  template <class F> __device__ void each(const Layer& l, const Columns& c, const F& f) const {
#pragma unroll
    for (int k = 0; k < rows_held<Q>(); k++)
#pragma unroll
      for (int q = 0; q < Q; q++)
        if (input[k] >= 0 && c.owns(q)) f(k * Q + q, input[k], l.at + (i64)input[k] * l.out + c.output(q));
  }
};

// take_step adds the step of such a gradient to the weights. What is zero is not added:
// a pixel that is blank in the whole batch costs no traffic.
template <int Q> __device__ inline void take_step(float (&g)[PIECE], const Layer& l, const Columns& c, int base, int n) {
  const Mine<Q> mine(c, base, n);
  if (rule.l2 != 0) {
    float w[PIECE] = {};
    mine.each(l, c, [&](int i, i32, i64 at) INLINE { w[i] = job.w.load(at); });
    mine.each(l, c, [&](int i, i32 input, i64) INLINE { g[i] += input < l.in ? rule.l2 * w[i] : 0; });
  }
  if (rule.momentum) {
    float v[PIECE] = {};
    mine.each(l, c, [&](int i, i32, i64 at) INLINE { v[i] = job.velocity.load(at); });
    mine.each(l, c, [&](int i, i32, i64 at) INLINE {
      g[i] += rule.mu * v[i];
      job.velocity.store(at, g[i]);
    });
  }
  mine.each(l, c, [&](int i, i32, i64 at) INLINE {
    float step = rule.scale * g[i];
    if (step != 0) job.out.add(at, step);
  });
}

// deltas_of are those of this thread's outputs: d[q*GROUP+s]. read(g, o, lo, hi) has
// those of group g and output o.
template <int Q, class Read> __device__ inline void deltas_of(float (&d)[HELD], const Columns& c, int g, const Read& read) {
#pragma unroll
  for (int q = 0; q < Q; q++) {
    f4 lo = 0, hi = 0;
    if (c.owns(q)) read(g, c.output(q), lo, hi);
#pragma unroll
    for (int s = 0; s < GROUP; s++) d[q * GROUP + s] = s < 4 ? lo[s] : hi[s - 4];
  }
}

// push_group pushes a step of one group, whose tile has n rows.
template <int Q, class Read>
__device__ inline void push_group(const Layer& l, const Columns& c, int n, const Read& read) {
  float d[HELD];
  deltas_of<Q>(d, c, 0, read);
#pragma unroll 1
  for (int base = 0; base < n; base += rows_held<Q>() * c.parts) {
    float sum[PIECE] = {};
    accumulate<Q>(sum, d, c, 0, base, n);
    take_step<Q>(sum, l, c, base, n);
  }
}

// add_groups adds the groups of the tile, which has n rows of each, to the gradient.
template <int Q, class Read>
__device__ inline void add_groups(float (&sum)[PIECE], const Columns& c, const Slice& part, int groups, int n, const Read& read) {
#pragma unroll 1
  for (int g = 0; g < part.groups && part.first + g < groups; g++) {
    float d[HELD];
    deltas_of<Q>(d, c, part.first + g, read);
    accumulate<Q>(sum, d, c, g * part.rows, 0, n);
  }
}

// push_groups pushes inputs part.from to part.from+rows of a step of several groups:
// the gradient is summed over all of them first.
template <bool deep, class Read>
__device__ inline void push_groups(const Layer& l, const Inputs& x, const Columns& c, bool wide, Slice part, const Read& read) {
  float sum[PIECE] = {};
  int n = 0, groups = (x.batch + GROUP - 1) / GROUP;
#pragma unroll 1
  for (; part.first < groups; part.first += part.groups) {
    n = stage_groups<deep>(x, part);
    if (deep && wide) add_groups<WIDE>(sum, c, part, groups, n, read);
    else add_groups<1>(sum, c, part, groups, n, read);
  }
  if (deep && wide) take_step<WIDE>(sum, l, c, 0, n);
  else take_step<1>(sum, l, c, 0, n);
}

// push takes the layer's step. read(g, o, lo, hi) has the deltas of group g's output
// o. A step of one group is pushed tile by tile, without zero rows; of more, each
// thread sums a few rows over all groups. If held is not 0, the tile of the one group
// is there already, and has that many rows. Without deep there are no wide layers.
template <bool deep, class Read>
__device__ inline void push(const Layer& l, const Inputs& x, int held, const Read& read) {
  const bool wide = deep && l.out >= WIDE_FROM;
  const int q = wide ? WIDE : 1, most = wide ? rows_held<WIDE>() : rows_held<1>();
#pragma unroll 1
  for (int from = 0; from < l.out; from += q * THREADS) {
    if (x.batch <= GROUP) {
#pragma unroll 1
      for (int j = 0; j < x.all(); j += TILE) {
        int n = held ? held : stage<deep>(x, 0, j, !rule.everywhere());
        const Columns c = columns(l, q, from);
        if (deep && wide) push_group<WIDE>(l, c, n, read);
        else push_group<1>(l, c, n, read);
      }
      continue;
    }
    const Columns c = columns(l, q, from);
    Slice part = {0, 1, 0, TILE};
    if (most * c.parts < TILE) part.rows = most * c.parts;
#pragma unroll 1
    while (2 * part.groups * part.rows <= TILE && part.groups * GROUP < x.batch && part.groups < 32) part.groups *= 2;
#pragma unroll 1
    for (; part.from < x.all(); part.from += part.rows) push_groups<deep>(l, x, c, wide, part, read);
  }
}
