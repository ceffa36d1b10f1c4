// engine_test_mix.h is a calculation that the host and engine_test.cu both make, to
// the same bits: integers and floats of all widths, branches, loops, a table, an array
// that is indexed.
#pragma once

#ifdef __CUDA__
#define HERE __attribute__((device))
#else
#define HERE
#endif

HERE inline unsigned long long mix(int i, const unsigned char* bytes, const float* floats) {
  unsigned long long h = 1469598103934665603ull;
  auto add = [&h](unsigned long long v) { h = (h ^ v) * 1099511628211ull + (h >> 29); };
  int a = i - 300, b = bytes[i % 256] - 100;
  add(static_cast<unsigned>(b ? a / b : 7));
  add(static_cast<unsigned>(b ? a % b : 9));
  add(static_cast<unsigned long long>(i) * 0x123456789abcdefull >> (i % 64));
  add(static_cast<unsigned>(__builtin_popcountll(h)) +
      (i ? static_cast<unsigned>(__builtin_clz(static_cast<unsigned>(i))) : 0));
  add(static_cast<unsigned>(static_cast<signed char>(bytes[(i * 7) % 256]) >> 2) +
      (static_cast<unsigned short>(i * 77) >> 3));
  int held[8];
  for (int k = 0; k < 8; k++) held[k] = bytes[(i + k) % 256];
  for (int k = 0; k < i % 13; k++) held[(k * 5 + i) & 7] += held[k & 7] * 3;
  for (int k = 0; k < 8; k++) add(static_cast<unsigned>(held[k]));
  float f = floats[i % 256], sum = 0;
  for (int k = 0; k <= i % 9; k++) {
    sum += f * static_cast<float>(k) - sum / 3.0f;
    if (sum > 50.0f) sum = sum - 49.5f;
  }
  double wide = static_cast<double>(sum) * 1e3 / (1.0 + f * static_cast<double>(f));
  add(static_cast<unsigned long long>(static_cast<long long>(wide)));
  add(static_cast<unsigned>(static_cast<int>(f * 8.0f)) + static_cast<unsigned>(f < sum));
  switch (i % 6) {
    case 0: return h;
    case 1: return h ^ 0x55;
    case 2: return h << 7 | h >> 57;
    case 3: add(h % 1000003); break;
    case 4: add(h / 977); break;
    default: add(static_cast<unsigned>(h) * static_cast<unsigned>(i));
  }
  return h;
}
