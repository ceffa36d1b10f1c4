// draw.h has the numbers that the host draws too: those of hogwild/data/order.go.
#pragma once

#include "dev.h"

constexpr u64 GAP = 0x9e3779b97f4a7c15;

__device__ inline u64 mix(u64 z) {
  z += GAP;
  z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
  z = (z ^ z >> 27) * 0x94d049bb133111eb;
  return z ^ z >> 31;
}
