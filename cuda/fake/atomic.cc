// atomic.cc is atom and red: the host's atomic instructions on the very memory that
// other threads and processes have mapped. A float has none, so it is added by compare
// and swap; two floats that are neighbours share one of 8 bytes, which halves the cost
// of the commonest red, lanes with consecutive floats.
#include <cstring>

#include "profile.h"

namespace fake {

namespace {

void reach(Warp& w, const Op& op, uint32_t mask, uint32_t bytes, Where* where) {
  resolve(w, op, mask, bytes, Access::kAtomic, where);
  if (counting) count_sectors(w, op, mask, *where);
}

struct Add { template <class T> static T of(T a, T b) { return a + b; } };
struct Min { template <class T> static T of(T a, T b) { return a < b ? a : b; } };
struct Max { template <class T> static T of(T a, T b) { return a > b ? a : b; } };
struct And { template <class T> static T of(T a, T b) { return a & b; } };
struct Or { template <class T> static T of(T a, T b) { return a | b; } };
struct Xor { template <class T> static T of(T a, T b) { return a ^ b; } };
struct Exchange { template <class T> static T of(T, T b) { return b; } };
struct Increment { template <class T> static T of(T a, T b) { return a >= b ? 0 : a + 1; } };
struct Decrement { template <class T> static T of(T a, T b) { return a == 0 || a > b ? b : a - 1; } };

template <class T> struct BitsOf { using type = T; };
template <> struct BitsOf<float> { using type = uint32_t; };
template <> struct BitsOf<double> { using type = uint64_t; };

// update is *p = f(*p) in one step; it returns what was there.
template <class T, class F>
T update(void* where, F f) {
  using Bits = typename BitsOf<T>::type;
  Bits* p = static_cast<Bits*>(where);
  Bits old = __atomic_load_n(p, __ATOMIC_RELAXED);
  for (;;) {
    T value, result;
    Bits next;
    std::memcpy(&value, &old, sizeof old);
    result = f(value);
    std::memcpy(&next, &result, sizeof next);
    if (__atomic_compare_exchange_n(p, &old, next, true, __ATOMIC_SEQ_CST, __ATOMIC_RELAXED)) return value;
  }
}

// at: d, b. d may be kNowhere.
template <class F, class T>
void atomic(Warp& w, const Op& op, uint32_t mask) {
  Where where;
  reach(w, op, mask, sizeof(T), &where);
  const T* b = w.in<T>(op.at[1]);
  T* d = op.at[0] == kNowhere ? nullptr : w.out<T>(op.at[0]);
  each(mask, [&](int i) {
    T value = b[i];
    T old = update<T>(where.p[i], [value](T a) { return F::of(a, value); });
    if (d) d[i] = old;
  });
}

// Integers that the host adds in one instruction.
template <class T>
void atomic_add(Warp& w, const Op& op, uint32_t mask) {
  Where where;
  reach(w, op, mask, sizeof(T), &where);
  const T* b = w.in<T>(op.at[1]);
  T* d = op.at[0] == kNowhere ? nullptr : w.out<T>(op.at[0]);
  each(mask, [&](int i) {
    T old = __atomic_fetch_add(reinterpret_cast<T*>(where.p[i]), b[i], __ATOMIC_SEQ_CST);
    if (d) d[i] = old;
  });
}

// at: d, compare, value.
template <class T>
void compare_and_swap(Warp& w, const Op& op, uint32_t mask) {
  Where where;
  reach(w, op, mask, sizeof(T), &where);
  const T *b = w.in<T>(op.at[1]), *c = w.in<T>(op.at[2]);
  T* d = op.at[0] == kNowhere ? nullptr : w.out<T>(op.at[0]);
  each(mask, [&](int i) {
    T expected = b[i];
    __atomic_compare_exchange_n(reinterpret_cast<T*>(where.p[i]), &expected, c[i], false, __ATOMIC_SEQ_CST,
                                __ATOMIC_SEQ_CST);
    if (d) d[i] = expected;
  });
}

struct Pair { float a, b; };

void add_pair(uint8_t* p, float a, float b) {
  uint64_t* both = reinterpret_cast<uint64_t*>(p);
  uint64_t old = __atomic_load_n(both, __ATOMIC_RELAXED), next;
  do {
    Pair pair;
    std::memcpy(&pair, &old, 8);
    pair.a += a, pair.b += b;
    std::memcpy(&next, &pair, 8);
  } while (!__atomic_compare_exchange_n(both, &old, next, true, __ATOMIC_SEQ_CST, __ATOMIC_RELAXED));
}

void add_one(uint8_t* p, float a) {
  update<float>(p, [a](float old) { return old + a; });
}

// red.add.f32; at[1] is the value.
void red_float(Warp& w, const Op& op, uint32_t mask) {
  Where where;
  reach(w, op, mask, sizeof(float), &where);
  if (counting) count_additions(op, mask, 1, where);
  const float* b = w.in<float>(op.at[1]);
  for (int i = 0; i < kLanes; i++) {
    if (!(mask & kBit[i])) continue;
    bool next = i + 1 < kLanes && mask & kBit[i + 1] && where.p[i + 1] == where.p[i] + 4;
    if (next && (reinterpret_cast<uintptr_t>(where.p[i]) & 7) == 0) {
      add_pair(where.p[i], b[i], b[i + 1]);
      i++;
    } else {
      add_one(where.p[i], b[i]);
    }
  }
}

// red.add.vN.f32; at[0..N-1] are the values.
template <int N>
void red_vector(Warp& w, const Op& op, uint32_t mask) {
  Where where;
  reach(w, op, mask, sizeof(float) * N, &where);
  if (counting) count_additions(op, mask, N, where);
  each(mask, [&](int i) {
    for (int k = 0; k < N; k += 2) add_pair(where.p[i] + 4 * k, w.in<float>(op.at[k])[i], w.in<float>(op.at[k + 1])[i]);
  });
}

template <class F, class U, class S>
void ordered(std::unordered_map<std::string, Run>* t, const std::string& name, const std::string& bits) {
  (*t)[name + ".u" + bits] = atomic<F, U>;
  (*t)[name + ".s" + bits] = atomic<F, S>;
}

template <class U, class S>
void of_width(std::unordered_map<std::string, Run>* t, const std::string& bits) {
  ordered<Min, U, S>(t, "min", bits);
  ordered<Max, U, S>(t, "max", bits);
  (*t)["add.u" + bits] = atomic_add<U>;
  (*t)["and.b" + bits] = atomic<And, U>;
  (*t)["or.b" + bits] = atomic<Or, U>;
  (*t)["xor.b" + bits] = atomic<Xor, U>;
  for (std::string kind : {".b", ".u", ".s"}) {
    (*t)["exch" + kind + bits] = atomic<Exchange, U>;
    (*t)["cas" + kind + bits] = compare_and_swap<U>;
  }
}

std::unordered_map<std::string, Run>* make() {
  auto* t = new std::unordered_map<std::string, Run>;
  of_width<uint32_t, int32_t>(t, "32");
  of_width<uint64_t, int64_t>(t, "64");
  (*t)["add.s32"] = atomic_add<int32_t>;
  (*t)["inc.u32"] = atomic<Increment, uint32_t>;
  (*t)["dec.u32"] = atomic<Decrement, uint32_t>;
  (*t)["add.f32"] = atomic<Add, float>;
  (*t)["add.f64"] = atomic<Add, double>;
  (*t)["red.add.f32"] = red_float;
  return t;
}

}  // namespace

// operation.type of an atom; with "red.add" the variant without a result.
Run atomic_run(const std::string& operation, const std::string& type) {
  static const std::unordered_map<std::string, Run>* table = make();
  auto found = table->find(operation + "." + type);
  return found == table->end() ? nullptr : found->second;
}

Run red_vector_run(int lanes) { return lanes == 2 ? red_vector<2> : red_vector<4>; }

}  // namespace fake
