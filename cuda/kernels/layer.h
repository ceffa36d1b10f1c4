// layer.h is one dense layer on a CTA: forward, the way back, and the push of its
// gradient into the weights. W is [in][out], and its bias is the row behind it: see
// stage.h, where the inputs become a tile of rows.
//
// A CTA divides a layer like this: outputs in pieces of up to Q*THREADS; of a piece,
// width threads stand side by side, and each owns the Q outputs column, column+width,
// ...; parts such rows of threads share the rows of the tile. So neighbouring lanes
// read and add to neighbouring weights, whatever the widths, and each value of a tile
// is used Q*GROUP times for one read of shared memory. Q is 1 up to 127 outputs, and
// WIDE above: then a narrow head wastes no lanes, and a wide layer is not bound by
// shared memory.
#pragma once

#include "stage.h"

constexpr int WIDE = 4, WIDE_FROM = 128;
constexpr int HELD = WIDE * GROUP;  // sums that a thread holds

__shared__ float partial[GROUP * THREADS];

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
    it.at += (it.in + job.bias) * job.width[i];
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

__device__ inline Columns columns(const Layer& l, int q, int from) {
  int count = l.out - from < q * THREADS ? l.out - from : q * THREADS;
  int width = (count + q - 1) / q;
  return {from, count, width, THREADS / width, thread() % width, thread() / width};
}

__device__ inline float dot(f4 a, f4 b) { return a.x * b.x + a.y * b.y + a.z * b.z + a.w * b.w; }

// gather is the product with the tile's n rows: sum[q*GROUP+s] += W[input][output q] *
// x[input][s], over the rows of this thread's part. A few rows' weights are on their
// way at a time; where there is no row, the weight is 0 instead.
template <int Q> __device__ inline void gather(float (&sum)[HELD], const Layer& l, const Columns& c, int n) {
  constexpr int AHEAD = Q == 1 ? 8 : 4;
  if (c.idle()) return;
  const Weights weights = job.w;
#pragma unroll 1
  for (int base = c.part; base < n; base += AHEAD * c.parts) {
    float w[AHEAD][Q];
#pragma unroll
    for (int k = 0, r = base; k < AHEAD; k++, r += c.parts) {
#pragma unroll
      for (int q = 0; q < Q; q++) w[k][q] = 0;
      if (r >= n) continue;
      i64 at = l.at + (i64)input_of[r] * l.out + c.output(0);
#pragma unroll
      for (int q = 0; q < Q; q++)
        if (q == 0 || c.owns(q)) w[k][q] = weights.load(at + q * c.width);
    }
#pragma unroll
    for (int k = 0, r = base; k < AHEAD; k++, r += c.parts) {
      if (r >= n) r = base;
      f4 lo = tile[2 * r], hi = tile[2 * r + 1];
#pragma unroll
      for (int q = 0; q < Q; q++)
#pragma unroll
        for (int s = 0; s < GROUP; s++) sum[q * GROUP + s] += w[k][q] * (s < 4 ? lo[s] : hi[s - 4]);
    }
  }
}

// collect adds the parts' sums up, in a fixed order, and hands them on: warp s has
// those of sample s, and lane o%32 calls put(o, sum) for output o. Ends with a barrier.
template <int Q, class Put> __device__ inline void collect(const float (&sum)[HELD], const Columns& c, const Put& put) {
  int span = 1;  // lanes for the columns, a power of two; the others help
#pragma unroll 1
  while (span < c.width && span < 32) span *= 2;
  const int s = warp(), first = lane() & (span - 1), helper = lane() / span;
#pragma unroll
  for (int q = 0; q < Q; q++) {
#pragma unroll
    for (int i = 0; i < GROUP; i++) partial[i * THREADS + thread()] = sum[q * GROUP + i];
    __syncthreads();
#pragma unroll 1
    for (int i = 0; i < c.width; i += span) {
      int column = first + i;
      float total = 0;
      if (column < c.width)
#pragma unroll 4
        for (int p = helper; p < c.parts; p += 32 / span) total += partial[s * THREADS + p * c.width + column];
#pragma unroll 1
      for (int m = span; m < 32; m *= 2) total += swap(total, m);
      if (helper == 0 && column < c.width && q * c.width + column < c.count) put(c.from + q * c.width + column, total);
    }
    __syncthreads();
  }
}

// forward computes the outputs of group g. A tile of inputs adds to them: put(o, sum,
// first, last) is called as in collect, and told of the first and the last tile. forward
// returns how many rows the last one has. Without deep there are no wide layers.
template <bool deep, class Put>
__device__ inline int forward(const Layer& l, const Inputs& x, int g, bool compact, const Put& put) {
  const int q = deep && l.out >= WIDE_FROM ? WIDE : 1;
  int n = 0;
#pragma unroll 1
  for (int from = 0; from < l.out; from += q * THREADS) {
    const Columns c = columns(l, q, from);
#pragma unroll 1
    for (int j = 0; j < x.all(); j += TILE) {
      n = stage<deep>(x, g, j, compact);
      float sum[HELD] = {};
      auto add = [&](int o, float v) INLINE { put(o, v, j == 0, j + TILE >= x.all()); };
      if (deep && q > 1) {
        gather<WIDE>(sum, l, c, n);
        collect<WIDE>(sum, c, add);
      } else {
        gather<1>(sum, l, c, n);
        collect<1>(sum, c, add);
      }
    }
  }
  return n;
}
