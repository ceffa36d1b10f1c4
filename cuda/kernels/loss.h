// loss.h has the losses of one sample, and their derivatives. A warp does a sample:
// lane l has the outputs l, l+32, ... Those are at z[c * GROUP], c from 0 to k-1, and
// a lane touches only its own. All lanes get the result.
//
// Sums over lanes are butterflies, so that every lane has the same bits.
#pragma once

#include "dev.h"

__device__ inline float sum_lanes(float v) {
  for (int m = 16; m > 0; m /= 2) v += swap(v, m);
  return v;
}

__device__ inline float max_lanes(float v) {
  for (int m = 16; m > 0; m /= 2) v = __builtin_fmaxf(v, swap(v, m));
  return v;
}

// log1p is log(1+v) for v >= 0, to about 1e-7 of itself: small values must not drown
// in the 1. Up to 1 it is 2 atanh(v/(2+v)), by its series.
__device__ inline float log1p(float v) {
  if (v > 1) return logarithm(1 + v);
  float s = v * inverse(2 + v), q = s * s;
  float series = 1.0f / 13;
  series = series * q + 1.0f / 11;
  series = series * q + 1.0f / 9;
  series = series * q + 1.0f / 7;
  series = series * q + 1.0f / 5;
  series = series * q + 1.0f / 3;
  return 2 * s * (series * q + 1);
}

// side is 1 where the label y is the class of output c of k, and -1 elsewhere. A
// single output stands for class 1.
__device__ inline float side(float y, int c, int k) { return (int)y == (k == 1 ? 1 : c) ? 1 : -1; }

// cross_entropy is log(sum exp z) - z[y], relative to the largest output m so that
// nothing overflows: (m - z[y]) + log1p(sum of the others' exponentials).
template <class Z> __device__ inline float cross_entropy(Z z, int k, float y, float mean) {
  float m = -__builtin_inff();
#pragma unroll 1
  for (int c = lane(); c < k; c += 32) m = __builtin_fmaxf(m, z[c * GROUP]);
  m = max_lanes(m);
  float others = 0, largest = 0, own = 0;
#pragma unroll 1
  for (int c = lane(); c < k; c += 32) {
    float v = z[c * GROUP], e = exponential(v - m);
    z[c * GROUP] = e;
    if (v == m) largest += 1;
    else others += e;  // NaN is not equal to m, and so gets into the sum
    if (c == (int)y) own = m - v;
  }
  others = sum_lanes(others) + (sum_lanes(largest) - 1);
  float p = inverse(1 + others);
#pragma unroll 1
  for (int c = lane(); c < k; c += 32) z[c * GROUP] = (z[c * GROUP] * p - (c == (int)y ? 1 : 0)) * mean;
  return sum_lanes(own) + log1p(others);
}

// logistic is log(1 + exp(-t z)), with exponentials of negative numbers only.
__device__ inline float logistic(float& z, float t, float mean) {
  float m = t * z, e = exponential(-__builtin_fabsf(m));
  float miss = (m > 0 ? e : 1) * inverse(1 + e);  // the probability of the other side
  z = -t * miss * mean;
  return __builtin_fmaxf(0, -m) + log1p(e);
}

__device__ inline float hinge(float& z, float t, float mean) {
  float m = t * z;
  bool met = m >= 1;  // which NaN is not
  z = met ? 0 : -t * mean;
  return met ? 0 : 1 - m;
}

__device__ inline float squared(float& z, float y, float mean) {
  float e = z - y;
  z = 2 * e * mean;
  return e * e;
}

__device__ inline float absolute(float& z, float y, float mean) {
  float e = z - y;
  z = e > 0 ? mean : e < 0 ? -mean : 0;
  return __builtin_fabsf(e);
}

// deltas turns the k outputs z of a sample with label y into the derivatives of the
// batch's mean loss, in place; mean is 1/batch. It returns the sample's loss.
template <class Z> __device__ inline float deltas(i64 kind, Z z, int k, float y, float mean) {
  if (kind == CROSS_ENTROPY) return cross_entropy(z, k, y, mean);
  float loss = 0;
#pragma unroll 1
  for (int c = lane(); c < k; c += 32) {
    float v = z[c * GROUP];
    switch (kind) {
      case LOGISTIC: loss += logistic(v, side(y, c, k), mean); break;
      case HINGE: loss += hinge(v, side(y, c, k), mean); break;
      case SQUARED: loss += squared(v, y, mean); break;
      default: loss += absolute(v, y, mean);
    }
    z[c * GROUP] = v;
  }
  return sum_lanes(loss);
}

// decide is the class that the outputs stand for: the first of the largest, or with a
// single output class 1 if it is positive. A first output of NaN cannot be beaten.
template <class Z> __device__ inline int decide(Z z, int k) {
  float best = k == 1 ? 0 : -__builtin_inff();
  int at = 0;
#pragma unroll 1
  for (int c = lane(); c < k; c += 32) {
    float v = z[c * GROUP];
    if (k > 1 && c == 0 && v != v) v = __builtin_inff();
    if (v > best) best = v, at = k == 1 ? 1 : c;
  }
  for (int m = 16; m > 0; m /= 2) {
    float other = swap(best, m);
    int where = swap(at, m);
    if (other > best || (other == best && where < at)) best = other, at = where;
  }
  return at;
}

__shared__ float losses[WARPS];

// grade turns the outputs z of a group into deltas, warp s those of sample s, and keeps
// each one's loss in losses. Samples from count on have neither. A barrier must follow
// before another thread reads them.
template <class Z> __device__ inline void grade(Z z, int k, float y, int count, float mean) {
  const int s = warp();
  float loss = 0;
  if (s < count) loss = deltas(job.loss_kind, z + s, k, y, mean);
  else
#pragma unroll 1
    for (int c = lane(); c < k; c += 32) z[c * GROUP + s] = 0;
  if (lane() == 0) losses[s] = loss;
}

// label is that of the sample whose number among all in job.rows is i.
__device__ inline float label(int i) { return job.y[job.rows[i]]; }
