// lanes.h turns a function of one lane into an instruction of a warp: the loops that
// everything else is executed by.
#pragma once

#include <string>
#include <tuple>
#include <utility>

#include "warp.h"

namespace fake {

alignas(64) constexpr uint32_t kBit[kLanes] = {
    1u << 0,  1u << 1,  1u << 2,  1u << 3,  1u << 4,  1u << 5,  1u << 6,  1u << 7,
    1u << 8,  1u << 9,  1u << 10, 1u << 11, 1u << 12, 1u << 13, 1u << 14, 1u << 15,
    1u << 16, 1u << 17, 1u << 18, 1u << 19, 1u << 20, 1u << 21, 1u << 22, 1u << 23,
    1u << 24, 1u << 25, 1u << 26, 1u << 27, 1u << 28, 1u << 29, 1u << 30, 1u << 31};

// Half is a float of 16 bits; g++ 12 for arm64 has only its older name.
#if defined(__aarch64__) && __GNUC__ < 13
using Half = __fp16;
#else
using Half = _Float16;
#endif

// blend writes the lanes in mask.
template <class T>
inline void blend(T* d, const T* from, uint32_t mask) {
#pragma GCC ivdep
  for (int i = 0; i < kLanes; i++) d[i] = mask & kBit[i] ? from[i] : d[i];
}

// map executes d = F::of(a, b, ...) in the lanes of mask. All lanes are computed, so F
// must bear any argument. A destination may be a source as well, never overlap one in
// part.
template <class F, class R, class... A, size_t... I>
inline void map_indexed(Warp& w, const Op& op, uint32_t mask, std::index_sequence<I...>) {
  std::tuple<const A*...> in{w.in<A>(op.at[I + 1])...};
  R* d = w.out<R>(op.at[0]);
  if (mask == kAll) {
#pragma GCC ivdep
    for (int i = 0; i < kLanes; i++) d[i] = F::of(std::get<I>(in)[i]...);
    return;
  }
  alignas(64) R result[kLanes];
  for (int i = 0; i < kLanes; i++) result[i] = F::of(std::get<I>(in)[i]...);
  blend(d, result, mask);
}

template <class F, class R, class... A>
void map(Warp& w, const Op& op, uint32_t mask) {
  map_indexed<F, R, A...>(w, op, mask, std::index_sequence_for<A...>{});
}

// put adds an opcode that maps F.
template <class F, class R, class... A>
void put(Table& table, const std::string& opcode, char kind) {
  std::string shape;
  for (size_t bytes : {sizeof(R), sizeof(A)...}) shape += static_cast<char>('0' + bytes);
  table[opcode] = {map<F, R, A...>, shape, kind};
}

// each calls f for every lane of mask.
template <class F>
inline void each(uint32_t mask, F f) {
  for (; mask; mask &= mask - 1) f(__builtin_ctz(mask));
}

// set_predicate writes the bits of mask.
inline void set_predicate(Warp& w, uint32_t place, uint32_t bits, uint32_t mask) {
  uint32_t* d = w.out<uint32_t>(place);
  *d = (*d & ~mask) | (bits & mask);
}

void add_integer(Table& table);
void add_float(Table& table);
void add_bits(Table& table);
void add_select(Table& table);

}  // namespace fake
