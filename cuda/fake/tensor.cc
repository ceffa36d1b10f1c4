// tensor.cc is products of tiles by a warp: mma.sync.m16n8k8 of operands in tf32. They are exact, and summed in double
// precision; a GPU rounds their sum in another way, to float's precision about.
#include <cstring>

#include "control.h"

namespace fake {

namespace {

// operand is a number in tf32. What the lower 13 bits do is left open, so they must be zero.
double operand(Warp& w, const Op& op, int place, int lane) {
  const uint32_t bits = w.in<uint32_t>(op.at[place])[lane];
  float a;
  std::memcpy(&a, &bits, 4);
  if (a == a && bits & 0x1fff) stop_lane(w, op, lane, kLaunchFailed, "an operand that is not in tf32: cvt.rna.tf32.f32");
  return a;
}

}  // namespace

// Lane 4g+t has A[g][t], A[g+8][t], A[g][t+4], A[g+8][t+4], B[t][g] and B[t+4][g]; of the products
// [g][2t], [g][2t+1], [g+8][2t] and [g+8][2t+1].
void multiply_tiles(Warp& w, const Op& op, uint32_t mask) {
  mask = meet(w, op, mask, w.in<uint32_t>(op.at[6]));
  if (mask == 0) return;
  double a[16][8], b[8][8];
  for (int lane = 0; lane < kLanes; lane++) {
    const int g = lane / 4, t = lane % 4;
    for (int i = 0; i < 4; i++) a[g + i % 2 * 8][t + i / 2 * 4] = operand(w, op, i, lane);
    for (int i = 0; i < 2; i++) b[t + i * 4][g] = operand(w, op, 4 + i, lane);
  }
  double* d = w.out<double>(static_cast<uint32_t>(op.offset));
  for (int i = 0; i < 4 * kLanes; i++) {
    const int lane = i % kLanes, m = lane / 4 + i / kLanes / 2 * 8, n = lane % 4 * 2 + i / kLanes % 2;
    d[i] = 0;
    for (int k = 0; k < 8; k++) d[i] += a[m][k] * b[k][n];
  }
}

// A place of D may be one of C's.
void add_tiles(Warp& w, const Op& op, uint32_t mask) {
  const double* products = w.in<double>(static_cast<uint32_t>(op.offset));
  alignas(64) float sums[4][kLanes];
  for (int i = 0; i < 4; i++) {
    const float* c = w.in<float>(op.at[4 + i]);
    for (int lane = 0; lane < kLanes; lane++) sums[i][lane] = static_cast<float>(c[lane] + products[i * kLanes + lane]);
  }
  for (int i = 0; i < 4; i++) blend(w.out<float>(op.at[i]), sums[i], mask);
}

}  // namespace fake
