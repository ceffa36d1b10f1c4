// integer.cc is arithmetic on integers.
#include <type_traits>

#include "lanes.h"

namespace fake {

namespace {

template <class T> struct Twice;
template <> struct Twice<uint16_t> { using type = uint32_t; };
template <> struct Twice<int16_t> { using type = int32_t; };
template <> struct Twice<uint32_t> { using type = uint64_t; };
template <> struct Twice<int32_t> { using type = int64_t; };
template <> struct Twice<uint64_t> { using type = unsigned __int128; };
template <> struct Twice<int64_t> { using type = __int128; };

// Everything wraps (-fwrapv); small types are computed as int and cut.
struct Add { template <class T> static T of(T a, T b) { return static_cast<T>(a + b); } };
struct Sub { template <class T> static T of(T a, T b) { return static_cast<T>(a - b); } };
struct MulLo {
  template <class T>
  static T of(T a, T b) {
    return static_cast<T>(static_cast<uint64_t>(a) * static_cast<uint64_t>(b));
  }
  static uint32_t of(uint32_t a, uint32_t b) { return a * b; }
  static int32_t of(int32_t a, int32_t b) { return a * b; }
};
struct MulHi {
  template <class T> static T of(T a, T b) {
    using Wide = typename Twice<T>::type;
    return static_cast<T>((static_cast<Wide>(a) * static_cast<Wide>(b)) >> (8 * sizeof(T)));
  }
};
struct MulWide {
  template <class T> static typename Twice<T>::type of(T a, T b) {
    using Wide = typename Twice<T>::type;
    return static_cast<Wide>(a) * static_cast<Wide>(b);
  }
};
template <class Mul> struct Mad {
  template <class T, class C> static C of(T a, T b, C c) { return static_cast<C>(Mul::of(a, b) + c); }
};
// Dividing by zero gives all ones, as on a GPU; the least number by -1 wraps.
struct Div {
  template <class T> static T of(T a, T b) {
    if (b == 0) return static_cast<T>(~T(0));
    if (std::is_signed<T>::value && b == static_cast<T>(-1)) return static_cast<T>(-a);
    return static_cast<T>(a / b);
  }
};
struct Rem {
  template <class T> static T of(T a, T b) {
    if (b == 0) return a;
    if (std::is_signed<T>::value && b == static_cast<T>(-1)) return 0;
    return static_cast<T>(a % b);
  }
};
struct Min { template <class T> static T of(T a, T b) { return a < b ? a : b; } };
struct Max { template <class T> static T of(T a, T b) { return a > b ? a : b; } };
struct Abs { template <class T> static T of(T a) { return static_cast<T>(a < 0 ? -a : a); } };
struct Neg { template <class T> static T of(T a) { return static_cast<T>(-a); } };
struct Sad {
  template <class T, class C>
  static C of(T a, T b, C c) {
    return static_cast<C>(c + static_cast<C>(a > b ? a - b : b - a));
  }
};
struct AddSat {
  static int32_t of(int32_t a, int32_t b) {
    int64_t s = int64_t(a) + b;
    return static_cast<int32_t>(s > INT32_MAX ? INT32_MAX : s < INT32_MIN ? INT32_MIN : s);
  }
};
struct SubSat {
  static int32_t of(int32_t a, int32_t b) {
    int64_t s = int64_t(a) - b;
    return static_cast<int32_t>(s > INT32_MAX ? INT32_MAX : s < INT32_MIN ? INT32_MIN : s);
  }
};
template <class A, class B> struct Dot4 {
  template <class T> static T of(uint32_t a, uint32_t b, T c) {
    for (int i = 0; i < 32; i += 8) c += static_cast<T>(static_cast<A>(a >> i) * static_cast<B>(b >> i));
    return c;
  }
};

template <class T>
void of_type(Table& t, const std::string& type) {
  char kind = type[0];
  put<Add, T, T, T>(t, "add." + type, kind);
  put<Sub, T, T, T>(t, "sub." + type, kind);
  put<MulLo, T, T, T>(t, "mul.lo." + type, kind);
  put<MulHi, T, T, T>(t, "mul.hi." + type, kind);
  put<Mad<MulLo>, T, T, T, T>(t, "mad.lo." + type, kind);
  put<Mad<MulHi>, T, T, T, T>(t, "mad.hi." + type, kind);
  put<Div, T, T, T>(t, "div." + type, kind);
  put<Rem, T, T, T>(t, "rem." + type, kind);
  put<Min, T, T, T>(t, "min." + type, kind);
  put<Max, T, T, T>(t, "max." + type, kind);
  put<Sad, T, T, T, T>(t, "sad." + type, kind);
  if (kind == 's') {
    put<Abs, T, T>(t, "abs." + type, kind);
    put<Neg, T, T>(t, "neg." + type, kind);
  }
}

template <class T>
void widening(Table& t, const std::string& type) {
  using Wide = typename Twice<T>::type;
  put<MulWide, Wide, T, T>(t, "mul.wide." + type, type[0]);
  put<Mad<MulWide>, Wide, T, T, Wide>(t, "mad.wide." + type, type[0]);
}

}  // namespace

void add_integer(Table& t) {
  of_type<uint16_t>(t, "u16");
  of_type<int16_t>(t, "s16");
  of_type<uint32_t>(t, "u32");
  of_type<int32_t>(t, "s32");
  of_type<uint64_t>(t, "u64");
  of_type<int64_t>(t, "s64");
  widening<uint16_t>(t, "u16");
  widening<int16_t>(t, "s16");
  widening<uint32_t>(t, "u32");
  widening<int32_t>(t, "s32");
  put<AddSat, int32_t, int32_t, int32_t>(t, "add.sat.s32", 's');
  put<SubSat, int32_t, int32_t, int32_t>(t, "sub.sat.s32", 's');
  put<Dot4<uint8_t, uint8_t>, uint32_t, uint32_t, uint32_t, uint32_t>(t, "dp4a.u32.u32", 'u');
  put<Dot4<uint8_t, int8_t>, int32_t, uint32_t, uint32_t, int32_t>(t, "dp4a.u32.s32", 's');
  put<Dot4<int8_t, uint8_t>, int32_t, uint32_t, uint32_t, int32_t>(t, "dp4a.s32.u32", 's');
  put<Dot4<int8_t, int8_t>, int32_t, uint32_t, uint32_t, int32_t>(t, "dp4a.s32.s32", 's');
}

}  // namespace fake
