// select.cc is comparisons and what chooses by them.
#include <cmath>

#include "lanes.h"

namespace fake {

namespace {

struct Eq { template <class T> static bool of(T a, T b) { return a == b; } };
struct Ne { template <class T> static bool of(T a, T b) { return a != b; } };
struct Lt { template <class T> static bool of(T a, T b) { return a < b; } };
struct Le { template <class T> static bool of(T a, T b) { return a <= b; } };
struct Gt { template <class T> static bool of(T a, T b) { return a > b; } };
struct Ge { template <class T> static bool of(T a, T b) { return a >= b; } };
// Of floats: ordered not-equal, and the unordered forms, true where one is not a number.
struct NeOrdered { template <class T> static bool of(T a, T b) { return a < b || a > b; } };
template <class F> struct Not { template <class T> static bool of(T a, T b) { return !F::of(a, b); } };
struct Num { template <class T> static bool of(T a, T b) { return a == a && b == b; } };

// at: p, q, a, b, c. p = (a F b) op c and q = !(a F b) op c, by mode: 0 no op, 1 and,
// 2 or, 3 xor.
template <class F, class T>
void compare(Warp& w, const Op& op, uint32_t mask) {
  const T *a = w.in<T>(op.at[2]), *b = w.in<T>(op.at[3]);
  uint32_t bits = 0;
  for (int i = 0; i < kLanes; i++) bits |= F::of(a[i], b[i]) ? kBit[i] : 0;
  uint32_t other = ~bits;
  if (op.mode) {
    uint32_t c = w.predicate(op.at[4]);
    bits = op.mode == 1 ? bits & c : op.mode == 2 ? bits | c : bits ^ c;
    other = op.mode == 1 ? other & c : op.mode == 2 ? other | c : other ^ c;
  }
  if (op.at[0] != kNowhere) set_predicate(w, op.at[0], bits, mask);
  if (op.at[1] != kNowhere) set_predicate(w, op.at[1], other, mask);
}

template <class F, class T>
void one(Table& t, const std::string& name, const std::string& type) {
  std::string width(1, static_cast<char>('0' + sizeof(T)));
  t[name + "." + type] = {compare<F, T>, width + width, type[0]};
}

template <class T>
void compare_integers(Table& t, const std::string& type) {
  one<Eq, T>(t, "eq", type);
  one<Ne, T>(t, "ne", type);
  if (type[0] == 'b') return;
  one<Lt, T>(t, "lt", type);
  one<Le, T>(t, "le", type);
  one<Gt, T>(t, "gt", type);
  one<Ge, T>(t, "ge", type);
  if (type[0] == 's') return;
  one<Lt, T>(t, "lo", type);
  one<Le, T>(t, "ls", type);
  one<Gt, T>(t, "hi", type);
  one<Ge, T>(t, "hs", type);
}

template <class T>
void compare_floats(Table& t, const std::string& type) {
  one<Eq, T>(t, "eq", type);
  one<NeOrdered, T>(t, "ne", type);
  one<Lt, T>(t, "lt", type);
  one<Le, T>(t, "le", type);
  one<Gt, T>(t, "gt", type);
  one<Ge, T>(t, "ge", type);
  one<Not<NeOrdered>, T>(t, "equ", type);
  one<Ne, T>(t, "neu", type);
  one<Not<Ge>, T>(t, "ltu", type);
  one<Not<Gt>, T>(t, "leu", type);
  one<Not<Le>, T>(t, "gtu", type);
  one<Not<Lt>, T>(t, "geu", type);
  one<Num, T>(t, "num", type);
  one<Not<Num>, T>(t, "nan", type);
}

// at: d, a, b, p: d = p ? a : b.
template <class T>
void select(Warp& w, const Op& op, uint32_t mask) {
  const T *a = w.in<T>(op.at[1]), *b = w.in<T>(op.at[2]);
  uint32_t p = w.predicate(op.at[3]);
  alignas(64) T result[kLanes];
  for (int i = 0; i < kLanes; i++) result[i] = p & kBit[i] ? a[i] : b[i];
  blend(w.out<T>(op.at[0]), result, mask);
}

// d = c >= 0 ? a : b.
struct Slct { template <class T, class C> static T of(T a, T b, C c) { return c >= 0 ? a : b; } };

template <class T>
void of_width(Table& t, const std::string& bits) {
  std::string n(1, static_cast<char>('0' + sizeof(T)));
  for (char kind : {'b', 'u', 's', 'f'}) {
    if (kind == 'f' && bits == "16") continue;
    std::string type = kind + bits;
    t["selp." + type] = {select<T>, n + n + n + "p", kind};
    put<Slct, T, T, T, int32_t>(t, "slct." + type + ".s32", kind);
    put<Slct, T, T, T, float>(t, "slct." + type + ".f32", kind);
  }
}

// at: p, a. testp.* of a float.
template <class T, int kind>
void test(Warp& w, const Op& op, uint32_t mask) {
  uint32_t bits = 0;
  for (int i = 0; i < kLanes; i++) {
    T a = w.in<T>(op.at[1])[i];
    bool yes = kind == 0 ? std::isfinite(a) : kind == 1 ? std::isinf(a) : kind == 2 ? a == a
             : kind == 3 ? a != a : kind == 4 ? std::isnormal(a) : std::fpclassify(a) == FP_SUBNORMAL;
    bits |= yes ? kBit[i] : 0;
  }
  set_predicate(w, op.at[0], bits, mask);
}

template <class T>
void tests(Table& t, const std::string& type, const std::string& shape) {
  t["testp.finite." + type] = {test<T, 0>, shape, 'f'};
  t["testp.infinite." + type] = {test<T, 1>, shape, 'f'};
  t["testp.number." + type] = {test<T, 2>, shape, 'f'};
  t["testp.notanumber." + type] = {test<T, 3>, shape, 'f'};
  t["testp.normal." + type] = {test<T, 4>, shape, 'f'};
  t["testp.subnormal." + type] = {test<T, 5>, shape, 'f'};
}

Table make_comparisons() {
  Table t;
  for (std::string kind : {"u", "b"}) {
    compare_integers<uint16_t>(t, kind + "16");
    compare_integers<uint32_t>(t, kind + "32");
    compare_integers<uint64_t>(t, kind + "64");
  }
  compare_integers<int16_t>(t, "s16");
  compare_integers<int32_t>(t, "s32");
  compare_integers<int64_t>(t, "s64");
  compare_floats<float>(t, "f32");
  compare_floats<double>(t, "f64");
  return t;
}

Table make_opcodes() {
  Table t;
  add_integer(t);
  add_float(t);
  add_bits(t);
  add_select(t);
  return t;
}

}  // namespace

void add_select(Table& t) {
  of_width<uint16_t>(t, "16");
  of_width<uint32_t>(t, "32");
  of_width<uint64_t>(t, "64");
  tests<float>(t, "f32", "p4");
  tests<double>(t, "f64", "p8");
}

// The tables live as long as the process: threads may still run when it exits.
const Table& comparisons() {
  static const Table* table = new Table(make_comparisons());
  return *table;
}

const Table& opcodes() {
  static const Table* table = new Table(make_opcodes());
  return *table;
}

}  // namespace fake
