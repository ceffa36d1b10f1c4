// conv_full.h is the fully connected layers behind the convolutions, forth and back, of one
// group of samples, which lie side by side: f4 is a unit. W is [out][in], and neighbouring
// lanes read neighbouring weights.
#pragma once

#include "conv.h"
#include "loss.h"

static_assert(SAMPLES == 4, "a unit of a group is an f4");

__device__ inline float dot(f4 a, f4 b) { return a.x * b.x + a.y * b.y + a.z * b.z + a.w * b.w; }

// products adds up those of the weights of EACH outputs, whose rows begin at from, and of the inputs.
constexpr int EACH = 4;  // Dropout has numbers for as many
template <class X> __device__ inline void products(float (&sum)[EACH * SAMPLES], X x, const Weights& from, const int (&row)[EACH], int in) {
  constexpr int AHEAD = 2;
  int i = lane();
#pragma unroll 1
  for (; i + 32 * (AHEAD - 1) < in; i += 32 * AHEAD) {
    float w[AHEAD][EACH];
#pragma unroll
    for (int k = 0; k < AHEAD * EACH; k++) w[k / EACH][k % EACH] = from.load(row[k % EACH] + i + k / EACH * 32);
#pragma unroll
    for (int k = 0; k < AHEAD; k++) {
      const f4 v = x[i + 32 * k];
#pragma unroll
      for (int q = 0; q < EACH * SAMPLES; q++) sum[q] += w[k][q / SAMPLES] * v[q % SAMPLES];
    }
  }
#pragma unroll 1
  for (; i < in; i += 32) {
    const f4 v = x[i];
#pragma unroll
    for (int q = 0; q < EACH * SAMPLES; q++) sum[q] += from.load(row[q / SAMPLES] + i) * v[q % SAMPLES];
  }
}

// full computes the units of layer l, with ReLU and dropout but for the last, EACH a warp. Those of samples that the group
// lacks are zero.
template <class F> __device__ inline void full(F room, int l) {
  const Full f = plan.full[l];
  const int q = lane() / SAMPLES, s = lane() % SAMPLES;
#pragma unroll 1
  for (int o = EACH * warp(); o < f.out; o += EACH * WARPS) {
    int row[EACH];
#pragma unroll
    for (int k = 0; k < EACH; k++) row[k] = o + k < f.out ? k * f.in : 0;
    float sum[EACH * SAMPLES] = {};
    products(sum, as<f4>(room + f.x), Weights{job.w.at + f.weight + o * f.in}, row, f.in);
    float v = reduce(sum);
    if (q >= EACH || o + q >= f.out) continue;
    if (f.bias >= 0) v += job.w.load(f.bias + o + q);
    if (l < plan.fulls - 1) v = (v <= 0 ? 0 : v) * Dropout(f, plan.convs + l, s, o / 4).of(q);
    room[f.y + (o + q) * SAMPLES + s] = s < group.count ? v : 0;
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
  }
  return {room + plan.full[plan.fulls - 1].y + warp() % SAMPLES};
}

// back_input takes the deltas d of a layer back to the input i, which is x, and adds to its gradient, or begins it.
template <bool first, class D> __device__ inline f4 back_input(const Full& f, D d, int i, f4 x) {
  constexpr int AHEAD = 5;
  Weights weights = {job.w.at + f.weight + i};
  Global<float>* to = sums() + f.weight + i;
  f4 v = 0;
  int left = f.out;
#pragma unroll 1
  for (; left >= AHEAD; left -= AHEAD, weights.at += AHEAD * f.in, d += AHEAD) {
    float w[AHEAD];
#pragma unroll
    for (int k = 0; k < AHEAD; k++) w[k] = weights.load(k * f.in);
#pragma unroll
    for (int k = 0; k < AHEAD; k++, to += f.in) {
      v += w[k] * d[k];
      keep(to, dot(d[k], x), first);
    }
  }
#pragma unroll 1
  for (; left > 0; left--, weights.at += f.in, to += f.in, d++) {
    v += weights.load(0) * *d;
    keep(to, dot(*d, x), first);
  }
  return v;
}

// back_layer takes the deltas of layer l, which stand where its units did, back to its inputs, and adds to its gradient.
// put(i, v) has those of input i: zero where it was not alive. A thread has an input.
template <class F, class Put> __device__ inline void back_layer(F room, int l, const Put& put) {
  const Full f = plan.full[l];
  const bool first = group.fresh();
  const auto x = as<f4>(room + f.x), d = as<f4>(room + f.y);
#pragma unroll 1
  for (int i = thread(); i < f.in; i += THREADS) {
    const f4 was = x[i], v = first ? back_input<true>(f, d, i, was) : back_input<false>(f, d, i, was);
    put(i, was <= 0 ? f4(0) : v);
  }
  if (f.bias < 0) return;
#pragma unroll 1
  for (int o = THREADS - 1 - thread(); o < f.out; o += THREADS) keep(sums() + f.bias + o, dot(d[o], 1), first);
}

// back_full takes the deltas of the outputs back to the last convolution, whose put(i, v) has, and adds the
// group's gradient. It begins with a barrier.
template <class F, class Put> __device__ inline void back_full(F room, const Put& put) {
#pragma unroll 1
  for (int l = plan.fulls - 1; l > 0; l--) {
    __syncthreads();
    const auto x = as<f4>(room + plan.full[l].x);
    const float scale = __builtin_bit_cast(float, plan.full[l - 1].scale);
    back_layer(room, l, [&](int i, f4 v) INLINE { x[i] = v * scale; });
  }
  __syncthreads();
  back_layer(room, 0, put);
}
