// conv_tensor_back.h is the way back through the convolutions by the products of conv_tensor.h.
#pragma once

#include "conv_tensor.h"

// Spread puts deltas of a sample's outputs of a convolution where those stood before pooling, if they are not zero.
struct Spread {
  Shared<const u16>* where;
  Global<float>* to;
  float scale;

  __device__ Spread(Shared<float>* room, const Conv& c, int s)
      : where(as<u16>(sample(room, s) + c.where)), to(dense() + c.deltas + s * c.padded * c.channel), scale(__builtin_bit_cast(float, c.scale)) {}

  __device__ void put(int i, float v) const {
    const u32 at = where[i];
    if (v != 0 && at != NOWHERE) *at_place(to, at) = rounded(v * scale);
  }
};

// spread_last does so for the i-th output of the last convolution, of all samples.
__device__ inline void spread_last(Shared<float>* room, int i, f4 v) {
  const Conv& c = plan.conv[plan.convs - 1];
#pragma unroll
  for (int s = 0; s < SAMPLES; s++)
    if (s < group.count) Spread(room, c, s).put(i, v[s]);
}

// Share is a warp's of the gradient of a convolution: 32 taps, of which a lane has the rows 8r+g, a piece of the channels, and
// a part of the places.
template <int N> struct Share {
  static constexpr int SUMS = 9 * N;  // of a lane

  int units, parts, part;
  int tap, channel;  // the first

  __device__ Share(const Conv& c, int u) {
    const int pairs = (c.taps() + 31) / 32;
    units = pairs * quotient(c.padded, 8 * N), parts = units < WARPS ? quotient(WARPS, units) : 1;
    part = quotient(u, units);
    const int unit = u - part * units, n = quotient(unit, pairs);
    tap = 32 * (unit - n * pairs), channel = 8 * N * n;
  }
};

// Gradient is what it adds up: of the weights, and with the first taps of the biases, of the channels 8n+g.
template <int N> struct Gradient {
  Product sum[2][N];
  float bias[N];

  __device__ void clear() {
#pragma unroll
    for (int n = 0; n < N; n++) sum[0][n] = sum[1][n] = {}, bias[n] = 0;
  }
  __device__ float& operator[](int k) { return k < 8 * N ? sum[k / 4 / N][k / 4 % N].sum[k % 4] : bias[k - 8 * N]; }
};

// learn_part adds up a warp's, 16 places of a sample at a time.
template <int N, class X> __device__ inline void learn_part(Gradient<N>& to, Planes<X> x, const Conv& c, const Share<N>& my) {
  const auto [g, t] = Lane();
  const int taps = c.taps(), all = (c.tall * c.wide + 15) / 16, each = quotient(all * group.count + my.parts - 1, my.parts);
  const bool biased = my.tap == 0;
  int s = quotient(my.part * each, all), k = my.part * each - s * all;
  const int left = all * group.count - my.part * each;
  int turns = left < each ? left : each;
  Global<float>* d = dense() + c.deltas + (s * c.padded + my.channel + g) * c.channel + c.before + 16 * k + t;
  X at[4];
#pragma unroll
  for (int r = 0; r < 4; r++) {
    const int tap = my.tap + 8 * r + g;
    at[r] = x[s] + c.offset(tap < taps ? tap : 0);
  }
  Global<const i64>* spot = job.plan + c.spots + 16 * k + t;
#pragma unroll 1
  while (turns > 0) {
    const int end = all - k < turns ? all : k + turns;
    turns -= end - k;
#pragma unroll 1
    for (; k < end; k++, d += 16, spot += 16)
#pragma unroll
      for (int j = 0; j < 2; j++) {
        const i32 place[2] = {(i32)spot[8 * j], (i32)spot[8 * j + 4]};
        u32 a[4][2];
#pragma unroll
        for (int r = 0; r < 4; r++)
#pragma unroll
          for (int h = 0; h < 2; h++) a[r][h] = bits(*at_place(at[r], place[h]));
#pragma unroll
        for (int n = 0; n < N; n++) {
          Global<const float>* own = at_place(d, n * 8 * c.channel);
          const float lo = own[8 * j], hi = own[8 * j + 4];
          if (biased) to.bias[n] += lo + hi;
#pragma unroll
          for (int i = 0; i < 2; i++) to.sum[i][n].add(a[2 * i][0], a[2 * i + 1][0], a[2 * i][1], a[2 * i + 1][1], bits(lo), bits(hi));
        }
      }
    k = 0, spot -= 16 * all, d += c.padded * c.channel - 16 * all;  // on to the next sample
#pragma unroll
    for (int r = 0; r < 4; r++) at[r] += x.apart;
  }
#pragma unroll
  for (int n = 0; n < N && biased; n++) {
    to.bias[n] += swap(to.bias[n], 1);
    to.bias[n] += swap(to.bias[n], 2);
  }
}

// keep_part adds the sums of all parts to the gradient.
template <int N> __device__ inline void keep_part(const Gradient<N>& from, const Conv& c, const Share<N>& my) {
  const auto [g, t] = Lane();
  const bool first = group.fresh();
  const int taps = c.taps(), tap = my.tap + g, o = my.channel + 2 * t;
  Global<float>* to = sums() + c.weight + o * taps + tap;
#pragma unroll
  for (int n = 0; n < N; n++)
#pragma unroll
    for (int h = 0; h < 2; h++)
#pragma unroll
      for (int r = 0; r < 4; r++)
        if (o + 8 * n + h < c.out && tap + 8 * r < taps) keep(at_place(to, (8 * n + h) * taps + 8 * r), from.sum[r / 2][n].sum[r % 2 * 2 + h], first);
  if (my.tap > 0 || c.bias < 0 || t > 0) return;
#pragma unroll
  for (int n = 0; n < N; n++)
    if (my.channel + 8 * n + g < c.out) keep(sums() + c.bias + my.channel + 8 * n + g, from.bias[n], first);
}

// learn_tiles adds to the gradient of convolution l. Parts meet behind a barrier, in their order.
template <int N, class X> __device__ inline void learn_tiles(Planes<X> x, const Conv& c) {
  Share<N> my(c, warp());
  Global<float>* others = dense() + dense_floats() + lane();
  Gradient<N> sum;
#pragma unroll 1
  for (int u = warp(); u < my.units * my.parts; u += WARPS) {
    my = Share<N>(c, u);
    sum.clear();
    learn_part<N>(sum, x, c, my);
    if (my.parts == 1) keep_part<N>(sum, c, my);
    if (my.part > 0)
#pragma unroll
      for (int k = 0; k < my.SUMS; k++) others[(u * my.SUMS + k) * 32] = sum[k];
  }
  if (my.parts == 1) return;
  __syncthreads();
  if (warp() >= my.units) return;
#pragma unroll 1
  for (int u = warp() + my.units; u < my.units * my.parts; u += my.units)
#pragma unroll
    for (int k = 0; k < my.SUMS; k++) sum[k] += others[(u * my.SUMS + k) * 32];
  keep_part<N>(sum, c, my);
}

// blame_span adds to two rows of inputs at x, of up to 16 channels, what the deltas of eight columns give them by K columns of
// the kernel, of which there are count. d is the lane's first delta, w the weights of these channels, and kept has bits of its sums that
// are added.
template <int K>
__device__ inline void blame_span(const Conv& c, Shared<float>* x, Global<const float>* d, Global<const float>* w, int count, u32 kept) {
  const int blocks = (c.out + 7) / 8;
  Product sum[K][2];
  Global<const f4>* from = (Global<const f4>*)w + lane();
#pragma unroll 1
  for (int y = 0; y < c.kernel; y++, d -= c.wide) {
    Global<const float>* at = d;
#pragma unroll 1
    for (int b = 0; b < blocks; b++, at += 8 * c.channel, from += 32 * c.packs) {
      const u32 a[4] = {bits(at[0]), bits(at[c.wide]), bits(at[4 * c.channel]), bits(at[4 * c.channel + c.wide])};
#pragma unroll
      for (int k = 0; k < K; k++) {
        const f4 v = from[32 * k];
        sum[k][0].add(a[0], a[1], a[2], a[3], bits(v.x), bits(v.y));
        sum[k][1].add(a[0], a[1], a[2], a[3], bits(v.z), bits(v.w));
      }
    }
  }
  const int plane = c.height * c.width;
#pragma unroll
  for (int k = 0; k < K; k++) {
#pragma unroll
    for (int i = 0; i < 8; i++)
      if (k < count && kept >> i & 1) x[(i / 4 * 8 + i % 2) * plane + i / 2 % 2 * c.width + k] += sum[k][i / 4].sum[i % 4];
    __nvvm_bar_warp_sync(ALL);  // what a lane adds to, its neighbour adds to next
  }
}

// blame_tiles computes the deltas of the inputs of convolution l, and spreads them for the one before. A warp does two rows of 16 channels of a sample.
template <int K> __device__ inline void blame_tiles(Shared<float>* room, const Conv& c) {
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
    u32 kept = 0;
#pragma unroll
    for (int i = 0; i < 8; i++) kept |= (i / 4 * 8 + 2 * t + i % 2 < channels && i / 2 % 2 < rows) << i;
    Global<const float>* d = dense() + c.deltas + (s * c.padded + t) * c.channel + c.before + row * c.wide + g;
    Global<const float>* w = scratch() + c.back + 128 * n * c.kernel * c.packs * blocks;
#pragma unroll 1
    for (int k = 0; k < c.kernel; k += K)
#pragma unroll 1
      for (int first = 0; first < c.wide; first += 8)
        blame_span<K>(c, x + 2 * t * plane + first + g + k, d + first, w + 128 * k, c.kernel - k, first + g < c.wide ? kept : 0);
    const Spread to(room, (&c)[-1], s);
    const int each = rows * c.width, first = 16 * n * plane + row * c.width;
#pragma unroll 1
    for (int i = 0; i < channels; i++)
#pragma unroll 1
      for (int j = lane(); j < each; j += 32) to.put(first + i * plane + j, x[i * plane + j]);
  }
}

// back_tiles is back, after spread_last. It begins with a barrier.
__device__ inline void back_tiles(Shared<float>* room) {
  each_back(
      [&](const Conv& c) INLINE { inputs(room, c, [&](auto x) INLINE { tiled(c, [&](auto n) INLINE { learn_tiles<decltype(n)::N>(x, c); }); }); },
      [&](const Conv& c) INLINE {
        if (c.kernel == 5) blame_tiles<5>(room, c);
        else blame_tiles<3>(room, c);
      });
}
