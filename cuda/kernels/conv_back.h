// conv_back.h is the way back through the convolutions. Of a window only the place that the
// pooling took has a delta, and where ReLU or dropout let nothing through there is none: of
// a channel little is left, and that is listed first. What follows costs as much as the
// list is long.
#pragma once

#include "conv.h"

// list moves the deltas of convolution l that are not zero, and where they belong, to the
// head of their channel. A warp does a channel of a sample. Each delta is read before any
// of its 32 is written, and no further to the right.
template <class F> __device__ inline void list(F room, const Conv& c) {
  const int places = c.places(), apart = c.apart, own = lane();
  const float scale = __builtin_bit_cast(float, c.scale);
#pragma unroll 1
  for (int u = warp(); u < group.count * c.out; u += WARPS) {
    const int s = u / c.out, o = u % c.out;
    F d = outputs(room, c, s) + o * places * apart;
    auto where = as<u16>(sample(room, s) + c.where) + o * places;
    int n = 0;
#pragma unroll 1
    for (int j = own; j - own < places; j += 32) {
      const float v = j < places ? d[j * apart] : 0;
      const u32 at = j < places ? where[j] : NOWHERE;
      const bool live = v != 0 && at != NOWHERE;
      const u32 all = __nvvm_vote_ballot_sync(ALL, live);
      const int to = n + __builtin_popcount(all & ((1u << own) - 1));
      if (live) d[to * apart] = v * scale, where[to] = at;
      n += __builtin_popcount(all);
    }
    if (own == 0) as<i32>(sample(room, s) + c.live)[o] = n;
  }
}

// learn adds to the gradient of convolution l: sums of deltas times the inputs of their
// windows. A warp does 32*T taps of a channel, a lane T of them, over all samples.
template <int T, class X, class F> __device__ inline void learn(F room, Planes<X> x, const Conv& c) {
  const bool first = group.fresh();
  const int taps = c.taps(), places = c.places(), apart = c.apart, count = group.count;
  const int pieces = (taps + 32 * T - 1) / (32 * T);
#pragma unroll 1
  for (int u = warp(); u < c.out * pieces; u += WARPS) {
    const int o = u / pieces, from = u % pieces * 32 * T + lane();
    i32 offset[T];
    float sum[T] = {}, bias = 0;
#pragma unroll
    for (int t = 0; t < T; t++) offset[t] = c.offset(from + 32 * t < taps ? from + 32 * t : 0);
#pragma unroll 1
    for (int s = 0; s < count; s++) {
      F d = outputs(room, c, s) + o * places * apart;
      X mine = x[s];
      auto where = as<u16>(sample(room, s) + c.where) + o * places;
      const int n = as<i32>(sample(room, s) + c.live)[o];
#pragma unroll 4
      for (int e = 0; e < n; e++, d += apart) {
        const float v = *d;
        X at = mine + where[e];
        bias += v;
#pragma unroll
        for (int t = 0; t < T; t++) sum[t] += v * at[offset[t]];
      }
    }
    Global<float>* to = sums() + c.weight + (i64)o * taps + from;
#pragma unroll
    for (int t = 0; t < T; t++)
      if (from + 32 * t < taps) keep(to + 32 * t, sum[t], first);
    if (from == 0 && c.bias >= 0) keep(sums() + c.bias + o, bias, first);
  }
}

// LONG is from how many places of a channel on its list may be expected to keep lanes busy.
constexpr int LONG = 96;

// learn_long is learn where lists are long, for kernels of K x K: a warp does a plane of a
// channel's weights, and a lane every 32nd delta, for all taps; the sums of the lanes meet in
// the end.
template <int K, class X, class F> __device__ inline void learn_long(F room, Planes<X> x, const Conv& c) {
  const bool first = group.fresh();
  const int places = c.places(), apart = c.apart, count = group.count, width = c.width, plane = c.height * width;
#pragma unroll 1
  for (int u = warp(); u < c.out * c.in; u += WARPS) {
    const int o = u / c.in, i = u % c.in;
    float sum[32] = {};  // of the taps, and of the bias
#pragma unroll 1
    for (int s = 0; s < count; s++) {
      F d = outputs(room, c, s) + o * places * apart;
      X mine = x[s] + i * plane;
      auto where = as<u16>(sample(room, s) + c.where) + o * places;
      const int n = as<i32>(sample(room, s) + c.live)[o];
#pragma unroll 1
      for (int e = lane(); e < n; e += 32) {
        const float v = d[e * apart];
        X at = mine + where[e];
        sum[K * K] += v;
#pragma unroll
        for (int y = 0; y < K; y++)
#pragma unroll
          for (int k = 0; k < K; k++) sum[y * K + k] += v * at[y * width + k];
      }
    }
    const float mine = reduce(sum);
    if (lane() < K * K) keep(sums() + c.weight + (i64)u * K * K + lane(), mine, first);
    else if (lane() == K * K && i == 0 && c.bias >= 0) keep(sums() + c.bias + o, mine, first);
  }
}

// PLANES is how many planes of inputs a warp does at a time.
constexpr int PLANES = 5;

// scatter adds the n deltas at d, times w[k], to planes of inputs, each at its place in x[k].
// What one adds to, the next may add to by another lane. Planes may be the same, with the
// same w. Lanes that have no tap only look.
template <class F, class Where>
__device__ inline void scatter(const F (&x)[PLANES], const float (&w)[PLANES], bool tap, F d, int apart, Where where, int n) {
#pragma unroll 1
  for (int e = 0; e < n; e++, d += apart, where++) {
    const float delta = *d;
    const int at = *where;
    float sum[PLANES];
#pragma unroll
    for (int k = 0; k < PLANES; k++) sum[k] = x[k][at] + w[k] * delta;
#pragma unroll
    for (int k = 0; k < PLANES; k++)
      if (tap) x[k][at] = sum[k];
    __nvvm_bar_warp_sync(ALL);
  }
}

// blame puts the deltas of the inputs of convolution l in their place. A warp does PLANES of
// a sample, and a lane a tap of the kernel: it adds what each delta of the outputs gives the
// inputs under that tap. Where planes run out, the last is done again, to the same result.
template <class F> __device__ inline void blame(F room, const Conv& c) {
  const int places = c.places(), plane = c.height * c.width, area = c.kernel * c.kernel, taps = c.taps(), apart = c.apart;
  const int parts = (c.in + PLANES - 1) / PLANES;
  Global<const float>* packed = scratch() + c.packed;
#pragma unroll 1
  for (int u = warp(); u < group.count * parts; u += WARPS) {
    const int s = u / parts, i = u % parts * PLANES, n = c.in - i < PLANES ? c.in - i : PLANES;
    F own = sample(room, s), x = own + c.x + i * plane, d = outputs(room, c, s);
    auto where = as<u16>(own + c.where);
    auto live = as<i32>(own + c.live);
#pragma unroll 1
    for (int j = lane(); j < n * plane; j += 32) x[j] = 0;
    __nvvm_bar_warp_sync(ALL);
#pragma unroll 1
    for (int first = 0; first < area; first += 32) {
      const bool mine = first + lane() < area;
      const int tap = mine ? first + lane() : 0, offset = c.offset(tap);
      F to[PLANES];
      i32 at[PLANES];
#pragma unroll
      for (int k = 0; k < PLANES; k++) {
        const int p = k < n ? k : n - 1;
        to[k] = x + p * plane + offset;
        at[k] = 4 * ((i + p) * area + tap);
      }
#pragma unroll 1
      for (int o = 0; o < c.out; o++) {
        if (live[o] == 0) continue;
        Global<const float>* weights = packed + (i64)(o / 4) * taps * 4 + o % 4;
        float w[PLANES];
#pragma unroll
        for (int k = 0; k < PLANES; k++) w[k] = weights[at[k]];
        scatter(to, w, mine, d + o * places * apart, apart, where + o * places, live[o]);
      }
    }
  }
}

// back takes the deltas of the last convolution's outputs back to the first, and adds the
// group's gradient. It begins with a barrier.
template <class F> __device__ inline void back(F room) {
  each_back(
      [&](const Conv& c) INLINE {
        list(room, c);
        __syncthreads();
        inputs(room, c, [&](auto x) INLINE {
          if (c.kernel == 5 && c.places() >= LONG) learn_long<5>(room, x, c);
          else if (c.kernel == 3 && c.places() >= LONG) learn_long<3>(room, x, c);
          else if (c.taps() <= 32) learn<1>(room, x, c);
          else learn<8>(room, x, c);
        });
      },
      [&](const Conv& c) INLINE { blame(room, c); });
}
