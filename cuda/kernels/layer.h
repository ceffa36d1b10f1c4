// layer.h is one dense layer on a CTA: forward, the way back, and the push of its
// gradient into the weights. W is [in][out], its bias is the row behind it, and s of
// centred inputs the one behind that: see stage.h, where the inputs become a tile of rows.
//
// A CTA divides a layer like this: outputs in pieces of up to Q*THREADS; of a piece,
// width threads stand side by side, and each owns the Q outputs column, column+width,
// ...; parts such rows of threads share the rows of the tile. So neighbouring lanes
// read and add to neighbouring weights, whatever the widths, and each value of a tile
// is used Q*S times for one read of shared memory. Q is 1 up to 127 outputs, and
// WIDE above: then a narrow head wastes no lanes, and a wide layer is not bound by
// shared memory.
#pragma once

#include "stage.h"

constexpr int WIDE = 4, WIDE_FROM = 128;

struct Layer {
  i64 at;  // where W begins in the weights
  int in, out;
};

__shared__ Layer layers[MAX_LAYERS];  // of this launch's model

// read_layers sets them. A barrier follows.
__device__ inline void read_layers() {
  const int l = thread();
  if (l >= small(job.layers)) return;
  Layer it = {0, small(job.features), small(l == small(job.layers) - 1 ? job.outputs : job.width[l])};
#pragma unroll 1
  for (int i = 0; i < l; i++) {
    it.at += (it.in + job.bias + (i == 0 && job.center >= 0)) * job.width[i];
    it.in = small(job.width[i]);
  }
  layers[l] = it;
}

// Columns is a thread's place in a piece of a layer's outputs.
struct Columns {
  int from, count;   // the piece
  int width, parts;  // threads side by side, and how many such rows
  int column, part;  // of this thread; part >= parts: it has none

  __device__ bool idle() const { return part >= parts; }
  // output is the q-th output of this thread in the layer; owns tells if there is one.
  __device__ int output(int q) const { return from + column + q * width; }
  __device__ bool owns(int q) const { return column + q * width < count; }
};

// quotient is a/b of small numbers, a < 1024 (a division would be 20 instructions): a/b+1/2b
// is at least 1/2b from the next whole number, and the inverse far closer than that.
__device__ inline int quotient(int a, int b) { return (int)(((float)a + 0.5f) * inverse((float)b)); }

template <int Q> __device__ inline Columns columns(const Layer& l, int from) {
  int count = l.out - from < Q * THREADS ? l.out - from : Q * THREADS;
  int width = (u32)(count + Q - 1) / Q, part = quotient(thread(), width);
  return {from, count, width, quotient(THREADS, width), thread() - part * width, part};
}

// Side is the columns of a matrix like W that a thread works on: those of its outputs. An
// output that there is not has the place of the thread's first.
template <int Q> struct Side {
  Global<float>* at[Q];
  int row;  // bytes from one input to the next

  __device__ Side(const Weights& w, const Layer& l, const Columns& c) : row(4 * l.out) {
#pragma unroll
    for (int q = 0; q < Q; q++) at[q] = w.at + l.at + c.output(c.owns(q) ? q : 0);
  }
  // of is the weight of an input for the q-th output.
  __device__ Weights of(int input, int q) const { return {behind(at[q], input, row)}; }
};

// gather is the product with the tile's n rows: sum[q*S+s] += W[input][output q] *
// x[input][s], over the rows of this thread's part. A few rows' weights are on their way at
// a time; where there is no row, the row of zeros stands for it.
template <int Q, int S> __device__ inline void gather(float (&sum)[Q * S], const Layer& l, const Columns& c, int n) {
  constexpr int AHEAD = 4;
  const Side<Q> side(job.w, l, c);
#pragma unroll 1
  for (int base = c.idle() ? n : c.part; base < n; base += AHEAD * c.parts) {
    float w[AHEAD][Q];
    int row[AHEAD];
#pragma unroll
    for (int k = 0, r = base; k < AHEAD; k++, r += c.parts) row[k] = r < n ? r : ZERO;
#pragma unroll
    for (int k = 0; k < AHEAD; k++) {
      const int input = input_of[row[k]];
#pragma unroll
      for (int q = 0; q < Q; q++) w[k][q] = side.of(input, q).load(0);
    }
#pragma unroll
    for (int k = 0; k < AHEAD; k++) {
      float x[S];
      get_row(x, row[k]);
#pragma unroll
      for (int q = 0; q < Q; q++)
#pragma unroll
        for (int s = 0; s < S; s++) sum[q * S + s] += w[k][q] * x[s];
    }
  }
}

// collect adds N sums of each thread up over the parts, ROUND of them at a time, each by WARPS/ROUND
// warps. Those lie at the end of the tile, before the row of zeros, as they and the tile would be
// more than 48 KB: beyond PARTIAL floats the tile's rows are lost, unless it spares all n.
template <int N> constexpr int ROUND = N < WARPS ? N : WARPS;
template <int N> constexpr int PARTIAL = ZERO * GROUP - ROUND<N> * THREADS;
template <int N, int S> __device__ inline bool spares(int n) { return n * S <= PARTIAL<N>; }

// collect does so in a fixed order and hands the sums on: put(o, s, sum) for each output o and
// sample s. What follows it is behind a barrier. If they are graded it is not: warp s has all sums of sample s, as
// grade does, and each lane those of its outputs there.
template <int Q, int S, bool graded, class Put>
__device__ inline void collect(const float (&sum)[Q * S], const Columns& c, int n, const Put& put) {
  constexpr int N = Q * S, TEAM = graded ? 1 : WARPS / ROUND<N>;
  static_assert(!graded || (Q == 1 && S == ROUND<N>), "a warp for each sample");
  static_assert(PARTIAL<N> >= (S == 1 ? ZERO + 1 : 0), "the row of zeros stays");
  float* partial = (float*)tile + PARTIAL<N>;
  const int own = warp() / TEAM, share = (u32)(c.width + TEAM - 1) / TEAM, from = warp() % TEAM * share;
  const int end = from + share < c.width ? from + share : c.width;  // of the columns of this warp
  int span = 1;  // lanes for the columns, a power of two; the others help
#pragma unroll 1
  while (span < share && span < 32) span *= 2;
  const int first = lane() & (span - 1), helper = quotient(lane(), span), helpers = quotient(32, span);
  if (!spares<N, S>(n)) __syncthreads();  // all threads have read the rows that are lost
#pragma unroll
  for (int i = 0; i < N; i += ROUND<N>) {
#pragma unroll
    for (int k = 0; k < ROUND<N>; k++) partial[k * THREADS + thread()] = sum[i + k];
    __syncthreads();
    if (graded && own >= S) return;
    const int q = (i + own) / S, s = (i + own) % S;  // of the sum that this warp adds up
#pragma unroll 1
    for (int column = from + first; column - first < end; column += span) {
      float total = 0;
      if (column < end)
#pragma unroll 4
        for (int p = helper; p < c.parts; p += helpers) total += partial[own * THREADS + p * c.width + column];
#pragma unroll 1
      for (int m = span; m < 32; m *= 2) total += swap(total, m);
      if (helper == 0 && column < end && q * c.width + column < c.count) put(c.from + q * c.width + column, s, total);
    }
    if (!graded) __syncthreads();
  }
}

// piece is a tile's part of the outputs that begin at from.
template <int Q, int S, bool graded, class Put> __device__ inline void piece(const Layer& l, int from, int n, const Put& put) {
  const Columns c = columns<Q>(l, from);
  float sum[Q * S] = {};
  gather<Q, S>(sum, l, c, n);
  collect<Q, S, graded>(sum, c, n, put);
}

// forward computes the outputs of group g. A tile of inputs adds to them: put(o, s, sum,
// first, last) is called as in collect, and told of the first and the last tile. forward
// returns how many rows the last one has, or 0 if collect has taken their place. Without
// deep there are no wide layers. It is for all threads, and ends with a barrier unless sums are graded.
template <bool deep, int S, bool graded = false, class Put>
__device__ inline int forward(const Layer& l, const Inputs& x, int g, bool compact, const Put& put) {
  const bool wide = deep && l.out >= WIDE_FROM;
  int n = 0;
#pragma unroll 1
  for (int from = 0; from < l.out; from += (wide ? WIDE : 1) * THREADS) {
#pragma unroll 1
    for (int j = 0; j < l.in; j += TILE) {
      n = stage<deep, S>(x, g, j, compact, false);
      auto add = [&](int o, int s, float v) INLINE { put(o, s, v, j == 0, j + TILE >= l.in); };
      if (deep && wide) piece<WIDE, S, false>(l, from, n, add);
      else piece<1, S, graded>(l, from, n, add);
    }
  }
  return spares<S, S>(n) && !wide ? n : 0;
}
