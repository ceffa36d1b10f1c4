// back.h is what follows the losses: the way of the deltas back through the layers,
// and the push of each layer's gradient into the weights.
#pragma once

#include "layer.h"
#include "optimizer.h"
#include "guard.h"

// reduce adds v up over eight neighbouring lanes; lane i%8 gets the sum of sample i%8, or of
// a single sample each the same.
__device__ inline float reduce(const float (&v)[1]) {
  float sum = v[0];
#pragma unroll
  for (int m = 4; m > 0; m /= 2) sum += swap(sum, m);
  return sum;
}
__device__ inline float reduce(const float (&v)[GROUP]) {
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
// 32-byte sector of W at a time. It is for all threads, after a barrier, and unless it is the last ends with one.
template <int S> __device__ inline void back(const Layer& l, Global<const float>* d, Global<const float>* units, Global<float>* before, bool last) {
  constexpr int AHEAD = 4, LANES = 8;
  for (int from = 0; from < l.out; from += TILE) {
    const int n = l.out - from < TILE ? l.out - from : TILE;
#pragma unroll 1
    for (int i = thread(); i < 2 * n; i += THREADS) tile[i] = ((Global<const f4>*)d)[2 * from + i];
    __syncthreads();
#pragma unroll 1
    for (int first = 4 * warp(); first < l.in; first += 4 * WARPS) {
      const int i = first + lane() / LANES, own = lane() % LANES;
      const i64 at = l.at + (i64)i * l.out + from;
      float v[S] = {};
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
          for (int s = 0; s < S; s++) v[s] += w[k] * (s < 4 ? lo[s] : hi[s - 4]);
        }
      }
      float sum = reduce(v);
      if (i >= l.in || own >= S) continue;
      const i64 to = (i64)i * GROUP + own;
      if (from > 0) sum += before[to];
      before[to] = from + n == l.out && units[to] <= 0 ? 0 : sum;
    }
    if (!last || from + n < l.out) __syncthreads();
  }
}

// PIECE is how many sums of a gradient a thread holds: those of PIECE/Q rows of the tile
// and of its Q outputs.
constexpr int PIECE = 8;

template <int Q> constexpr int rows_held() { return PIECE / Q; }

// accumulate adds a group to a gradient: sum[k*Q+q] is that of the k-th row of this
// thread's part from base on, of n, and of its output q; d are the group's deltas, as
// deltas_of has them, and first is where the group's rows begin in the tile.
template <int Q, int S>
__device__ inline void accumulate(float (&sum)[PIECE], const float (&d)[Q * S], const Columns& c, int first, int base, int n) {
#pragma unroll
  for (int k = 0; k < rows_held<Q>(); k++) {
    int r = base + k * c.parts + c.part;
    if (k % 4 == 0 && base + k * c.parts >= n) break;
    float x[S];
    get_row(x, first + (r < n ? r : 0));
#pragma unroll
    for (int q = 0; q < Q; q++)
#pragma unroll
      for (int s = 0; s < S; s++) sum[k * Q + q] += d[q * S + s] * x[s];
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
  // each calls f(i, input, at) for the sums from .. from+count-1: the i-th is that of the
  // weight at at, of that input.
  template <class F> __device__ void each(const Layer& l, const Columns& c, int from, int count, const F& f) const {
#pragma unroll
    for (int k = 0; k < rows_held<Q>(); k++)
#pragma unroll
      for (int q = 0; q < Q; q++) {
        const int i = k * Q + q;
        if (i >= from && i < from + count && input[k] >= 0 && c.owns(q)) f(i, input[k], l.at + (i64)input[k] * l.out + c.output(q));
      }
  }
};

// TOGETHER is how many weights' states are loaded before the first is used: CTAs of 256 threads have fewer registers.
constexpr int TOGETHER = THREADS == 256 ? 2 : 4;

// turn_some makes of the gradients from .. from+TOGETHER-1 the steps, where those are
// more than a multiple.
template <int Q> __device__ inline void turn_some(float (&g)[PIECE], const Layer& l, const Columns& c, const Mine<Q>& mine, int from) {
  float w[PIECE], a[PIECE], b[PIECE];
  auto each = [&](const auto& f) INLINE { mine.each(l, c, from, TOGETHER, f); };
#pragma unroll
  for (int i = 0; i < PIECE; i++) w[i] = a[i] = b[i] = 0;
  if (optimizer.kind != SGD) each([&](int i, i32, i64 at) INLINE { a[i] = job.first.load(at); });
  if (optimizer.kind == ADAM) each([&](int i, i32, i64 at) INLINE { b[i] = job.second.load(at); });
  if (optimizer.regularizes()) each([&](int i, i32 input, i64 at) INLINE { w[i] = input < l.in ? job.w.load(at) : 0; });
  each([&](int i, i32, i64) INLINE { g[i] = step_of(a[i], b[i], g[i] + optimizer.l2 * w[i]); });
  if (optimizer.kind != SGD) each([&](int i, i32, i64 at) INLINE {
    if (optimizer.kind != ADAGRAD || g[i] != 0) job.first.store(at, a[i]);
  });
  if (optimizer.kind == ADAM) each([&](int i, i32, i64 at) INLINE { job.second.store(at, b[i]); });
  if (optimizer.l1 != 0) each([&](int i, i32 input, i64) INLINE { g[i] = input < l.in ? soft_threshold(w[i], g[i]) : g[i]; });
}

// take_step adds the step of such a gradient to the weights. What is zero is not added:
// a pixel that is blank in the whole batch costs no traffic.
template <int Q> __device__ inline void take_step(float (&g)[PIECE], const Layer& l, const Columns& c, int base, int n) {
  const Mine<Q> mine(c, base, n);
  if (optimizer.kind == SGD && !optimizer.regularizes()) {
#pragma unroll
    for (int i = 0; i < PIECE; i++) g[i] *= optimizer.scale;
  } else {
#pragma unroll
    for (int from = 0; from < PIECE; from += TOGETHER) turn_some<Q>(g, l, c, mine, from);
  }
  mine.each(l, c, 0, PIECE, [&](int i, i32, i64 at) INLINE {
    if (g[i] != 0) job.out.add(at, g[i]);
  });
}

// deltas_of are those of this thread's outputs: d[q*S+s]. read(g, o, lo, hi) has those of
// group g and output o.
template <int Q, int S, class Read> __device__ inline void deltas_of(float (&d)[Q * S], const Columns& c, int g, const Read& read) {
#pragma unroll
  for (int q = 0; q < Q; q++) {
    f4 lo = 0, hi = 0;
    if (c.owns(q)) read(g, c.output(q), lo, hi);
#pragma unroll
    for (int s = 0; s < S; s++) d[q * S + s] = s < 4 ? lo[s] : hi[s - 4];
  }
}

// push_plain pushes a step of one group by plain SGD, whose tile has n rows. A thread whose
// deltas are all zero (a dead unit, a margin that is met) adds nothing. Single zeros are
// added: to test each sum costs more (ptxas makes a branch of five instructions of it).
template <int Q, int S> __device__ inline void push_plain(float (&d)[Q * S], const Layer& l, const Columns& c, int n) {
  const Side<Q> side(job.out, l, c);
  bool some = false;
#pragma unroll
  for (int i = 0; i < Q * S; i++) {
    some |= d[i] != 0;
    d[i] *= optimizer.scale;
  }
#pragma unroll 1
  for (int r = some && !c.idle() ? c.part : n; r < n; r += c.parts) {
    float x[S], g[Q] = {};
    const int input = get_row(x, r);
#pragma unroll
    for (int q = 0; q < Q; q++)
#pragma unroll
      for (int s = 0; s < S; s++) g[q] += d[q * S + s] * x[s];
#pragma unroll
    for (int q = 0; q < Q; q++) side.of(input, q).add(0, g[q]);  // an output that there is not: 0, see Side
  }
}

// push_group pushes a step of one group, whose tile has n rows.
template <int Q, int S, class Read> __device__ inline void push_group(const Layer& l, int from, int n, const Read& read) {
  const Columns c = columns<Q>(l, from);
  float d[Q * S];
  deltas_of<Q, S>(d, c, 0, read);
  if (optimizer.kind == SGD && !optimizer.regularizes()) {
    push_plain<Q, S>(d, l, c, n);
    return;
  }
#pragma unroll 1
  for (int base = 0; base < n; base += rows_held<Q>() * c.parts) {
    float sum[PIECE] = {};
    accumulate<Q, S>(sum, d, c, 0, base, n);
    take_step<Q>(sum, l, c, base, n);
  }
}

// add_groups adds the groups of the tile, which has n rows of each, to the gradient.
template <int Q, class Read>
__device__ inline void add_groups(float (&sum)[PIECE], const Columns& c, const Slice& part, int groups, int n, const Read& read) {
#pragma unroll 1
  for (int g = 0; g < part.groups && part.first + g < groups; g++) {
    float d[Q * GROUP];
    deltas_of<Q, GROUP>(d, c, part.first + g, read);
    accumulate<Q, GROUP>(sum, d, c, g * part.rows, 0, n);
  }
}

// push_groups pushes the outputs from from on of a step of several groups, a few inputs at a
// time: each thread sums the gradient of a few rows over all groups first.
template <bool deep, int Q, class Read> __device__ inline void push_groups(const Layer& l, const Inputs& x, int from, const Read& read) {
  const Columns c = columns<Q>(l, from);
  const int groups = (x.batch + GROUP - 1) / GROUP;
  Slice part = {0, 1, 0, TILE};
  if (rows_held<Q>() * c.parts < TILE) part.rows = rows_held<Q>() * c.parts;
#pragma unroll 1
  while (2 * part.groups * part.rows <= TILE && part.groups < groups && part.groups < 32) part.groups *= 2;
#pragma unroll 1
  for (; part.from < x.all(); part.from += part.rows) {
    float sum[PIECE] = {};
    int n = 0;
#pragma unroll 1
    for (part.first = 0; part.first < groups; part.first += part.groups) {
      n = stage_groups<deep>(x, part);
      add_groups<Q>(sum, c, part, groups, n, read);
    }
    take_step<Q>(sum, l, c, 0, n);
  }
}

// push takes the layer's step. read(g, o, lo, hi) has the deltas of group g's output
// o. A step of one group is pushed tile by tile, without zero rows; of more, each
// thread sums a few rows over all groups. If held is not 0, the tile of the one group
// is there already, and has that many rows. Without deep there are no wide layers. It is for
// all threads; if the tile is there, after a barrier.
template <bool deep, int S, class Read>
__device__ inline void push(const Layer& l, const Inputs& x, int held, const Read& read) {
  const bool wide = deep && l.out >= WIDE_FROM;
#pragma unroll 1
  for (int from = 0; from < l.out; from += (wide ? WIDE : 1) * THREADS) {
    if (S == GROUP && x.batch > S) {
      if (deep && wide) push_groups<deep, WIDE>(l, x, from, read);
      else push_groups<deep, 1>(l, x, from, read);
      continue;
    }
#pragma unroll 1
    for (int j = 0; j < l.in; j += TILE) {
      const int n = held ? held : stage<deep, S>(x, 0, j, !optimizer.everywhere(), true);
      if (deep && wide) push_group<WIDE, S>(l, from, n, read);
      else push_group<1, S>(l, from, n, read);
    }
  }
}
