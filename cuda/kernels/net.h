// net.h is a multilayer perceptron on a CTA: its layers one after the other, with
// their outputs and deltas in the CTA's part of the scratch. A step needs, in floats,
//
//	8 * ceil(batch/8) * (2 * (sum of the hidden widths) + outputs)
//
// in groups x width x GROUP each: first the hidden layers' outputs, layer by layer, then
// the deltas of all layers. The last layer's outputs become its deltas in place.
#pragma once

#include "tensor.h"
#include "loss.h"

#ifdef TENSOR
constexpr bool TILES = true;  // products are those of tensor.h
#else
constexpr bool TILES = false;
#endif

// Net is the step's.
struct Net {
  Global<float>* scratch;
  int first, batch, groups;  // the step's first row in job.rows, and how many it has

  // hidden is the sum of the widths of the hidden layers before l.
  __device__ i64 hidden(int l) const {
    i64 sum = 0;
#pragma unroll 1
    for (int i = 0; i < l; i++) sum += layers[i].out;
    return sum;
  }
  // units are group g's outputs of hidden layer l, deltas those of any layer.
  __device__ Global<float>* units(int l, int g) const {
    return scratch + GROUP * (groups * hidden(l) + (i64)g * layers[l].out);
  }
  __device__ Global<float>* deltas(int l, int g) const {
    return scratch + GROUP * (groups * (hidden(small(job.layers) - 1) + hidden(l)) + (i64)g * layers[l].out);
  }
  __device__ Inputs inputs(int l) const {
    return {l == 0 ? nullptr : units(l - 1, 0), job.rows + first, batch, layers[l].in};
  }
};

// Turn is a step.
struct Turn {
  u32 ticket;
  Net net;
  Inputs inputs[MAX_LAYERS];               // of each layer
  Global<const f4>* deltas_in[MAX_LAYERS];  // and its deltas: groups x out x GROUP

  __device__ void set(int first, int batch) {
    const int l = lane();
    if (l >= small(job.layers)) return;
    const Net it = {job.scratch + cta() * job.scratch_stride, first, batch, (batch + GROUP - 1) / GROUP};
    if (l == 0) net = it;
    inputs[l] = it.inputs(l), deltas_in[l] = (Global<const f4>*)it.deltas(l, 0);
  }
};

__shared__ int held;  // tiles: how many rows of the first layer's stay, 0 if none do

// rectified is ReLU, which lets NaN through.
__device__ inline float rectified(float v) { return !(v <= 0) ? v : 0; }
__device__ inline f2 rectified(f2 v) { return {rectified(v.x), rectified(v.y)}; }

// outputs computes all layers for group g of a step; those of the last are in its deltas, at the
// address that it returns. They are there for all threads, as forward ends with a barrier.
template <int S> __device__ inline Global<float>* outputs(const Turn& at, int g, bool compact) {
  Global<float>* z = nullptr;
  int own = 0;  // tiles: where a layer's begins
#pragma unroll 1
  for (int i = 0; i < small(job.layers); i++) {
    const bool last = i == small(job.layers) - 1;
    if constexpr (TILES) z = (Global<float>*)(last ? (Global<const float>*)at.deltas_in[i] : at.inputs[i + 1].units);
    else z = last ? at.net.deltas(i, g) : at.net.units(i, g);
    auto put = [&](int o, int s, auto v, bool first, bool end) INLINE {
      Global<decltype(v)>& to = *(Global<decltype(v)>*)(z + (i64)o * GROUP + s);
      if (!first) v += to;
      to = last || !end ? v : rectified(v);
    };
    if constexpr (TILES) {
      const int n = forward_tiles(layers[i], at.inputs[i], own, put);
      if (i == 0 && holds(layers[0], n)) own = whole(n);
      if (i == 0 && thread() == 0) held = own ? n : 0;
    } else forward<true, S>(layers[i], at.inputs[i], g, compact, put);
  }
  return z;
}
