// access.cc is ld and st. Each element is one load or store of its width, which on x86
// and arm64 is what PTX's relaxed accesses ask for: never torn, nothing ordered. A row of
// lanes is copied by vector instructions, which do not tear its elements either.
#include <cstring>

#include "profile.h"

namespace fake {

namespace {

// fill gives the lanes of mask one value.
template <class L>
void fill(L* d, L value, uint32_t mask) {
  for (int i = 0; i < kLanes; i++) d[i] = mask & kBit[i] ? value : d[i];
}

// load_fours reads four words a lane, which the compiler would do one by one: as a
// vector of 16 bytes each, of which four are turned by one transposition.
typedef uint32_t Four __attribute__((vector_size(16)));
void load_fours(Warp& w, const Op& op, const Where& where) {
  for (int i = 0; i < kLanes; i += 4) {
    auto at = [&](int k) { return *reinterpret_cast<const Four*>(where.p[i + k]); };
    Four a = at(0), b = at(1), c = at(2), d = at(3);
    Four ab = __builtin_shufflevector(a, b, 0, 4, 1, 5), cd = __builtin_shufflevector(c, d, 0, 4, 1, 5);
    Four ab2 = __builtin_shufflevector(a, b, 2, 6, 3, 7), cd2 = __builtin_shufflevector(c, d, 2, 6, 3, 7);
    Four row[4] = {__builtin_shufflevector(ab, cd, 0, 1, 4, 5), __builtin_shufflevector(ab, cd, 2, 3, 6, 7),
                   __builtin_shufflevector(ab2, cd2, 0, 1, 4, 5), __builtin_shufflevector(ab2, cd2, 2, 3, 6, 7)};
    for (int k = 0; k < 4; k++) {
      if (op.at[k] != kNowhere) *reinterpret_cast<Four*>(w.out<uint32_t>(op.at[k]) + i) = row[k];
    }
  }
}

// at[0..3]: destinations; a lane of type L takes a value of type T, with its sign.
template <class T, class L, int N>
void load(Warp& w, const Op& op, uint32_t mask) {
  Where where;
  resolve(w, op, mask, sizeof(T) * N, Access::kRead, &where);
  if (counting) count_sectors(w, op, mask, where);
  if (N == 1 && sizeof(T) == sizeof(L) && where.pattern == Pattern::kRow) {
    std::memcpy(w.out<L>(op.at[0]), where.p[0], sizeof(T) * kLanes);
    return;
  }
  if (N == 4 && sizeof(T) == 4 && mask == kAll && where.pattern != Pattern::kOne) return load_fours(w, op, where);
  for (int k = 0; k < N; k++) {
    if (op.at[k] == kNowhere) continue;
    L* d = w.out<L>(op.at[k]);
    auto from = [k](const uint8_t* p) { return static_cast<L>(reinterpret_cast<const volatile T*>(p)[k]); };
    if (where.pattern == Pattern::kOne) {
      fill(d, from(where.p[0]), mask);
    } else if (mask == kAll) {
      for (int i = 0; i < kLanes; i++) d[i] = from(where.p[i]);
    } else {
      each(mask, [&](int i) { d[i] = from(where.p[i]); });
    }
  }
}

template <class T, class L, int N>
void store(Warp& w, const Op& op, uint32_t mask) {
  Where where;
  resolve(w, op, mask, sizeof(T) * N, Access::kWrite, &where);
  if (counting) count_sectors(w, op, mask, where);
  if (N == 1 && sizeof(T) == sizeof(L) && where.pattern == Pattern::kRow) {
    std::memcpy(where.p[0], w.in<L>(op.at[0]), sizeof(T) * kLanes);
    return;
  }
  for (int k = 0; k < N; k++) {
    const L* v = w.in<L>(op.at[k]);
    auto one = [&](int i) { reinterpret_cast<volatile T*>(where.p[i])[k] = static_cast<T>(v[i]); };
    if (mask == kAll) {
      for (int i = 0; i < kLanes; i++) one(i);
    } else {
      each(mask, one);
    }
  }
}

// Parameters are the same for all lanes, and checked when decoded.
template <class T, class L, int N>
void load_parameter(Warp& w, const Op& op, uint32_t mask) {
  const uint8_t* from = w.cta->core->grid->launch->params.data() + op.offset;
  for (int k = 0; k < N; k++) {
    if (op.at[k] == kNowhere) continue;
    T value;
    std::memcpy(&value, from + sizeof(T) * k, sizeof(T));
    fill(w.out<L>(op.at[k]), static_cast<L>(value), mask);
  }
}

enum class What { kLoad, kStore, kParameter };

template <What what, class T, class L, int N>
constexpr Run run_of() {
  return what == What::kLoad ? load<T, L, N> : what == What::kStore ? store<T, L, N> : load_parameter<T, L, N>;
}

template <What what, class T, class L>
Run of_lanes(int lanes) {
  return lanes == 1 ? run_of<what, T, L, 1>() : lanes == 2 ? run_of<what, T, L, 2>() : run_of<what, T, L, 4>();
}

template <What what>
Run of_type(Type type, int lanes) {
  if (type.kind == 'p' || type.bits * lanes > 128) return nullptr;
  switch (type.bits) {
    case 8: return type.kind == 's' ? of_lanes<what, int8_t, int16_t>(lanes) : of_lanes<what, uint8_t, uint16_t>(lanes);
    case 16: return of_lanes<what, uint16_t, uint16_t>(lanes);
    case 32: return of_lanes<what, uint32_t, uint32_t>(lanes);
    case 64: return of_lanes<what, uint64_t, uint64_t>(lanes);
    default: return nullptr;
  }
}

}  // namespace

Run load_run(Type type, int lanes) { return of_type<What::kLoad>(type, lanes); }
Run store_run(Type type, int lanes) { return of_type<What::kStore>(type, lanes); }
Run parameter_run(Type type, int lanes) { return of_type<What::kParameter>(type, lanes); }

}  // namespace fake
