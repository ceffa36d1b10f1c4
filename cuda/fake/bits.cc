// bits.cc is logic, shifts and bit fields.
#include "lanes.h"

namespace fake {

namespace {

struct And { template <class T> static T of(T a, T b) { return a & b; } };
struct Or { template <class T> static T of(T a, T b) { return a | b; } };
struct Xor { template <class T> static T of(T a, T b) { return a ^ b; } };
struct Not { template <class T> static T of(T a) { return static_cast<T>(~a); } };
struct Cnot { template <class T> static T of(T a) { return a == 0; } };

// A shift by the width or more gives zeros, or copies of the sign.
struct Shl {
  template <class T> static T of(T a, uint32_t n) { return n < 8 * sizeof(T) ? static_cast<T>(a << n) : T(0); }
};
struct Shr {
  template <class T> static T of(T a, uint32_t n) {
    constexpr uint32_t last = 8 * sizeof(T) - 1;
    T sign = static_cast<T>(a >> last);
    return n <= last ? static_cast<T>(a >> n) : T(-1) < T(0) ? sign : T(0);
  }
};
struct ShfLClamp {
  static uint32_t of(uint32_t a, uint32_t b, uint32_t c) {
    uint32_t n = c < 32 ? c : 32;
    return static_cast<uint32_t>(((uint64_t(b) << 32 | a) << n) >> 32);
  }
};
struct ShfRClamp {
  static uint32_t of(uint32_t a, uint32_t b, uint32_t c) {
    return static_cast<uint32_t>((uint64_t(b) << 32 | a) >> (c < 32 ? c : 32));
  }
};
struct ShfLWrap {
  static uint32_t of(uint32_t a, uint32_t b, uint32_t c) { return ShfLClamp::of(a, b, c & 31); }
};
struct ShfRWrap {
  static uint32_t of(uint32_t a, uint32_t b, uint32_t c) { return ShfRClamp::of(a, b, c & 31); }
};

struct Popc { template <class T> static uint32_t of(T a) { return static_cast<uint32_t>(__builtin_popcountll(a)); } };
struct Clz {
  static uint32_t of(uint32_t a) { return a ? static_cast<uint32_t>(__builtin_clz(a)) : 32; }
  static uint32_t of(uint64_t a) { return a ? static_cast<uint32_t>(__builtin_clzll(a)) : 64; }
};
struct Brev {
  template <class T> static T of(T a) {
    T r = 0;
    for (unsigned i = 0; i < 8 * sizeof(T); i++) r = static_cast<T>(r << 1 | ((a >> i) & 1));
    return r;
  }
};
// The highest bit that differs from the sign; all ones when there is none.
struct Bfind {
  static uint32_t of(uint32_t a) { return a ? 31u - static_cast<uint32_t>(__builtin_clz(a)) : ~0u; }
  static uint32_t of(uint64_t a) { return a ? 63u - static_cast<uint32_t>(__builtin_clzll(a)) : ~0u; }
  static uint32_t of(int32_t a) { return of(static_cast<uint32_t>(a < 0 ? ~a : a)); }
  static uint32_t of(int64_t a) { return of(static_cast<uint64_t>(a < 0 ? ~a : a)); }
};
// Position and length are taken modulo 256; past the end lie zeros or the sign.
struct Bfe {
  template <class T> static T of(T a, uint32_t b, uint32_t c) {
    constexpr uint32_t bits = 8 * sizeof(T);
    uint32_t position = b & 255, length = c & 255;
    if (length == 0) return 0;
    T high = Shr::of(a, position);
    if (length >= bits) return high;
    uint32_t room = bits - length;
    if (T(-1) > T(0)) return static_cast<T>(static_cast<T>(high << room) >> room);
    uint32_t last = position + length - 1 < bits - 1 ? position + length - 1 : bits - 1;
    T sign = static_cast<T>((a >> last) & 1);
    T mask = static_cast<T>((T(1) << length) - 1);
    return static_cast<T>(sign ? high | static_cast<T>(~mask) : high & mask);
  }
};
struct Bfi {
  template <class T> static T of(T a, T b, uint32_t c, uint32_t d) {
    constexpr uint32_t bits = 8 * sizeof(T);
    uint32_t position = c & 255, length = d & 255;
    if (position >= bits || length == 0) return b;
    T mask = length >= bits ? static_cast<T>(~T(0)) : static_cast<T>((T(1) << length) - 1);
    mask = static_cast<T>(mask << position);
    return static_cast<T>((b & ~mask) | ((a << position) & mask));
  }
};
// Each nibble of the selector picks one of eight bytes; its high bit copies the sign.
struct Prmt {
  static uint32_t of(uint32_t a, uint32_t b, uint32_t c) {
    uint64_t bytes = uint64_t(b) << 32 | a;
    uint32_t r = 0;
    for (int i = 0; i < 4; i++) {
      uint32_t pick = c >> (4 * i);
      uint32_t byte = static_cast<uint32_t>(bytes >> (8 * (pick & 7))) & 255;
      if (pick & 8) byte = byte & 128 ? 255 : 0;
      r |= byte << (8 * i);
    }
    return r;
  }
};
struct Lop3 {
  static uint32_t of(uint32_t a, uint32_t b, uint32_t c, uint32_t table) {
    uint32_t r = 0;
    for (int i = 0; i < 8; i++) {
      uint32_t here = (i & 4 ? a : ~a) & (i & 2 ? b : ~b) & (i & 1 ? c : ~c);
      r |= (table >> i) & 1 ? here : 0;
    }
    return r;
  }
};
struct Move { template <class T> static T of(T a) { return a; } };

template <class T>
void of_width(Table& t, const std::string& bits) {
  const std::string b = ".b" + bits;
  put<And, T, T, T>(t, "and" + b, 'b');
  put<Or, T, T, T>(t, "or" + b, 'b');
  put<Xor, T, T, T>(t, "xor" + b, 'b');
  put<Not, T, T>(t, "not" + b, 'b');
  put<Cnot, T, T>(t, "cnot" + b, 'b');
  put<Shl, T, T, uint32_t>(t, "shl" + b, 'b');
  put<Shr, T, T, uint32_t>(t, "shr" + b, 'b');
  put<Shr, T, T, uint32_t>(t, "shr.u" + bits, 'u');
  for (char kind : {'b', 'u', 's', 'f'}) {
    if (kind != 'f' || bits != "16") put<Move, T, T>(t, std::string("mov.") + kind + bits, kind);
  }
}

template <class U, class S>
void of_words(Table& t, const std::string& bits) {
  put<Popc, uint32_t, U>(t, "popc.b" + bits, 'b');
  put<Clz, uint32_t, U>(t, "clz.b" + bits, 'b');
  put<Brev, U, U>(t, "brev.b" + bits, 'b');
  put<Bfind, uint32_t, U>(t, "bfind.u" + bits, 'u');
  put<Bfind, uint32_t, S>(t, "bfind.s" + bits, 's');
  put<Bfe, U, U, uint32_t, uint32_t>(t, "bfe.u" + bits, 'u');
  put<Bfe, S, S, uint32_t, uint32_t>(t, "bfe.s" + bits, 's');
  put<Bfi, U, U, U, uint32_t, uint32_t>(t, "bfi.b" + bits, 'b');
}

// Predicates are words with a bit for each lane.
template <class F>
void of_predicates(Warp& w, const Op& op, uint32_t mask) {
  set_predicate(w, op.at[0], F::of(w.predicate(op.at[1]), w.predicate(op.at[2])), mask);
}
void not_predicate(Warp& w, const Op& op, uint32_t mask) {
  set_predicate(w, op.at[0], ~w.predicate(op.at[1]), mask);
}
void move_predicate(Warp& w, const Op& op, uint32_t mask) {
  set_predicate(w, op.at[0], w.predicate(op.at[1]), mask);
}

}  // namespace

void add_bits(Table& t) {
  of_width<uint16_t>(t, "16");
  of_width<uint32_t>(t, "32");
  of_width<uint64_t>(t, "64");
  put<Shr, int16_t, int16_t, uint32_t>(t, "shr.s16", 's');
  put<Shr, int32_t, int32_t, uint32_t>(t, "shr.s32", 's');
  put<Shr, int64_t, int64_t, uint32_t>(t, "shr.s64", 's');
  of_words<uint32_t, int32_t>(t, "32");
  of_words<uint64_t, int64_t>(t, "64");
  put<ShfLClamp, uint32_t, uint32_t, uint32_t, uint32_t>(t, "shf.l.clamp.b32", 'b');
  put<ShfRClamp, uint32_t, uint32_t, uint32_t, uint32_t>(t, "shf.r.clamp.b32", 'b');
  put<ShfLWrap, uint32_t, uint32_t, uint32_t, uint32_t>(t, "shf.l.wrap.b32", 'b');
  put<ShfRWrap, uint32_t, uint32_t, uint32_t, uint32_t>(t, "shf.r.wrap.b32", 'b');
  put<Prmt, uint32_t, uint32_t, uint32_t, uint32_t>(t, "prmt.b32", 'b');
  put<Lop3, uint32_t, uint32_t, uint32_t, uint32_t, uint32_t>(t, "lop3.b32", 'b');
  t["and.pred"] = {of_predicates<And>, "ppp", 'p'};
  t["or.pred"] = {of_predicates<Or>, "ppp", 'p'};
  t["xor.pred"] = {of_predicates<Xor>, "ppp", 'p'};
  t["not.pred"] = {not_predicate, "pp", 'p'};
  t["mov.pred"] = {move_predicate, "pp", 'p'};
}

}  // namespace fake
