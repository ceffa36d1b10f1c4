// conv_tensor.h is the convolutions of a group of samples as products on tensor cores, forth and back, for a room in
// shared memory. Operands are in tf32: images and outputs are rounded when they are stored, weights when they are packed, and
// deltas when they are spread.
//
// Forth, a row of A is a place where the kernel stands, and a column a tap: the places of a window are rows of one lane, so
// that pooling needs no other. Back, the deltas lie as outputs before pooling do, most of them zero, with rows of
// zeros around each channel where a layer is before it:
//
//	gradient     taps x channels: sums over places
//	inputs       for each column of the kernel two rows of eight places x channels, over outputs and rows of the kernel
//
// The weights lie as the lanes take them, so that a load is a vector.
#pragma once

#include "conv_forth.h"

// dense are the deltas of all convolutions, dense_floats so many floats; behind them are the sums of parts.
__device__ inline Global<float>* dense() { return far_room(); }
__device__ inline int dense_floats() { return small(job.width[5]); }

__device__ inline u32 bits(float v) { return __builtin_bit_cast(u32, v); }

// prepare_tiles sets once a launch what no step changes: zeros where tiles have no weights. A barrier follows.
__device__ inline void prepare_tiles() {
#pragma unroll 1
  for (int j = thread(); j < packed_floats(); j += THREADS) scratch()[j] = 0;
}

// at_place is the address n floats behind another: one instruction, where the compiler would widen n first.
__device__ inline Global<float>* at_place(Global<float>* p, i32 n) {
  Global<float>* at;
  asm("mad.wide.s32 %0, %1, 4, %2;" : "=l"(at) : "r"(n), "l"(p));
  return at;
}
__device__ inline Shared<float>* at_place(Shared<float>* p, i32 n) { return p + n; }

// pack_row packs the weights of channel o of a convolution for a step, for products forth and, if it is not the first,
// back. TOGETHER numbers of a lane lie together.
template <int TOGETHER> __device__ inline void pack_row(const Conv& c, int o, Global<float>* forth, bool first) {
  constexpr int AHEAD = 4;
  const int taps = c.taps(), own = lane(), step = 4 * 64 * c.tiles;  // a round is four steps of a product
  const Weights from = {job.w.at + c.weight + o * taps + own};
  Global<float>* to = forth + own / 8 * 64 * c.tiles + (4 * (o % 8) + own % 4) * TOGETHER + own / 4 % 2;
  Global<float>* back = scratch() + c.back + o / 8 * c.packs * 128 + 4 * (o % 4) + o / 4 % 2;
  Global<const i64>* order = job.plan + c.order + own;
#pragma unroll 1
  for (int base = 0; base < taps; base += AHEAD * 32) {
    const int left = taps - own - base;
    float w[AHEAD];
    i32 place[AHEAD];
#pragma unroll
    for (int k = 0; k < AHEAD; k++) {
      w[k] = 32 * k < left ? from.load(base + 32 * k) : 0;
      place[k] = !first && 32 * k < left ? (i32)order[base + 32 * k] : 0;
    }
#pragma unroll
    for (int k = 0; k < AHEAD; k++) {
      if (32 * k >= left) continue;
      *at_place(to, (base / 32 + k) * step) = rounded(w[k]);
      if (!first) *at_place(back, place[k]) = rounded(w[k]);
    }
  }
}

// pack_tiles packs the weights of all convolutions, and the biases.
__device__ inline void pack_tiles() {
#pragma unroll 1
  for (int l = 0; l < plan.convs; l++) {
    const Conv& c = plan.conv[l];
    const int steps = (c.taps() + 15) / 16 * 2;
#pragma unroll 1
    for (int o = warp(); o < c.out; o += WARPS) {
      const int n = quotient(o / 8, c.tiles), j = o / 8 - n * c.tiles;  // its tile is the j-th of the n-th piece
      Global<float>* to = scratch() + c.forth + c.padded + 64 * n * c.tiles * steps;
      if (c.tiles == 2) pack_row<4>(c, o, to + 2 * j, l == 0);
      else pack_row<2>(c, o, to, l == 0);
      if (lane() == 0) scratch()[c.forth + o] = c.bias >= 0 ? job.w.load(c.bias + o) : 0;
    }
  }
}

// multiply adds the products of all taps: at has the places of a lane's four rows, or of the first two of each two
// neighbours. w are the weights of a piece of N tiles.
template <int N, bool TWO, class X>
__device__ inline void multiply(Product (&sum)[2][N], const X (&at)[TWO ? 2 : 4], int taps, Global<const i64>* offset, Global<const float>* w) {
  using Some = float __attribute__((ext_vector_type(2 * N)));
  Global<const Some>* own = (Global<const Some>*)w + lane();
#pragma unroll 1
  for (int tap = 0; tap < taps; tap += 16, offset += 16, own += 64)
#pragma unroll
    for (int k = 0; k < 2; k++) {
      const i32 place[2] = {(i32)offset[8 * k], (i32)offset[8 * k + 4]};
      u32 a[4][2], b[N][2];
#pragma unroll
      for (int r = 0; r < (TWO ? 2 : 4); r++)
#pragma unroll
        for (int h = 0; h < 2; h++) {
          const X from = at_place(at[r], place[h]);
          if constexpr (TWO) a[2 * r][h] = bits(from[0]), a[2 * r + 1][h] = bits(from[1]);
          else a[r][h] = bits(from[0]);
        }
      const Some v = own[32 * k];
#pragma unroll
      for (int n = 0; n < 2 * N; n++) b[n / 2][n % 2] = bits(v[n]);
#pragma unroll
      for (int n = 0; n < N; n++)
#pragma unroll
        for (int i = 0; i < 2; i++) sum[i][n].add(a[2 * i][0], a[2 * i + 1][0], a[2 * i][1], a[2 * i + 1][1], b[n][0], b[n][1]);
    }
}

// Best is the largest of a window, of the channels 8n+2t and 8n+2t+1 of each tile n, and where it was.
template <int N> struct Best {
  float value[N][2];
  i32 spot[N][2];

  // take takes rows of windows that are the lane's four: of one place each, of the first alone or with those before.
  __device__ void take(const Product (&sum)[2][N], const i32 (&spots)[4], bool first) {
#pragma unroll
    for (int k = 0; k < 2 * N; k++) {
      float most = sum[0][k / 2].sum[k % 2];
      i32 at = spots[0];
#pragma unroll
      for (int r = 1; r < 4; r++) most = __nvvm_fmax_nan_f(most, sum[r / 2][k / 2].sum[r % 2 * 2 + k % 2]);
#pragma unroll
      for (int r = 3; r >= 1; r--) at = sum[(r - 1) / 2][k / 2].sum[(r - 1) % 2 * 2 + k % 2] == most ? spots[r - 1] : r == 3 ? spots[3] : at;
      if (!first && !larger(most, value[k / 2][k % 2])) continue;
      value[k / 2][k % 2] = most, spot[k / 2][k % 2] = at;
    }
  }

  // put stores them, after dropout and ReLU, for one window of sample s; first is the first channel.
  __device__ void put(Shared<float>* room, const Conv& c, int l, int s, int first, int window) const {
    const int places = c.places(), o = first + 2 * Lane().t, apart = c.apart, begin = o * places + window;
    const bool inner = apart == 1, drops = group.train && c.threshold > 0;
    Shared<float>* y = outputs(room, c, s);
    auto where = as<u16>(sample(room, s) + c.where);
#pragma unroll
    for (int n = 0; n < N; n++) {
      float scale[2] = {1, 1};
      if (drops) {
        const Dropout drop(c, l, s, (o + 8 * n) / 4);
        scale[0] = drop.of(o % 4), scale[1] = drop.of(o % 4 + 1);
      }
#pragma unroll
      for (int h = 0; h < 2; h++) {
        const int at = begin + (8 * n + h) * places;
        float v = value[n][h] * scale[h];
        u32 from = (o + 8 * n + h) * c.channel + spot[n][h];
        if (v <= 0) v = 0, from = NOWHERE;
        if (inner) v = rounded(v);
        if (o + 8 * n + h < c.out) y[at * apart] = v, where[at] = from;
      }
    }
  }
};

// begin_sums makes the sums the biases of a piece of the channels.
template <int N> __device__ inline void begin_sums(Product (&sum)[2][N], const Conv& c, int first) {
  Global<const f2>* bias = (Global<const f2>*)(scratch() + c.forth + first) + Lane().t;
#pragma unroll
  for (int n = 0; n < N; n++) {
    const f2 b = bias[4 * n];
#pragma unroll
    for (int k = 0; k < 8; k++) sum[k / 4][n].sum[k % 4] = k % 2 ? b.y : b.x;
  }
}

// Piece is a warp's of the outputs: a strip of a sample's windows, and some channels.
template <int N> struct Piece {
  int strip, sample, first;
  Global<const float>* w;
  Global<const i64>* offset;

  __device__ Piece(const Conv& c, int u, int strips) {
    const int b = quotient(u, strips), n = quotient(b, group.count);
    strip = u - b * strips, sample = b - n * group.count, first = 8 * N * n;
    w = scratch() + c.forth + c.padded + 8 * N * n * ((c.taps() + 15) / 16 * 16);
    offset = job.plan + c.offsets + Lane().t;
  }
};

// convolve_pairs computes the outputs of convolution l, pooled over 2 x 2. A warp does eight windows of a sample, and N tiles
// of channels.
template <int N, class X> __device__ inline void convolve_pairs(Shared<float>* room, Planes<X> x, int l) {
  const Conv& c = plan.conv[l];
  const int windows = c.places(), strips = (windows + 7) / 8, units = strips * group.count * quotient(c.padded, 8 * N);
#pragma unroll 1
  for (int u = warp(); u < units; u += WARPS) {
    const Piece<N> my(c, u, strips);
    const int window = 8 * my.strip + Lane().g, w = window < windows ? window : windows - 1;
    const int row = quotient(w, c.columns), column = w - row * c.columns;
    const i32 spot = c.before + 2 * (row * c.wide + column);
    const X from = x[my.sample] + 2 * (row * c.width + column);
    const X at[2] = {from, from + c.width};
    Product sum[2][N];
    begin_sums<N>(sum, c, my.first);
    multiply<N, true>(sum, at, c.taps(), my.offset, my.w);
    Best<N> best;
    best.take(sum, {spot, spot + 1, spot + c.wide, spot + c.wide + 1}, true);
    if (window < windows) best.put(room, c, l, my.sample, my.first, window);
  }
}

// convolve_any is that for any pooling, four places of eight windows at a time, or one of 32.
template <class X> __device__ inline void convolve_any(Shared<float>* room, Planes<X> x, int l) {
  const Conv& c = plan.conv[l];
  const int area = c.pool * c.pool, each = area == 1 ? 32 : 8, windows = c.places(), strips = (windows + each - 1) / each;
#pragma unroll 1
  for (int u = warp(); u < strips * group.count * (c.padded / 8); u += WARPS) {
    const Piece<1> my(c, u, strips);
    const int window = each * my.strip + Lane().g;
    Best<1> best;
#pragma unroll 1
    for (int turn = 0; turn < area; turn += 4) {
      X at[4];
      i32 spots[4];
#pragma unroll
      for (int r = 0; r < 4; r++) {
        const int q = area == 1 ? 0 : turn + r < area ? turn + r : area - 1, there = area == 1 ? window + 8 * r : window;
        const int w = there < windows ? there : windows - 1, row = quotient(w, c.columns), down = quotient(q, c.pool);
        const int i = row * c.pool + down, k = (w - row * c.columns) * c.pool + q - down * c.pool;
        at[r] = x[my.sample] + i * c.width + k, spots[r] = c.before + i * c.wide + k;
      }
      Product sum[2][1];
      begin_sums<1>(sum, c, my.first);
      multiply<1, false>(sum, at, c.taps(), my.offset, my.w);
      if (area > 1) best.take(sum, spots, turn == 0);
      if (area > 1) continue;
#pragma unroll
      for (int r = 0; r < 4; r++) {
        best = {{{sum[r / 2][0].sum[r % 2 * 2], sum[r / 2][0].sum[r % 2 * 2 + 1]}}, {{spots[r], spots[r]}}};
        if (window + 8 * r < windows) best.put(room, c, l, my.sample, my.first, window + 8 * r);
      }
    }
    if (area > 1 && window < windows) best.put(room, c, l, my.sample, my.first, window);
  }
}

template <int COUNT> struct Tiles {
  static constexpr int N = COUNT;
};

// tiled calls work(Tiles<N>) with as many tiles as a piece of the convolution's channels has. With three the sums would
// leave too few registers.
template <class Work> __device__ inline void tiled(const Conv& c, const Work& work) {
  if (c.tiles == 2) work(Tiles<2>());
  else work(Tiles<1>());
}

// forth_tiles is forth. It begins after a barrier and ends with one.
__device__ inline void forth_tiles(Shared<float>* room) {
  bring();
  if (group.count < SAMPLES) blank(room);
  Global<f4>* all = (Global<f4>*)dense();
  const int end = dense_floats() / 4;
#pragma unroll 1
  for (int j = thread(); j < end; j += THREADS) all[j] = 0;
#pragma unroll 1
  for (int l = 0; l < plan.convs; l++) {
    __syncthreads();
    const Conv& c = plan.conv[l];
    inputs(room, c, [&](auto x) INLINE {
      if (c.pool == 2) tiled(c, [&](auto n) INLINE { convolve_pairs<decltype(n)::N>(room, x, l); });
      else convolve_any(room, x, l);
    });
  }
  __syncthreads();
}
