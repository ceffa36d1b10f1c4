// float.cc is arithmetic on floats. rn is the host's own rounding; the approximations
// are computed exactly and rounded, so they never match a GPU bit for bit.
#include <cmath>
#include <limits>

#include "lanes.h"

namespace fake {

namespace {

struct Add { template <class T> static T of(T a, T b) { return a + b; } };
struct Sub { template <class T> static T of(T a, T b) { return a - b; } };
struct Mul { template <class T> static T of(T a, T b) { return a * b; } };
struct Div { template <class T> static T of(T a, T b) { return a / b; } };
struct Fma {
  static float of(float a, float b, float c) { return __builtin_fmaf(a, b, c); }
  static double of(double a, double b, double c) { return __builtin_fma(a, b, c); }
};
// min and max return the number when one is not a number, and order the zeros.
template <class T> T lesser(T a, T b) {
  if (a != a) return b;
  if (b != b) return a;
  return a < b || (a == b && std::signbit(a)) ? a : b;
}
struct Min { template <class T> static T of(T a, T b) { return lesser(a, b); } };
struct Max { template <class T> static T of(T a, T b) { return -lesser(-a, -b); } };
struct MinNan { static float of(float a, float b) { return a != a || b != b ? NAN : lesser(a, b); } };
struct MaxNan { static float of(float a, float b) { return a != a || b != b ? NAN : -lesser(-a, -b); } };
struct Neg { template <class T> static T of(T a) { return -a; } };
struct Abs { template <class T> static T of(T a) { return std::fabs(a); } };
struct Sqrt { template <class T> static T of(T a) { return std::sqrt(a); } };
struct Rcp { template <class T> static T of(T a) { return T(1) / a; } };
struct Rsqrt {
  template <class T>
  static T of(T a) {
    return static_cast<T>(1.0 / std::sqrt(static_cast<double>(a)));
  }
};
struct Sin { static float of(float a) { return std::sin(a); } };
struct Cos { static float of(float a) { return std::cos(a); } };
struct Tanh { static float of(float a) { return std::tanh(a); } };
struct CopySign { template <class T> static T of(T a, T b) { return std::copysign(b, a); } };

// 2^a: the integer part goes into the exponent, the rest by the series of e^x, whose
// error for |x| <= ln(2)/2 is below 1e-9: under float's rounding. Written so that the
// compiler makes vectors of it.
struct Ex2 {
  static float of(float a) {
    float bounded = a < -160.0f ? -160.0f : a > 130.0f ? 130.0f : a;
    bounded = bounded == bounded ? bounded : 0.0f;
    double whole = __builtin_floor(static_cast<double>(bounded) + 0.5);
    double x = (bounded - whole) * 0.69314718055994530942;
    double p = 1.0 / 40320;
    p = p * x + 1.0 / 5040, p = p * x + 1.0 / 720, p = p * x + 1.0 / 120, p = p * x + 1.0 / 24;
    p = p * x + 1.0 / 6, p = p * x + 0.5, p = p * x + 1.0, p = p * x + 1.0;
    int64_t bits = (static_cast<int64_t>(static_cast<int32_t>(whole)) + 1023) << 52;
    double scale;
    __builtin_memcpy(&scale, &bits, 8);
    return a == a ? static_cast<float>(p * scale) : a;
  }
};
struct Lg2 { static float of(float a) { return static_cast<float>(std::log2(static_cast<double>(a))); } };

inline float flushed(float a) { return std::fabs(a) < std::numeric_limits<float>::min() ? std::copysign(0.0f, a) : a; }

// Flush is F with .ftz: subnormal arguments and results are zeros.
template <class F> struct Flush {
  template <class... A> static float of(A... a) { return flushed(F::of(flushed(a)...)); }
};
// Saturate is F with .sat: the result lies in [0, 1] and is 0 where it is not a number.
template <class F> struct Saturate {
  template <class... A> static float of(A... a) {
    float r = F::of(a...);
    return r > 0.0f ? (r < 1.0f ? r : 1.0f) : 0.0f;
  }
};

template <class F, class... A>
void with_flush(Table& t, const std::string& head, const std::string& tail) {
  put<F, float, A...>(t, head + tail, 'f');
  put<Flush<F>, float, A...>(t, head + ".ftz" + tail, 'f');
}

// The same opcode with and without .rn, .ftz and .sat.
template <class F, class... A>
void arithmetic(Table& t, const std::string& name, bool bare) {
  for (std::string head : {name, name + ".rn"}) {
    if (head == name && !bare) continue;
    with_flush<F, A...>(t, head, ".f32");
    with_flush<Saturate<F>, A...>(t, head, ".sat.f32");
  }
}

void of_f64(Table& t) {
  for (std::string rn : {"", ".rn"}) {
    put<Add, double, double, double>(t, "add" + rn + ".f64", 'f');
    put<Sub, double, double, double>(t, "sub" + rn + ".f64", 'f');
    put<Mul, double, double, double>(t, "mul" + rn + ".f64", 'f');
  }
  put<Fma, double, double, double, double>(t, "fma.rn.f64", 'f');
  put<Fma, double, double, double, double>(t, "mad.rn.f64", 'f');
  put<Div, double, double, double>(t, "div.rn.f64", 'f');
  put<Rcp, double, double>(t, "rcp.rn.f64", 'f');
  put<Sqrt, double, double>(t, "sqrt.rn.f64", 'f');
  put<Rcp, double, double>(t, "rcp.approx.ftz.f64", 'f');
  put<Rsqrt, double, double>(t, "rsqrt.approx.f64", 'f');
  put<Min, double, double, double>(t, "min.f64", 'f');
  put<Max, double, double, double>(t, "max.f64", 'f');
  put<Neg, double, double>(t, "neg.f64", 'f');
  put<Abs, double, double>(t, "abs.f64", 'f');
  put<CopySign, double, double, double>(t, "copysign.f64", 'f');
}

}  // namespace

void add_float(Table& t) {
  arithmetic<Add, float, float>(t, "add", true);
  arithmetic<Sub, float, float>(t, "sub", true);
  arithmetic<Mul, float, float>(t, "mul", true);
  arithmetic<Fma, float, float, float>(t, "fma", false);
  arithmetic<Fma, float, float, float>(t, "mad", false);
  for (std::string how : {".rn", ".approx", ".full"}) with_flush<Div, float, float>(t, "div" + how, ".f32");
  for (std::string how : {".rn", ".approx"}) {
    with_flush<Rcp, float>(t, "rcp" + how, ".f32");
    with_flush<Sqrt, float>(t, "sqrt" + how, ".f32");
  }
  with_flush<Rsqrt, float>(t, "rsqrt.approx", ".f32");
  with_flush<Ex2, float>(t, "ex2.approx", ".f32");
  with_flush<Lg2, float>(t, "lg2.approx", ".f32");
  with_flush<Sin, float>(t, "sin.approx", ".f32");
  with_flush<Cos, float>(t, "cos.approx", ".f32");
  put<Tanh, float, float>(t, "tanh.approx.f32", 'f');
  with_flush<Min, float, float>(t, "min", ".f32");
  with_flush<Max, float, float>(t, "max", ".f32");
  with_flush<MinNan, float, float>(t, "min", ".NaN.f32");
  with_flush<MaxNan, float, float>(t, "max", ".NaN.f32");
  with_flush<Neg, float>(t, "neg", ".f32");
  with_flush<Abs, float>(t, "abs", ".f32");
  put<CopySign, float, float, float>(t, "copysign.f32", 'f');
  of_f64(t);
}

}  // namespace fake
