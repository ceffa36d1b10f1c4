// conv_tensor.h is the convolutions of a group of samples as products on tensor cores, forth and back, for a room in
// shared memory. Operands are in tf32: images and outputs are rounded when they are stored, weights when they are packed, and
// deltas when they are spread.
//
// Forth, a row of A is a place where the kernel stands, and a column a tap: the places of a window are rows of one lane, so
// that pooling needs no other. Back, the deltas lie as outputs before pooling do, most of them zero, with rows of
// zeros around each channel where a layer is before it:
//
//	gradient     taps x channels: sums over places; the tap behind the last is that of the bias, of inputs of 1
//	inputs       for each column of the kernel two rows of eight places x channels, over outputs and rows of the kernel
//
// The weights lie as the lanes take them, so that a load is a vector.
#pragma once

#include "conv_forth.h"

__shared__ float unit;  // 1, the input of biases

// A place of dense()[0] is 1 too. Behind it are those of all convolutions, and then the sums of parts.
__device__ inline Global<float>* dense() { return far_room(); }
__device__ inline int dense_floats() { return small(job.width[5]); }

__device__ inline u32 bits(float v) { return __builtin_bit_cast(u32, v); }

// prepare_tiles sets once a launch what no step changes: zeros where tiles have no weights. A barrier follows.
__device__ inline void prepare_tiles() {
  if (thread() == 0) unit = 1, dense()[0] = 1;
#pragma unroll 1
  for (int j = thread(); j < packed_floats(); j += THREADS) scratch()[j] = 0;
}

// pack_tiles packs the weights of the convolutions for a step, for products forth and back, and the biases.
__device__ inline void pack_tiles() {
  constexpr int AHEAD = 4;
  const Weights weights = job.w;
#pragma unroll 1
  for (int l = 0; l < plan.convs; l++) {
    const Conv& c = plan.conv[l];
    const int taps = c.taps(), own = lane(), steps = (taps + 7) / 8;
#pragma unroll 1
    for (int o = warp(); o < c.out; o += WARPS) {
      const int n = quotient(o / 8, c.tiles), j = o / 8 - n * c.tiles;  // its tile is the j-th of the n-th piece
      const bool pair = c.tiles > 1 && j < 2;
      const int wide = pair ? 4 : 2;  // numbers of a lane that lie together
      Global<float>* to = scratch() + c.forth + c.padded + 64 * n * c.tiles * steps + (pair ? 2 * j : c.tiles > 1 ? 128 * steps : 0);
      to += (32 * (own / 8) + 4 * (o % 8) + own % 4) * wide + own / 4 % 2;
      Global<float>* back = scratch() + c.back + o / 8 * c.kernel * 128 + 4 * (o % 4) + o / 4 % 2;
#pragma unroll 1
      for (int base = own; base < taps; base += AHEAD * 32, to += AHEAD * 128 * wide) {
        float w[AHEAD];
#pragma unroll
        for (int k = 0; k < AHEAD; k++) w[k] = base + 32 * k < taps ? weights.load(c.weight + (i64)o * taps + base + 32 * k) : 0;
#pragma unroll
        for (int k = 0; k < AHEAD; k++) {
          if (base + 32 * k >= taps) continue;
          to[k * 128 * wide] = rounded(w[k]);
          if (l > 0) back[(i32)job.plan[c.order + base + 32 * k]] = rounded(w[k]);
        }
      }
      if (own == 0) scratch()[c.forth + o] = c.bias >= 0 ? weights.load(c.bias + o) : 0;
    }
  }
}

// multiply adds the products of all taps: at has the places of a lane's four rows, or of the first two of each two
// neighbours. w are the weights of a piece of N tiles.
template <int N, bool TWO, class X>
__device__ inline void multiply(Product (&sum)[2][N], const X (&at)[TWO ? 2 : 4], int steps, Global<const i64>* offset, Global<const float>* w) {
  Global<const f4>* pairs = (Global<const f4>*)w + lane();
  Global<const f2>* single = (Global<const f2>*)(w + (N > 1 ? 128 * steps : 0)) + lane();
#pragma unroll 1
  for (int k = 0; k < steps; k++, offset += 8, pairs += 32, single += 32) {
    const int tap[2] = {(i32)offset[0], (i32)offset[4]};
    u32 a[4][2], b[N][2];
#pragma unroll
    for (int r = 0; r < 4; r++)
#pragma unroll
      for (int h = 0; h < 2; h++) a[r][h] = bits(TWO ? at[r / 2][tap[h] + r % 2] : at[TWO ? 0 : r][tap[h]]);
    if constexpr (N > 1) {
      const f4 v = *pairs;
      b[0][0] = bits(v.x), b[0][1] = bits(v.y), b[1][0] = bits(v.z), b[1][1] = bits(v.w);
    }
    if constexpr (N % 2 == 1) {
      const f2 v = *single;
      b[N - 1][0] = bits(v.x), b[N - 1][1] = bits(v.y);
    }
#pragma unroll
    for (int n = 0; n < N; n++)
#pragma unroll
      for (int i = 0; i < 2; i++) sum[i][n].add(a[2 * i][0], a[2 * i + 1][0], a[2 * i][1], a[2 * i + 1][1], b[n][0], b[n][1]);
  }
}

// Outlet stores the outputs of a strip: those of a lane are of the channels 8n+2t and 8n+2t+1 of each tile n.
template <int N> struct Outlet {
  Shared<float>* y;
  Shared<u16>* where;
  int sample, first;  // channel of the piece

  // put stores those of one window.
  __device__ void put(const Conv& c, int l, int window, const float (&value)[N][2], const i32 (&spot)[N][2]) const {
    const int places = c.places(), t = Lane().t;
    const bool inner = c.apart == 1;
#pragma unroll
    for (int n = 0; n < N; n++) {
      const int o = first + 8 * n + 2 * t;
      const Dropout drop(c, l, sample, o / 4);
#pragma unroll
      for (int h = 0; h < 2; h++) {
        if (o + h >= c.out) continue;
        const float v = value[n][h] * drop.of(o % 4 + h);
        const bool dead = v <= 0;
        const int at = (o + h) * places + window;
        y[at * c.apart] = dead ? 0 : inner ? rounded(v) : v;
        where[at] = dead ? NOWHERE : spot[n][h];
      }
    }
  }
};

// convolve_tiles computes the outputs of convolution l. A warp does eight windows of a sample, or 32 if a window is a
// single place, and a piece of the channels.
template <int N, bool TWO, class X> __device__ inline void convolve_tiles(Shared<float>* room, Planes<X> x, int l) {
  const Conv& c = plan.conv[l];
  const int windows = c.places(), each = c.pool == 1 ? 32 : 8, strips = (windows + each - 1) >> (c.pool == 1 ? 5 : 3);
  const int count = group.count, steps = (c.taps() + 7) / 8, pieces = quotient(c.padded, 8 * N);
#pragma unroll 1
  for (int u = warp(); u < strips * count * pieces; u += WARPS) {
    const int b = quotient(u, strips), strip = u - b * strips, n = quotient(b, count), s = b - n * count;
    const int g = Lane().g, turns = c.pool == 1 ? 1 : (c.pool * c.pool + 3) / 4;
    const Outlet<N> out = {outputs(room, c, s), as<u16>(sample(room, s) + c.where), s, 8 * N * n};
    float best[N][2];
    i32 spot[N][2];
#pragma unroll 1
    for (int turn = 0; turn < turns; turn++) {
      X at[TWO ? 2 : 4];
      i32 spots[4], window[4];
#pragma unroll
      for (int r = 0; r < 4; r++) {
        int q = TWO ? r : 4 * turn + r, w = strip * 8 + g;
        if (!TWO && c.pool == 1) q = 0, w = strip * 32 + 8 * r + g;
        else if (!TWO && q >= c.pool * c.pool) q = c.pool * c.pool - 1;  // again
        window[r] = w;
        if (TWO && r > 0) {
          spots[r] = spots[0] + r / 2 * c.wide + r % 2;
          if (r == 2) at[1] = at[0] + c.width;
          continue;
        }
        if (w >= windows) w = windows - 1;
        const int row = quotient(w, c.columns), down = TWO ? 0 : quotient(q, c.pool);
        const int i = row * c.pool + down, k = (w - row * c.columns) * c.pool + q - down * c.pool;
        at[r] = x[s] + i * c.width + k, spots[r] = i * c.wide + k;
      }
      Product sum[2][N];
      Global<const float>* w = scratch() + c.forth + c.padded + (i64)64 * n * N * steps;
      Global<const float>* bias = scratch() + c.forth + out.first + 2 * Lane().t;
#pragma unroll
      for (int i = 0; i < 2; i++)
#pragma unroll
        for (int k = 0; k < 4 * N; k++) sum[i][k / 4].sum[k % 4] = bias[k / 4 * 8 + k % 2];
      multiply<N, TWO>(sum, at, steps, job.plan + c.offsets + Lane().t, w);
#pragma unroll
      for (int r = 0; r < 4; r++) {
        const bool first = (turn == 0 && r == 0) || c.pool == 1;
#pragma unroll
        for (int k = 0; k < 2 * N; k++) {
          const float z = sum[r / 2][k / 2].sum[r % 2 * 2 + k % 2];
          if (first || larger(z, best[k / 2][k % 2])) best[k / 2][k % 2] = z, spot[k / 2][k % 2] = spots[r];
        }
        if (!TWO && c.pool == 1 && window[r] < windows) out.put(c, l, window[r], best, spot);
      }
    }
    if (c.pool > 1 && strip * 8 + g < windows) out.put(c, l, strip * 8 + g, best, spot);
  }
}

template <int COUNT> struct Tiles {
  static constexpr int N = COUNT;
};

// tiled calls work(Tiles<N>) with as many tiles as a piece of the convolution's channels has.
template <class Work> __device__ inline void tiled(const Conv& c, const Work& work) {
  if (c.tiles == 3) work(Tiles<3>());
  else if (c.tiles == 2) work(Tiles<2>());
  else work(Tiles<1>());
}

// forth_tiles is forth. It begins and ends with a barrier.
__device__ inline void forth_tiles(Shared<float>* room) {
  __syncthreads();
  bring();
  if (group.count < SAMPLES) blank(room);
  Global<f4>* all = (Global<f4>*)dense();
  const int end = dense_floats() / 4;
#pragma unroll 1
  for (int j = 1 + thread(); j < end; j += THREADS) all[j] = 0;
#pragma unroll 1
  for (int l = 0; l < plan.convs; l++) {
    __syncthreads();
    const Conv& c = plan.conv[l];
    inputs(room, l, [&](auto x) INLINE {
      if (c.pool == 2) tiled(c, [&](auto n) INLINE { convolve_tiles<decltype(n)::N, true>(room, x, l); });
      else convolve_tiles<1, false>(room, x, l);
    });
  }
  __syncthreads();
}

// spread puts the deltas of convolution l that are not zero where the outputs that they are of were.
__device__ inline void spread(Shared<float>* room, int l) {
  const Conv& c = plan.conv[l];
  const int places = c.places(), all = c.out * places;
  const float scale = __builtin_bit_cast(float, c.scale);
#pragma unroll 1
  for (int j = thread(); j < group.count * all; j += THREADS) {
    const int s = quotient(j, all), i = j - s * all, o = quotient(i, places);
    const float v = outputs(room, c, s)[i * c.apart];
    const u32 at = as<u16>(sample(room, s) + c.where)[i];
    if (v != 0 && at != NOWHERE) dense()[c.deltas + (s * c.depth + o) * c.channel + c.before + at] = rounded(v * scale);
  }
}

// Share is a warp's of the gradient of a convolution: 32 taps, of which a lane has the rows 8r+g, a piece of the channels, and
// a part of the places.
template <int N> struct Share {
  int units, parts, unit, part;
  int tap, channel;  // the first

  __device__ Share(const Conv& c, int u) {
    const int pairs = (c.taps() + 32) / 32;
    units = pairs * quotient(c.padded, 8 * N), parts = units < WARPS ? quotient(WARPS, units) : 1;
    part = quotient(u, units), unit = u - part * units;
    const int n = quotient(unit, pairs);
    tap = 32 * (unit - n * pairs), channel = 8 * N * n;
  }
};

// learn_part adds up a warp's.
template <int N, class X> __device__ inline void learn_part(Product (&sum)[2][N], Planes<X> x, X one, const Conv& c, const Share<N>& my) {
  const auto [g, t] = Lane();
  const int taps = c.taps(), all = (c.tall * c.wide + 7) / 8, each = quotient(all + my.parts - 1, my.parts), from = my.part * each;
  const int steps = all - from < each ? all - from : each;
  i32 offset[4], apart[4], channel[N];
#pragma unroll
  for (int r = 0; r < 4; r++) {
    const int tap = my.tap + 8 * r + g;
    offset[r] = c.offset(tap < taps ? tap : 0), apart[r] = tap != taps;
  }
#pragma unroll
  for (int n = 0; n < N; n++) {
    const int o = my.channel + 8 * n + g;
    channel[n] = (o < c.out ? o : 0) * c.channel + c.before + 8 * from + t;
  }
#pragma unroll 1
  for (int s = 0; s < group.count; s++) {
    Global<const float>* d = dense() + c.deltas + s * c.depth * c.channel;
    Global<const i64>* spot = job.plan + c.spots + 8 * from + t;
    X at[4];
#pragma unroll
    for (int r = 0; r < 4; r++) at[r] = apart[r] ? x[s] + offset[r] : one;
#pragma unroll 1
    for (int k = 0; k < steps; k++, d += 8, spot += 8) {
      const int place[2] = {(i32)spot[0], (i32)spot[4]};
      u32 a[4][2];
#pragma unroll
      for (int r = 0; r < 4; r++)
#pragma unroll
        for (int h = 0; h < 2; h++) a[r][h] = bits(at[r][place[h] * apart[r]]);
#pragma unroll
      for (int n = 0; n < N; n++) {
        const u32 lo = bits(d[channel[n]]), hi = bits(d[channel[n] + 4]);
#pragma unroll
        for (int i = 0; i < 2; i++) sum[i][n].add(a[2 * i][0], a[2 * i + 1][0], a[2 * i][1], a[2 * i + 1][1], lo, hi);
      }
    }
  }
}

// keep_part adds the sums of all parts to the gradient.
template <int N> __device__ inline void keep_part(const Product (&sum)[2][N], const Conv& c, const Share<N>& my) {
  const auto [g, t] = Lane();
  const bool first = group.fresh();
  const int taps = c.taps();
#pragma unroll
  for (int i = 0; i < 2; i++)
#pragma unroll
    for (int k = 0; k < 4 * N; k++) {
      const int tap = my.tap + 16 * i + g + k % 4 / 2 * 8, o = my.channel + k / 4 * 8 + 2 * t + k % 2;
      const float v = sum[i][k / 4].sum[k % 4];
      if (o >= c.out || tap > taps) continue;
      if (tap < taps) keep(sums() + c.weight + (i64)o * taps + tap, v, first);
      else if (c.bias >= 0) keep(sums() + c.bias + o, v, first);
    }
}

// learn_tiles adds to the gradient of convolution l. Parts meet behind a barrier, in their order.
template <int N, class X> __device__ inline void learn_tiles(Planes<X> x, X one, int l) {
  const Conv& c = plan.conv[l];
  Share<N> my(c, warp());
  Global<float>* others = dense() + dense_floats() + lane();
  Product sum[2][N];
#pragma unroll 1
  for (int u = warp(); u < my.units * my.parts; u += WARPS) {
    my = Share<N>(c, u);
#pragma unroll
    for (int i = 0; i < 2 * N; i++) sum[i / N][i % N] = {};
    learn_part<N>(sum, x, one, c, my);
    if (my.parts == 1) keep_part<N>(sum, c, my);
    if (my.part > 0)
#pragma unroll
      for (int k = 0; k < 8 * N; k++) others[(u * 8 * N + k) * 32] = sum[k / 4 / N][k / 4 % N].sum[k % 4];
  }
  if (my.parts == 1) return;
  __syncthreads();
  if (warp() >= my.units) return;
#pragma unroll 1
  for (int u = warp() + my.units; u < my.units * my.parts; u += my.units)
#pragma unroll
    for (int k = 0; k < 8 * N; k++) sum[k / 4 / N][k / 4 % N].sum[k % 4] += others[(u * 8 * N + k) * 32];
  keep_part<N>(sum, c, my);
}

// blame_span adds to two rows of inputs at x, of up to 16 channels, what the deltas of eight columns give them by K columns of
// the kernel, of which there are count. d is the lane's first delta, w the weights of these channels.
template <int K>
__device__ inline void blame_span(const Conv& c, Shared<float>* x, Global<const float>* d, Global<const float>* w, int count, bool there, int channels, int rows) {
  const auto [g, t] = Lane();
  const int blocks = (c.out + 7) / 8, plane = c.height * c.width;
  Product sum[K][2];
  Global<const f4>* from = (Global<const f4>*)w + lane();
#pragma unroll 1
  for (int y = 0; y < c.kernel; y++, d -= c.wide) {
    Global<const float>* at = d;
#pragma unroll 1
    for (int b = 0; b < blocks; b++, at += 8 * c.channel, from += 32 * c.kernel) {
      const u32 a[4] = {bits(at[0]), bits(at[c.wide]), bits(at[4 * c.channel]), bits(at[4 * c.channel + c.wide])};
#pragma unroll
      for (int k = 0; k < K; k++) {
        const f4 v = k < count ? from[32 * k] : f4(0);
        sum[k][0].add(a[0], a[1], a[2], a[3], bits(v.x), bits(v.y));
        sum[k][1].add(a[0], a[1], a[2], a[3], bits(v.z), bits(v.w));
      }
    }
  }
#pragma unroll
  for (int k = 0; k < K; k++) {
#pragma unroll
    for (int i = 0; i < 8; i++) {
      const int o = i / 4 * 8 + 2 * t + i % 2, row = i / 2 % 2;
      if (there && k < count && o < channels && row < rows) x[o * plane + row * c.width + k] += sum[k][i / 4].sum[i % 4];
    }
    __nvvm_bar_warp_sync(ALL);  // what a lane adds to, its neighbour adds to next
  }
}

// blame_tiles puts the deltas of the inputs of convolution l in their place. A warp does two rows of 16 channels of a sample.
template <int K> __device__ inline void blame_tiles(Shared<float>* room, int l) {
  const Conv& c = plan.conv[l];
  const int pairs = (c.height + 1) / 2, count = group.count, blocks = (c.out + 7) / 8, plane = c.height * c.width;
#pragma unroll 1
  for (int u = warp(); u < pairs * count * ((c.in + 15) / 16); u += WARPS) {
    const int b = quotient(u, pairs), row = 2 * (u - b * pairs), n = quotient(b, count), s = b - n * count;
    const int channels = c.in - 16 * n < 16 ? c.in - 16 * n : 16, rows = row + 1 < c.height ? 2 : 1;
    Shared<float>* x = sample(room, s) + c.x + 16 * n * plane + row * c.width;
#pragma unroll 1
    for (int i = 0; i < channels; i++)
#pragma unroll 1
      for (int j = lane(); j < rows * c.width; j += 32) x[i * plane + j] = 0;
    __nvvm_bar_warp_sync(ALL);
    const auto [g, t] = Lane();
    Global<const float>* d = dense() + c.deltas + (s * c.depth + t) * c.channel + c.before + row * c.wide + g;
    Global<const float>* w = scratch() + c.back + (i64)128 * n * c.kernel * c.kernel * blocks;
#pragma unroll 1
    for (int k = 0; k < c.kernel; k += K)
#pragma unroll 1
      for (int first = 0; first < c.wide; first += 8)
        blame_span<K>(c, x + first + g + k, d + first, w + 128 * k, c.kernel - k, first + g < c.wide, channels, rows);
  }
}

// back_tiles is back. It begins with a barrier.
__device__ inline void back_tiles(Shared<float>* room) {
#pragma unroll 1
  for (int l = plan.convs - 1; l >= 0; l--) {
    __syncthreads();
    spread(room, l);
    __syncthreads();
    const Conv& c = plan.conv[l];
    inputs(room, l, [&](auto x) INLINE {
      tiled(c, [&](auto n) INLINE {
        if constexpr (__is_same(decltype(x.first), Shared<float>*)) learn_tiles<decltype(n)::N>(x, (Shared<float>*)&unit, l);
        else learn_tiles<decltype(n)::N>(x, dense(), l);
      });
    });
    __syncthreads();
    if (l == 0) return;
    if (c.kernel == 5) blame_tiles<5>(room, l);
    else blame_tiles<3>(room, l);
  }
}
