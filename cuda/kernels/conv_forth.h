// conv_forth.h is the way of a group of samples through the convolutions: inputs, products,
// pooling, dropout and ReLU.
#pragma once

#include "conv.h"

// pixel is an input of an image, which begins at row.
__device__ inline float pixel(i64 row, int j) {
  if (!job.x8) return job.x[row + j];
  const int each = small(job.scale_wide) ? j : 0;
  const float mul = job.mul ? job.mul[each] : 1, add = job.add ? job.add[each] : 0;
  return (float)job.x8[row + j] * mul + add;
}

// bring_bytes copies images of bytes that are all scaled alike, four pixels at a time.
__device__ inline void bring_bytes(int words) {
  const float mul = job.mul ? job.mul[0] : 1, add = job.add ? job.add[0] : 0;
  Global<f4>* to = (Global<f4>*)images();
#pragma unroll 1
  for (int j = thread(); j < group.count * words; j += THREADS) {
    const int s = quotient(j, words);
    const u32 four = ((Global<const u32>*)job.x8)[(i64)job.rows[group.first + s] * words + j - s * words];
    f4 v;
#pragma unroll
    for (int k = 0; k < 4; k++) v[k] = operand((float)(four >> 8 * k & 255) * mul + add);
    to[j] = v;
  }
}

// bring copies the images of the group to scratch.
__device__ inline void bring() {
  constexpr int AHEAD = 2;
  const int d = small(job.features);
  if (thread() < group.count) keys[thread()] = key(thread());
  if (job.x8 && !job.scale_wide && d % 4 == 0) {
    bring_bytes(d / 4);
    return;
  }
#pragma unroll 1
  for (int s = 0; s < group.count; s++) {
    const i64 row = (i64)job.rows[group.first + s] * d;
    Global<float>* to = images() + (i64)s * d;
#pragma unroll 1
    for (int base = thread(); base < d; base += AHEAD * THREADS) {
      float v[AHEAD];
#pragma unroll
      for (int k = 0; k < AHEAD; k++) v[k] = base + k * THREADS < d ? pixel(row, base + k * THREADS) : 0;
#pragma unroll
      for (int k = 0; k < AHEAD; k++)
        if (base + k * THREADS < d) to[base + k * THREADS] = operand(v[k]);
    }
  }
}

// blank sets the last outputs of samples that the group lacks to zero.
template <class F> __device__ inline void blank(F room) {
  const Conv& c = plan.conv[plan.convs - 1];
#pragma unroll 1
  for (int j = thread(); j < c.out * c.places() * SAMPLES; j += THREADS)
    if (j % SAMPLES >= group.count) room[c.y + j] = 0;
}

// larger tells whether z is, of a window's outputs. NaN is larger than anything, and stays.
__device__ inline bool larger(float z, float than) { return z > than || z != z; }

// Largest is the largest of a window, of four channels, and where it was.
struct Largest {
  f4 value;
  i32 at[4];

  __device__ void take(f4 z, i32 place, bool first) {
#pragma unroll
    for (int q = 0; q < 4; q++) {
      if (!(first || larger(z[q], value[q]))) continue;
      value[q] = z[q];
      at[q] = place;
    }
  }
};

// one is the convolution at the place x, for four channels whose weights are at w.
template <class X> __device__ inline f4 one(const Conv& c, X x, Global<const f4>* w, f4 sum) {
#pragma unroll 1
  for (int i = 0; i < c.in; i++, x += c.height * c.width)
#pragma unroll 1
    for (int y = 0; y < c.kernel; y++)
#pragma unroll 4
      for (int k = 0; k < c.kernel; k++, w++) sum += *w * x[y * c.width + k];
  return sum;
}

// four is that at the four places of a window of 2 x 2, of kernels of K x K: what they
// need of an input is held in registers.
template <int K, class X> __device__ inline void four(const Conv& c, X x, Global<const f4>* w, f4 (&sum)[4]) {
#pragma unroll 1
  for (int i = 0; i < c.in; i++, x += c.height * c.width, w += K * K) {
    float patch[K + 1][K + 1];
#pragma unroll
    for (int y = 0; y <= K; y++)
#pragma unroll
      for (int k = 0; k <= K; k++) patch[y][k] = x[y * c.width + k];
#pragma unroll
    for (int y = 0; y < K; y++)
#pragma unroll
      for (int k = 0; k < K; k++) {
        const f4 v = w[y * K + k];
#pragma unroll
        for (int p = 0; p < 4; p++) sum[p] += v * patch[y + p / 2][k + p % 2];
      }
  }
}

// window is the pooled convolution of four channels at a place of the inputs' plane. K is
// the kernel where the pooling is over 2 x 2, and else 0.
template <int K, class X>
__device__ inline Largest window(const Conv& c, X x, int place, Global<const f4>* w, f4 start) {
  Largest best;
  if constexpr (K > 0) {
    f4 sum[4] = {start, start, start, start};
    four<K>(c, x + place, w, sum);
#pragma unroll
    for (int p = 0; p < 4; p++) best.take(sum[p], place + p / 2 * c.width + p % 2, p == 0);
  } else {
#pragma unroll 1
    for (int y = 0; y < c.pool; y++)
#pragma unroll 1
      for (int k = 0; k < c.pool; k++) {
        const int at = place + y * c.width + k;
        best.take(one(c, x + at, w, start), at, y + k == 0);
      }
  }
  return best;
}

// convolve computes the outputs of convolution l. A thread does a window of a sample, four
// channels at a time; neighbours do neighbouring windows with the same weights.
template <int K, class X, class F> __device__ inline void convolve(F room, Planes<X> x, int l) {
  const Conv& c = plan.conv[l];
  const int places = c.places(), count = group.count;
  Global<const f4>* packed = (Global<const f4>*)(scratch() + c.packed);
#pragma unroll 1
  for (int t = thread(); t < places * count * c.blocks(); t += THREADS) {
    const int place = t % places, s = t / places % count, block = t / places / count;
    F mine = sample(room, s);
    const int from = place / c.columns * c.pool * c.width + place % c.columns * c.pool;
    const f4 start = packed[(i64)c.blocks() * c.taps() + block];
    const Largest best = window<K>(c, x[s], from, packed + (i64)block * c.taps(), start);
    asm volatile("" ::: "memory");  // read the plan anew: the products want its registers
    const Dropout drop(c, l, s, block);
    F y = outputs(room, c, s);
    auto where = as<u16>(mine + c.where);
#pragma unroll
    for (int q = 0; q < 4; q++) {
      const int o = 4 * block + q;
      if (o >= c.out) break;
      const float v = best.value[q] * drop.of(q);
      const bool dead = v <= 0;
      y[(o * places + place) * c.apart] = dead ? 0 : v;
      where[o * places + place] = dead ? NOWHERE : best.at[q];
    }
  }
}

// forth takes the group through the convolutions. It begins after a barrier and ends with one.
template <class F> __device__ inline void forth(F room) {
  bring();
  if (group.count < SAMPLES) blank(room);
#pragma unroll 1
  for (int l = 0; l < plan.convs; l++) {
    __syncthreads();
    const Conv& c = plan.conv[l];
    inputs(room, c, [&](auto x) INLINE {
      if (c.pool == 2 && c.kernel == 5) convolve<5>(room, x, l);
      else if (c.pool == 2 && c.kernel == 3) convolve<3>(room, x, l);
      else convolve<0>(room, x, l);
    });
  }
  __syncthreads();
}
