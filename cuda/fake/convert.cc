// convert.cc is cvt: every type to every other, and the rounding that PTX allows for
// each pair.
#include <cmath>
#include <cstring>
#include <limits>
#include <type_traits>

#include "lanes.h"

namespace fake {

namespace {

// Lane gives the register that holds a type: bytes lie in 16 bits.
template <class T> struct LaneOf { using type = T; };
template <> struct LaneOf<uint8_t> { using type = uint16_t; };
template <> struct LaneOf<int8_t> { using type = int16_t; };
template <class T> using Lane = typename LaneOf<T>::type;

enum class How { kNone, kNearest, kZero, kDown, kUp };

template <How how, class F>
inline F whole(F a) {
  if constexpr (how == How::kNearest) return std::nearbyint(a);
  if constexpr (how == How::kZero) return std::trunc(a);
  if constexpr (how == How::kDown) return std::floor(a);
  if constexpr (how == How::kUp) return std::ceil(a);
  return a;
}

// A float outside of an integer's range becomes the nearest one, and what is not a
// number becomes 0, as on a GPU for up to 32 bits.
template <class To, class F>
inline To bounded(F a) {
  constexpr F most = static_cast<F>(std::numeric_limits<To>::max()),
              least = static_cast<F>(std::numeric_limits<To>::min());
  if (!(a == a)) return 0;
  if (a >= most) return std::numeric_limits<To>::max();
  if (a <= least) return std::numeric_limits<To>::min();
  return static_cast<To>(a);
}

// Half has no standard functions: it is rounded through float.
template <class F> using Wide = std::conditional_t<std::is_same_v<F, Half>, float, F>;
template <class T> constexpr bool is_float = std::is_floating_point_v<T> || std::is_same_v<T, Half>;

template <class To, class From, How how, bool saturate>
struct Cvt {
  static Lane<To> of(Lane<From> lane) {
    From a = static_cast<From>(lane);
    if constexpr (is_float<To> && is_float<From>) {
      Wide<From> r = whole<how>(static_cast<Wide<From>>(a));
      if constexpr (saturate) r = r > 0 ? (r < 1 ? r : 1) : 0;
      return static_cast<To>(r);
    } else if constexpr (is_float<From>) {
      return static_cast<Lane<To>>(bounded<To>(whole<how>(static_cast<Wide<From>>(a))));
    } else if constexpr (is_float<To>) {
      return static_cast<To>(a);
    } else if constexpr (saturate) {
      using Limits = std::numeric_limits<To>;
      __int128 wide = a, most = Limits::max(), least = Limits::min();
      return static_cast<Lane<To>>(wide > most ? most : wide < least ? least : wide);
    } else {
      return static_cast<Lane<To>>(static_cast<To>(a));
    }
  }
};

template <class To, class From>
struct FlushedCvt {
  static To of(From a) {
    return std::fabs(a) < std::numeric_limits<float>::min() ? std::copysign(To(0), static_cast<To>(a))
                                                            : static_cast<To>(a);
  }
};

// Tf32 keeps 10 bits of the fraction: to nearest, ties to even or away from zero.
template <bool even>
struct Tf32 {
  static uint32_t of(float a) {
    uint32_t bits;
    std::memcpy(&bits, &a, 4);
    const uint32_t half = even ? 0xfffu + (bits >> 13 & 1) : 0x1000u;
    return a != a ? 0x7fffffffu : (bits & 0x7f800000u) == 0x7f800000u ? bits : (bits + half) & ~0x1fffu;
  }
};

template <class To, class From, How how>
Run rounded(bool saturate) {
  return saturate ? map<Cvt<To, From, how, true>, Lane<To>, Lane<From>>
                  : map<Cvt<To, From, how, false>, Lane<To>, Lane<From>>;
}

// Integers need i roundings of floats; floats of one size take none or an i; floats
// that grow take none, and those that shrink, or come from integers, rn.
template <class To, class From>
Run chosen(const std::string& how, bool saturate) {
  constexpr bool grows = sizeof(To) > sizeof(From);
  if constexpr (!is_float<From> && !is_float<To>) {
    return how.empty() ? rounded<To, From, How::kNone>(saturate) : nullptr;
  } else if constexpr (is_float<To> && (!is_float<From> || sizeof(To) < sizeof(From))) {
    return how == "rn" ? rounded<To, From, How::kNone>(saturate) : nullptr;
  } else {
    if (how.empty() && is_float<To>) return rounded<To, From, How::kNone>(saturate);
    if (grows && is_float<To>) return nullptr;
    if (how == "rni") return rounded<To, From, How::kNearest>(saturate);
    if (how == "rzi") return rounded<To, From, How::kZero>(saturate);
    if (how == "rmi") return rounded<To, From, How::kDown>(saturate);
    if (how == "rpi") return rounded<To, From, How::kUp>(saturate);
    return nullptr;
  }
}

template <class To>
Run from(Type type, const std::string& how, bool saturate) {
  if (type.kind == 'f') {
    return type.bits == 16 ? chosen<To, Half>(how, saturate)
         : type.bits == 32 ? chosen<To, float>(how, saturate) : chosen<To, double>(how, saturate);
  }
  bool sign = type.kind == 's';
  switch (type.bits) {
    case 8: return sign ? chosen<To, int8_t>(how, saturate) : chosen<To, uint8_t>(how, saturate);
    case 16: return sign ? chosen<To, int16_t>(how, saturate) : chosen<To, uint16_t>(how, saturate);
    case 32: return sign ? chosen<To, int32_t>(how, saturate) : chosen<To, uint32_t>(how, saturate);
    default: return sign ? chosen<To, int64_t>(how, saturate) : chosen<To, uint64_t>(how, saturate);
  }
}

template <class To, class From> struct Resize { static To of(From a) { return static_cast<To>(a); } };

template <class To>
Run resized(int from, bool sign) {
  switch (from) {
    case 2: return sign ? map<Resize<To, int16_t>, To, int16_t> : map<Resize<To, uint16_t>, To, uint16_t>;
    case 4: return sign ? map<Resize<To, int32_t>, To, int32_t> : map<Resize<To, uint32_t>, To, uint32_t>;
    default: return map<Resize<To, uint64_t>, To, uint64_t>;
  }
}

}  // namespace

Run conversion(Type to, Type type, const std::string& how, bool saturate, bool flush) {
  if (to.kind == 'b' || type.kind == 'b' || to.kind == 'p' || type.kind == 'p') return nullptr;
  bool both = to.kind == 'f' && type.kind == 'f';
  if (flush && both && to.bits == 32 && type.bits == 32 && how.empty() && !saturate)
    return map<FlushedCvt<float, float>, float, float>;
  if (flush && both && to.bits == 64 && type.bits == 32 && how.empty() && !saturate)
    return map<FlushedCvt<double, float>, double, float>;
  // Elsewhere a subnormal float is rounded to a whole number, 0 or 1 by direction:
  // only up and down could tell it from zero.
  if (flush && (both ? type.bits != 32 : to.kind == 'f') && to.kind == 'f') return nullptr;
  if (flush && (how == "rmi" || how == "rpi")) return nullptr;
  if (to.kind == 'f') {
    return to.bits == 16 ? from<Half>(type, how, saturate)
         : to.bits == 32 ? from<float>(type, how, saturate) : from<double>(type, how, saturate);
  }
  bool sign = to.kind == 's';
  switch (to.bits) {
    case 8: return sign ? from<int8_t>(type, how, saturate) : from<uint8_t>(type, how, saturate);
    case 16: return sign ? from<int16_t>(type, how, saturate) : from<uint16_t>(type, how, saturate);
    case 32: return sign ? from<int32_t>(type, how, saturate) : from<uint32_t>(type, how, saturate);
    default: return sign ? from<int64_t>(type, how, saturate) : from<uint64_t>(type, how, saturate);
  }
}

Run to_tf32(bool even) { return even ? map<Tf32<true>, uint32_t, float> : map<Tf32<false>, uint32_t, float>; }

Run resize(int to_bytes, int from_bytes, bool is_signed) {
  switch (to_bytes) {
    case 2: return resized<uint16_t>(from_bytes, is_signed);
    case 4: return resized<uint32_t>(from_bytes, is_signed);
    default: return resized<uint64_t>(from_bytes, is_signed);
  }
}

}  // namespace fake
