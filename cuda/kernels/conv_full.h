// conv_full.h is the fully connected layers behind the convolutions, forth and back, of one
// group of samples, which lie side by side: f4 is a unit. W is [out][in], and neighbouring
// lanes read neighbouring weights.
#pragma once

#include "conv.h"
#include "loss.h"

static_assert(SAMPLES == 4, "a unit of a group is an f4");

__device__ inline float dot(f4 a, f4 b) { return a.x * b.x + a.y * b.y + a.z * b.z + a.w * b.w; }

// total adds v up over the lanes; lane l gets the sum of element l%4.
__device__ inline float total(f4 v) {
  const bool high = lane() & 2, odd = lane() & 1;
  const float a = (high ? v.z : v.x) + swap(high ? v.x : v.z, 2), b = (high ? v.w : v.y) + swap(high ? v.y : v.w, 2);
  float sum = (odd ? b : a) + swap(odd ? a : b, 1);
  for (int m = 4; m < 32; m *= 2) sum += swap(sum, m);
  return sum;
}

// product is what the weights of a unit, which begin at at, and the inputs come to: in lane l
// for sample l%4. A few weights are on their way at a time.
template <class X> __device__ inline float product(X x, i64 at, int in) {
  constexpr int AHEAD = 5;
  const Weights weights = {job.w.at + at};
  f4 sum = 0;
  int i = lane();
#pragma unroll 1
  for (; i + 32 * (AHEAD - 1) < in; i += 32 * AHEAD) {
    float w[AHEAD];
#pragma unroll
    for (int k = 0; k < AHEAD; k++) w[k] = weights.load(i + 32 * k);
#pragma unroll
    for (int k = 0; k < AHEAD; k++) sum += w[k] * x[i + 32 * k];
  }
#pragma unroll 1
  for (; i < in; i += 32) sum += weights.load(i) * x[i];
  return total(sum);
}

// full computes the units of layer l. Those of samples that the group lacks are zero.
template <class F> __device__ inline void full(F room, int l) {
  const Full f = plan.full[l];
#pragma unroll 1
  for (int o = warp(); o < f.out; o += WARPS) {
    float v = product(as<f4>(room + f.x), f.weight + (i64)o * f.in, f.in);
    if (f.bias >= 0) v += job.w.load(f.bias + o);
    const int s = lane();
    if (s < SAMPLES) room[f.y + o * SAMPLES + s] = s < group.count ? v : 0;
  }
}

// activate is ReLU and dropout, in place.
template <class F> __device__ inline void activate(F room, int l) {
  const Full f = plan.full[l];
#pragma unroll 1
  for (int j = thread(); j < f.out * SAMPLES; j += THREADS) {
    const int o = j / SAMPLES, s = j % SAMPLES;
    const float v = room[f.y + j];
    if (s < group.count) room[f.y + j] = (v <= 0 ? 0 : v) * Dropout(f, plan.convs + l, s, o / 4).of(o % 4);
  }
}

// Outputs are a sample's, as loss.h wants them: GROUP numbers apart.
template <class F> struct Outputs {
  F at;
  __device__ auto& operator[](int i) const { return at[i / GROUP * SAMPLES]; }
};

// outputs computes all layers; those of the last are those of the network. It ends with a
// barrier.
template <class F> __device__ inline Outputs<F> outputs(F room) {
#pragma unroll 1
  for (int l = 0; l < plan.fulls; l++) {
    full(room, l);
    __syncthreads();
    if (l == plan.fulls - 1) break;
    activate(room, l);
    __syncthreads();
  }
  return {room + plan.full[plan.fulls - 1].y + warp() % SAMPLES};
}

// learn_full adds to the gradient of layer l, whose deltas stand where its units did. A warp
// does 32 inputs and EACH units.
template <class F> __device__ inline void learn_full(F room, int l) {
  constexpr int EACH = 10;
  const Full f = plan.full[l];
  const bool first = group.fresh();
  const auto x = as<f4>(room + f.x), d = as<f4>(room + f.y);
  const int strips = (f.in + 31) / 32, blocks = (f.out + EACH - 1) / EACH;
#pragma unroll 1
  for (int u = warp(); u < strips * blocks; u += WARPS) {
    const int i = u % strips * 32 + lane(), o = u / strips * EACH;
    if (i >= f.in) continue;
    const f4 v = x[i];
    const int end = o + EACH < f.out ? o + EACH : f.out;
    Global<float>* to = sums() + f.weight + (i64)o * f.in + i;
#pragma unroll 4
    for (int k = o; k < end; k++, to += f.in) keep(to, dot(d[k], v), first);
  }
  if (f.bias < 0) return;
#pragma unroll 1
  for (int o = thread(); o < f.out; o += THREADS) keep(sums() + f.bias + o, dot(d[o], 1), first);
}

// blame_full puts the deltas of the inputs of layer l in their place; where those were not
// alive they are zero. scale is of the dropout that the inputs went through, if it is not
// theirs to take back.
template <class F> __device__ inline void blame_full(F room, int l, float scale) {
  constexpr int AHEAD = 5;
  const Full f = plan.full[l];
  const auto x = as<f4>(room + f.x), d = as<f4>(room + f.y);
#pragma unroll 1
  for (int i = thread(); i < f.in; i += THREADS) {
    Weights weights = {job.w.at + f.weight + i};
    f4 v = 0;
    int o = 0;
#pragma unroll 1
    for (; o + AHEAD <= f.out; o += AHEAD, weights.at += AHEAD * f.in) {
      float w[AHEAD];
#pragma unroll
      for (int k = 0; k < AHEAD; k++) w[k] = weights.load(k * f.in);
#pragma unroll
      for (int k = 0; k < AHEAD; k++) v += w[k] * d[o + k];
    }
#pragma unroll 1
    for (; o < f.out; o++, weights.at += f.in) v += weights.load(0) * d[o];
    const f4 was = x[i];
    x[i] = was <= 0 ? f4(0) : v * scale;
  }
}

// back_full takes the deltas of the outputs back to the last convolution, and adds the
// group's gradient. It begins with a barrier.
template <class F> __device__ inline void back_full(F room) {
#pragma unroll 1
  for (int l = plan.fulls - 1; l >= 0; l--) {
    __syncthreads();
    learn_full(room, l);
    __syncthreads();
    blame_full(room, l, l > 0 ? __builtin_bit_cast(float, plan.full[l - 1].scale) : 1);
  }
}
