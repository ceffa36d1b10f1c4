// engine_arithmetic_test.cc compares opcodes with the host: each runs on random values
// and edges in all lanes, and again in some lanes only.
#include <cmath>
#include <limits>

#include "engine_test.h"

namespace fake_test {

namespace {

constexpr uint32_t kValues = 1024;

// Given types are not deduced from arguments.
template <class T> struct GivenType { using type = T; };
template <class T> using Given = typename GivenType<T>::type;

template <class T> struct Name;
template <>
struct Name<uint16_t> {
  static std::string reg() { return "%h"; }
  static std::string type() { return "u16"; }
};
template <> struct Name<int16_t> : Name<uint16_t> {};
template <>
struct Name<uint32_t> {
  static std::string reg() { return "%r"; }
  static std::string type() { return "u32"; }
};
template <> struct Name<int32_t> : Name<uint32_t> {};
template <>
struct Name<uint64_t> {
  static std::string reg() { return "%d"; }
  static std::string type() { return "u64"; }
};
template <> struct Name<int64_t> : Name<uint64_t> {};
template <>
struct Name<float> {
  static std::string reg() { return "%f"; }
  static std::string type() { return "f32"; }
};
template <>
struct Name<double> {
  static std::string reg() { return "%g"; }
  static std::string type() { return "f64"; }
};

template <class T>
T value() {
  uint64_t r = draw(), kind = draw() % 8;
  if constexpr (std::is_floating_point_v<T>) {
    static const T edges[] = {0,
                              T(-0.0),
                              1,
                              -1,
                              T(0.5),
                              T(1e-30),
                              T(1e30),
                              std::numeric_limits<T>::infinity(),
                              std::numeric_limits<T>::quiet_NaN()};
    if (kind == 0) return edges[r % 9];
    return static_cast<T>((static_cast<double>(r >> 11) / 9007199254740992.0 - 0.5) * (kind < 4 ? 4 : 1000));
  } else {
    static const uint64_t edges[] = {0, 1, 2, ~0ull, 1ull << 15, 1ull << 31, 1ull << 63, 31, 32, 33, 64};
    if (kind == 0) return static_cast<T>(edges[r % 11]);
    return static_cast<T>(kind < 4 ? r % 100 : r);
  }
}

template <class T>
bool same(T a, T b, double tolerance) {
  if (a != a && b != b) return true;
  if (std::memcmp(&a, &b, sizeof a) == 0) return true;
  if constexpr (std::is_floating_point_v<T>) return tolerance > 0 && std::fabs(a - b) <= tolerance * std::fabs(b);
  return false;
}

std::string access(const char* verb, const std::string& type, const std::string& reg, const char* base, size_t bytes) {
  std::string address = std::string("mad.lo.u64 %d9, %i, ") + std::to_string(bytes) + ", " + base + ";\n";
  std::string memory = "[%d9]";
  return address + verb + ".global." + type + " " + (verb[0] == 'l' ? reg + ", " + memory : memory + ", " + reg) +
         ";\n";
}

template <class R, class... A, size_t... I>
void run_one(const std::string& opcode, Given<std::function<R(A...)>> host, double tolerance, bool some,
             std::index_sequence<I...>) {
  static const char* bases[] = {"%p1", "%p2", "%p3", "%d8"};
  std::tuple<std::vector<A>...> in{std::vector<A>(kValues)...};
  for (uint32_t i = 0; i < kValues; i++) ((std::get<I>(in)[i] = value<A>()), ...);
  Device device;
  std::vector<uint64_t> parameters{device.add(std::vector<R>(kValues + 1)), device.add(std::get<I>(in))...};
  const R* out = Device::at<R>(parameters[0]);
  std::string operands = Name<R>::reg() + "0", loads, guard;
  ((loads += access("ld", Name<A>::type(), Name<A>::reg() + std::to_string(I + 1), bases[I], sizeof(A))), ...);
  ((operands += ", " + Name<A>::reg() + std::to_string(I + 1)), ...);
  if (some) guard = "and.b32 %r20, %t, 3; setp.eq.u32 %b1, %r20, 1; @%b1 ";
  std::string zero = "mov.b" + std::to_string(8 * sizeof(R)) + " " + operands.substr(0, 3) + ", " +
                     (std::is_same_v<R, float>    ? "0f00000000"
                      : std::is_same_v<R, double> ? "0d0000000000000000"
                                                  : "0") +
                     ";\n";
  std::string fourth = sizeof...(A) > 3 ? "mov.u64 %d8, " + std::to_string(parameters.back()) + ";\n" : "";
  parameters.resize(4);
  fake::Fault fault = launch(module_of(fourth + loads + zero + guard + opcode + " " + operands + ";\n" +
                                       access("st", Name<R>::type(), Name<R>::reg() + "0", "%p0", sizeof(R))),
                             device, parameters, {kValues / 128, 128});
  check(fault.code == 0, opcode + ": " + fault.text);
  for (uint32_t i = 0; i < kValues; i++) {
    R want = some && i % 4 != 1 ? R(0) : host(std::get<I>(in)[i]...);
    if (same(out[i], want, tolerance)) continue;
    return check(false, opcode + (some ? " in some lanes" : "") + ", value " + std::to_string(i) + ": " +
                            std::to_string(out[i]) + " and not " + std::to_string(want));
  }
}

template <class R, class... A>
void expect(const std::string& opcode, Given<std::function<R(A...)>> host, double tolerance = 0) {
  run_one<R, A...>(opcode, host, tolerance, false, std::index_sequence_for<A...>{});
  run_one<R, A...>(opcode, host, tolerance, true, std::index_sequence_for<A...>{});
}

using u16 = uint16_t;
using i16 = int16_t;
using u32 = uint32_t;
using i32 = int32_t;
using u64 = uint64_t;
using i64 = int64_t;

void integers() {
  expect<i32, i32, i32>("add.s32", [](i32 a, i32 b) { return i32(u32(a) + u32(b)); });
  expect<u64, u64, u64>("add.s64", [](u64 a, u64 b) { return a + b; });
  expect<u16, u16, u16>("sub.s16", [](u16 a, u16 b) { return u16(a - b); });
  expect<u32, u32, u32>("mul.lo.s32", [](u32 a, u32 b) { return a * b; });
  expect<u16, u16, u16>("mul.lo.s16", [](u16 a, u16 b) { return u16(u32(a) * b); });
  expect<u32, u32, u32>("mul.hi.u32", [](u32 a, u32 b) { return u32(u64(a) * b >> 32); });
  expect<i32, i32, i32>("mul.hi.s32", [](i32 a, i32 b) { return i32(i64(a) * b >> 32); });
  expect<u64, u64, u64>("mul.hi.u64", [](u64 a, u64 b) { return u64((unsigned __int128)a * b >> 64); });
  expect<i64, i32, i32>("mul.wide.s32", [](i32 a, i32 b) { return i64(a) * b; });
  expect<u64, u32, u32>("mul.wide.u32", [](u32 a, u32 b) { return u64(a) * b; });
  expect<u32, u16, u16>("mul.wide.u16", [](u16 a, u16 b) { return u32(a) * b; });
  expect<u32, u32, u32, u32>("mad.lo.s32", [](u32 a, u32 b, u32 c) { return a * b + c; });
  expect<i64, i32, i32, i64>("mad.wide.s32", [](i32 a, i32 b, i64 c) { return i64(u64(i64(a) * b) + u64(c)); });
  expect<u32, u32, u32>("div.u32", [](u32 a, u32 b) { return b ? a / b : ~0u; });
  expect<i32, i32, i32>("div.s32", [](i32 a, i32 b) { return b == 0 ? -1 : b == -1 ? i32(-u32(a)) : a / b; });
  expect<u64, u64, u64>("rem.u64", [](u64 a, u64 b) { return b ? a % b : a; });
  expect<i64, i64, i64>("rem.s64", [](i64 a, i64 b) { return b == 0 ? a : b == -1 ? 0 : a % b; });
  expect<i32, i32, i32>("min.s32", [](i32 a, i32 b) { return a < b ? a : b; });
  expect<u32, u32, u32>("max.u32", [](u32 a, u32 b) { return a > b ? a : b; });
  expect<i32, i32>("abs.s32", [](i32 a) { return a < 0 ? i32(-u32(a)) : a; });
  expect<i64, i64>("neg.s64", [](i64 a) { return i64(-u64(a)); });
  expect<i32, u32, u32, i32>("dp4a.s32.s32", [](u32 a, u32 b, i32 c) {
    for (int k = 0; k < 32; k += 8) c = i32(u32(c) + u32(int8_t(a >> k) * int8_t(b >> k)));
    return c;
  });
}

void bits() {
  expect<u32, u32, u32>("xor.b32", [](u32 a, u32 b) { return a ^ b; });
  expect<u64, u64, u64>("and.b64", [](u64 a, u64 b) { return a & b; });
  expect<u16, u16, u16>("or.b16", [](u16 a, u16 b) { return u16(a | b); });
  expect<u16, u16>("not.b16", [](u16 a) { return u16(~a); });
  expect<u32, u32, u32>("shl.b32", [](u32 a, u32 n) { return n < 32 ? a << n : 0; });
  expect<u64, u64, u32>("shr.u64", [](u64 a, u32 n) { return n < 64 ? a >> n : 0; });
  expect<i32, i32, u32>("shr.s32", [](i32 a, u32 n) { return a >> (n < 32 ? n : 31); });
  expect<u16, u16, u32>("shr.u16", [](u16 a, u32 n) { return u16(n < 16 ? a >> n : 0); });
  expect<u32, u64>("popc.b64", [](u64 a) { return u32(__builtin_popcountll(a)); });
  expect<u32, u32>("clz.b32", [](u32 a) { return a ? u32(__builtin_clz(a)) : 32; });
  expect<u32, i32>("bfind.s32", [](i32 a) {
    u32 b = u32(a < 0 ? ~a : a);
    return b ? 31 - u32(__builtin_clz(b)) : ~0u;
  });
  expect<u32, u32>("brev.b32", [](u32 a) {
    u32 r = 0;
    for (int k = 0; k < 32; k++) r |= (a >> k & 1) << (31 - k);
    return r;
  });
  expect<u32, u32, u32, u32>("bfe.u32", [](u32 a, u32 p, u32 n) {
    u32 r = 0;
    for (u32 k = 0; k < (n & 255) && k < 32; k++) r |= ((p & 255) + k < 32 ? a >> ((p & 255) + k) & 1 : 0) << k;
    return r;
  });
  expect<i32, i32, u32, u32>("bfe.s32", [](i32 a, u32 p, u32 n) {
    p &= 255, n &= 255;
    if (n == 0) return 0;
    u32 r = 0, sign = u32(a) >> (p + n - 1 < 31 ? p + n - 1 : 31) & 1;
    for (u32 k = 0; k < 32; k++) r |= (k < n && p + k < 32 ? u32(a) >> (p + k) & 1 : sign) << k;
    return i32(r);
  });
  expect<u32, u32, u32, u32, u32>("bfi.b32", [](u32 a, u32 b, u32 p, u32 n) {
    p &= 255, n &= 255;
    for (u32 k = 0; k < n && p + k < 32; k++) b = (b & ~(1u << (p + k))) | ((k < 32 ? a >> k & 1 : 0) << (p + k));
    return b;
  });
  expect<u32, u32, u32, u32>("prmt.b32", [](u32 a, u32 b, u32 c) {
    u32 r = 0;
    for (int k = 0; k < 4; k++) {
      u32 s = c >> 4 * k & 15, byte = ((s & 4 ? b : a) >> 8 * (s & 3)) & 255;
      r |= (s & 8 ? (byte & 128 ? 255u : 0u) : byte) << 8 * k;
    }
    return r;
  });
  expect<u32, u32, u32, u32>("shf.l.wrap.b32", [](u32 a, u32 b, u32 c) {
    c &= 31;
    return c ? b << c | a >> (32 - c) : b;
  });
  expect<u32, u32, u32, u32>("shf.r.clamp.b32", [](u32 a, u32 b, u32 c) {
    return c >= 32 ? b : c ? a >> c | b << (32 - c) : a;
  });
  expect<u32, u32, u32, i32>("slct.u32.s32", [](u32 a, u32 b, i32 c) { return c >= 0 ? a : b; });
}

void floats() {
  expect<float, float, float>("add.rn.f32", [](float a, float b) { return a + b; });
  expect<float, float, float>("sub.f32", [](float a, float b) { return a - b; });
  expect<float, float, float>("mul.f32", [](float a, float b) { return a * b; });
  expect<float, float, float, float>("fma.rn.f32", [](float a, float b, float c) { return std::fma(a, b, c); });
  expect<double, double, double, double>("fma.rn.f64", [](double a, double b, double c) { return std::fma(a, b, c); });
  expect<float, float, float>("div.rn.f32", [](float a, float b) { return a / b; });
  expect<float, float, float>("div.full.f32", [](float a, float b) { return a / b; }, 1e-6);
  expect<double, double, double>("div.rn.f64", [](double a, double b) { return a / b; });
  expect<float, float, float>(
      "max.f32", [](float a, float b) { return std::fmax(a, b) == 0 && a == b ? a + b : std::fmax(a, b); });
  expect<double, double, double>("min.f64",
                                 [](double a, double b) { return a == 0 && b == 0 ? -(-a + -b) : std::fmin(a, b); });
  expect<float, float, float>("min.NaN.f32", [](float a, float b) {
    return a != a || b != b ? NAN : a == 0 && b == 0 ? -(-a + -b) : std::fmin(a, b);
  });
  expect<float, float>("neg.f32", [](float a) { return -a; });
  expect<float, float>("abs.f32", [](float a) { return std::fabs(a); });
  expect<float, float>("sqrt.rn.f32", [](float a) { return std::sqrt(a); });
  expect<float, float>("rcp.approx.ftz.f32", [](float a) { return 1 / a; }, 1e-6);
  expect<float, float>("rsqrt.approx.f32", [](float a) { return float(1 / std::sqrt(double(a))); }, 1e-6);
  expect<float, float>("ex2.approx.f32", [](float a) { return std::exp2(a); }, 1e-6);
  expect<float, float>("ex2.approx.ftz.f32", [](float a) { return std::exp2(a) < 1.2e-38f ? 0 : std::exp2(a); }, 1e-6);
  expect<float, float>("lg2.approx.f32", [](float a) { return std::log2(a); }, 1e-6);
  expect<float, float>("sin.approx.f32", [](float a) { return std::sin(a); }, 1e-6);
  expect<float, float>("cos.approx.f32", [](float a) { return std::cos(a); }, 1e-6);
  expect<float, float, float>("copysign.f32", [](float a, float b) { return std::copysign(b, a); });
}

// Comparisons become values by selp, so that expect can see them.
template <class T>
void comparison(const std::string& compare, const std::string& type, std::function<bool(T, T)> host) {
  std::string reg = Name<T>::reg();
  std::string opcode = "setp." + compare + "." + type + " %b3, " + reg + "1, " + reg + "2; selp.u32";
  Device device;
  std::vector<T> a(kValues), b(kValues);
  for (uint32_t i = 0; i < kValues; i++) a[i] = value<T>(), b[i] = draw() % 4 ? value<T>() : a[i];
  std::vector<uint64_t> parameters{device.add(std::vector<uint32_t>(kValues)), device.add(a), device.add(b), 0};
  std::string body = access("ld", Name<T>::type(), reg + "1", "%p1", sizeof(T)) +
                     access("ld", Name<T>::type(), reg + "2", "%p2", sizeof(T));
  body += "and.b32 %r4, %t, 1; setp.ne.u32 %b4, %r4, 0;\n";
  body += "setp." + compare + ".and." + type + " %b3|%b5, " + reg + "1, " + reg + "2, %b4;\n";
  body += "selp.b32 %r1, 2, 0, %b3; selp.b32 %r2, 1, 0, %b5; add.u32 %r1, %r1, %r2;\n" +
          access("st", "u32", "%r1", "%p0", 4);
  fake::Fault fault = launch(module_of(body), device, parameters, {kValues / 128, 128});
  check(fault.code == 0, opcode + ": " + fault.text);
  for (uint32_t i = 0; i < kValues; i++) {
    uint32_t want = i % 2 == 0 ? 0 : host(a[i], b[i]) ? 2 : 1;
    if (Device::at<uint32_t>(parameters[0])[i] != want)
      return check(false,
                   "setp." + compare + "." + type + " of " + std::to_string(a[i]) + " and " + std::to_string(b[i]));
  }
}

void comparisons() {
  comparison<i32>("lt", "s32", [](i32 a, i32 b) { return a < b; });
  comparison<u32>("lt", "u32", [](u32 a, u32 b) { return a < b; });
  comparison<u32>("hs", "u32", [](u32 a, u32 b) { return a >= b; });
  comparison<i64>("ge", "s64", [](i64 a, i64 b) { return a >= b; });
  comparison<u16>("eq", "b16", [](u16 a, u16 b) { return a == b; });
  comparison<i16>("gt", "s16", [](i16 a, i16 b) { return a > b; });
  comparison<float>("lt", "f32", [](float a, float b) { return a < b; });
  comparison<float>("ne", "f32", [](float a, float b) { return a < b || a > b; });
  comparison<float>("neu", "f32", [](float a, float b) { return !(a == b); });
  comparison<float>("geu", "f32", [](float a, float b) { return !(a < b); });
  comparison<double>("nan", "f64", [](double a, double b) { return a != a || b != b; });
  comparison<double>("leu", "f64", [](double a, double b) { return !(a > b); });
}

}  // namespace

void test_arithmetic() {
  integers();
  bits();
  floats();
  comparisons();
}

}  // namespace fake_test
