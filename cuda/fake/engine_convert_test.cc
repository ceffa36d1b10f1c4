// engine_convert_test.cc compares cvt and the widths of loads and stores with the host.
#include <cmath>

#include "engine_test.h"
#include "lanes.h"

namespace fake_test {

namespace {

template <class To, class From>
void convert(const std::string& opcode, const std::string& load, const std::string& store, const std::string& to,
             const std::string& from, std::function<To(From)> host) {
  constexpr uint32_t n = 256;
  std::vector<From> in(n);
  for (uint32_t i = 0; i < n; i++) {
    uint64_t r = draw();
    if constexpr (std::is_floating_point_v<From>) {
      in[i] = i < 8    ? From(i) / 2 - 2
              : i == 8 ? From(NAN)
                       : From((double(r >> 11) / 9007199254740992.0 - 0.5) * (i % 3 ? 600 : 1e11));
    } else {
      in[i] = static_cast<From>(i % 3 ? r % 300 : r);
    }
  }
  Device device;
  std::vector<uint64_t> p{device.add(std::vector<To>(n)), device.add(in), 0, 0};
  std::string body = "mad.lo.u64 %d1, %i, " + std::to_string(sizeof(From)) + ", %p1; mad.lo.u64 %d2, %i, " +
                     std::to_string(sizeof(To)) + ", %p0;\n";
  body += "ld.global." + load + " " + from + ", [%d1]; " + opcode + " " + to + ", " + from + "; st.global." + store +
          " [%d2], " + to + ";\n";
  fake::Fault fault = launch(module_of(body), device, p, {n / 64, 64});
  check(fault.code == 0, opcode + ": " + fault.text);
  for (uint32_t i = 0; i < n; i++) {
    To got = Device::at<To>(p[0])[i], want = host(in[i]);
    if (std::memcmp(&got, &want, sizeof got) == 0 || (got != got && want != want)) continue;
    return check(false, opcode + " of " + std::to_string(in[i]) + ": " + std::to_string(got) + " and not " +
                            std::to_string(want));
  }
}

// limited is a float as an integer, the nearest where it is outside.
template <class To, class From>
To limited(From a) {
  if (a != a) return 0;
  if (a >= From(std::numeric_limits<To>::max())) return std::numeric_limits<To>::max();
  if (a <= From(std::numeric_limits<To>::min())) return std::numeric_limits<To>::min();
  return static_cast<To>(a);
}

// all_halves has every half as a float, by the definition: (-1)^s 2^(e-25) (1024 + f).
std::vector<float> all_halves() {
  std::vector<float> all(1 << 16);
  for (uint32_t h = 0; h < all.size(); h++) {
    int e = h >> 10 & 31, f = h & 1023;
    double v = e == 31 ? (f ? NAN : INFINITY) : std::ldexp(e ? 1024 + f : f, (e ? e : 1) - 25);
    all[h] = static_cast<float>(h >> 15 ? -v : v);
  }
  return all;
}

// test_halves reads all 65,536 halves, stores them again, and rounds what lies between two neighbours: halfway to the
// even one, on either side to the nearer.
void test_halves() {
  const std::vector<float> want = all_halves();
  std::vector<uint16_t> halves(want.size());
  std::vector<float> between(4 * want.size());
  for (uint32_t h = 0; h < want.size(); h++) {
    halves[h] = static_cast<uint16_t>(h);
    const bool last = (h & 0x7fff) >= 0x7bff;  // the largest that is finite, and those that are not
    const float a = want[h], middle = last ? a : (a + want[h + 1]) / 2;
    const float away = std::copysign(INFINITY, middle), of[] = {a, middle, std::nextafter(middle, 0.0f), last ? a : std::nextafter(middle, away)};
    std::copy(of, of + 4, &between[4 * h]);
  }
  Device device;
  std::vector<uint64_t> p{device.add(std::vector<float>(want.size())), device.add(halves),
                          device.add(std::vector<uint16_t>(between.size())), device.add(between)};
  std::string body =
      "mad.lo.u64 %d1, %i, 2, %p1; mad.lo.u64 %d2, %i, 4, %p0; ld.relaxed.sys.global.b16 %h1, [%d1]; cvt.f32.f16 %f1, %h1; "
      "st.global.f32 [%d2], %f1; mad.lo.u64 %d3, %i, 8, %p2; mad.lo.u64 %d4, %i, 16, %p3;\n";
  for (int n : {0, 1}) {
    const std::string from = std::to_string(8 * n), to = std::to_string(4 * n);
    body += "ld.global.v2.f32 {%f1, %f2}, [%d4+" + from + "]; cvt.rn.f16.f32 %h1, %f1; cvt.rn.f16.f32 %h2, %f2; "
            "mov.b32 %r1, {%h1, %h2}; st.relaxed.sys.global.b32 [%d3+" + to + "], %r1;\n";
  }
  fake::Fault fault = launch(module_of(body), device, p, {static_cast<uint32_t>(want.size() / 64), 64});
  check(fault.code == 0, "halves: " + fault.text);
  for (uint32_t h = 0; h < want.size(); h++) {
    const float got = Device::at<float>(p[0])[h];
    const uint16_t* back = Device::at<uint16_t>(p[2]) + 4 * h;
    const bool nan = want[h] != want[h], last = (h & 0x7fff) >= 0x7bff;
    const uint32_t next = last ? h : h + 1;
    if (nan ? got == got || (back[0] & 0x7fff) <= 0x7c00
            : std::memcmp(&got, &want[h], sizeof got) || back[0] != h || back[1] != (last ? h : h + (h & 1)) ||
                  back[2] != h || back[3] != next) {
      return check(false, "half " + std::to_string(h) + " is " + std::to_string(got) + ", and comes back as " +
                              std::to_string(back[0]) + " " + std::to_string(back[1]) + " " + std::to_string(back[2]) +
                              " " + std::to_string(back[3]));
    }
  }
}

}  // namespace

void test_conversions() {
  const auto tf32 = [](float a, double (*round)(double)) {
    int exponent;
    const double fraction = std::frexp(double(a), &exponent);
    float r = std::isfinite(a) ? float(std::ldexp(round(fraction * 2048), exponent - 11)) : a;
    uint32_t bits;
    std::memcpy(&bits, &r, 4);
    return r != r ? 0x7fffffffu : bits;
  };
  convert<uint32_t, float>("cvt.rna.tf32.f32", "f32", "u32", "%r1", "%f1", [&](float a) { return tf32(a, std::round); });
  convert<uint32_t, float>("cvt.rn.tf32.f32", "f32", "u32", "%r1", "%f1", [&](float a) { return tf32(a, std::nearbyint); });
  convert<float, uint8_t>("cvt.rn.f32.u16", "u8", "f32", "%f1", "%h1", [](uint8_t a) { return float(a); });
  convert<float, uint8_t>("cvt.rn.f32.u8", "u8", "f32", "%f1", "%r1", [](uint8_t a) { return float(a); });
  convert<float, int8_t>("cvt.rn.f32.s8", "s8", "f32", "%f1", "%h1", [](int8_t a) { return float(a); });
  convert<float, int32_t>("cvt.rn.f32.s32", "u32", "f32", "%f1", "%r1", [](int32_t a) { return float(a); });
  convert<float, uint64_t>("cvt.rn.f32.u64", "u64", "f32", "%f1", "%d1", [](uint64_t a) { return float(a); });
  convert<double, int64_t>("cvt.rn.f64.s64", "u64", "f64", "%g1", "%d1", [](int64_t a) { return double(a); });
  convert<double, float>("cvt.f64.f32", "f32", "f64", "%g1", "%f1", [](float a) { return double(a); });
  convert<float, double>("cvt.rn.f32.f64", "f64", "f32", "%f1", "%g1", [](double a) { return float(a); });
  convert<int32_t, float>("cvt.rzi.s32.f32", "f32", "u32", "%r1", "%f1",
                          [](float a) { return limited<int32_t>(std::trunc(a)); });
  convert<uint32_t, float>("cvt.rni.u32.f32", "f32", "u32", "%r1", "%f1",
                           [](float a) { return limited<uint32_t>(std::nearbyint(a)); });
  convert<int64_t, double>("cvt.rmi.s64.f64", "f64", "u64", "%d1", "%g1",
                           [](double a) { return limited<int64_t>(std::floor(a)); });
  convert<uint8_t, float>("cvt.rzi.u8.f32", "f32", "u8", "%h1", "%f1",
                          [](float a) { return limited<uint8_t>(std::trunc(a)); });
  convert<float, float>("cvt.rpi.f32.f32", "f32", "f32", "%f1", "%f1", [](float a) { return std::ceil(a); });
  convert<float, float>("cvt.rni.f32.f32", "f32", "f32", "%f1", "%f1", [](float a) { return std::nearbyint(a); });
  convert<float, float>("cvt.sat.f32.f32", "f32", "f32", "%f1", "%f1",
                        [](float a) { return a > 0 ? (a < 1 ? a : 1.0f) : 0.0f; });
  convert<int64_t, int32_t>("cvt.s64.s32", "u32", "u64", "%d1", "%r1", [](int32_t a) { return int64_t(a); });
  convert<uint64_t, uint32_t>("cvt.u64.u32", "u32", "u64", "%d1", "%r1", [](uint32_t a) { return uint64_t(a); });
  convert<uint32_t, uint64_t>("cvt.u32.u64", "u64", "u32", "%r1", "%d1", [](uint64_t a) { return uint32_t(a); });
  convert<uint16_t, uint32_t>("cvt.u16.u32", "u32", "u16", "%h1", "%r1", [](uint32_t a) { return uint16_t(a); });
  convert<int32_t, int32_t>("cvt.s32.s8", "u32", "u32", "%r1", "%r1", [](int32_t a) { return int32_t(int8_t(a)); });
  convert<int32_t, int16_t>("cvt.s32.s16", "u16", "u32", "%r1", "%h1", [](int16_t a) { return int32_t(a); });
  convert<uint32_t, int8_t>("mov.u32", "s8", "u32", "%r1", "%r1", [](int8_t a) { return uint32_t(int32_t(a)); });
  convert<uint8_t, uint32_t>("mov.u32", "u32", "u8", "%r1", "%r1", [](uint32_t a) { return uint8_t(a); });
  convert<int8_t, int32_t>("cvt.sat.s8.s32", "u32", "u8", "%h1", "%r1", [](int32_t a) {
    return int8_t(a > 127 ? 127 : a < -128 ? -128 : a);
  });
  convert<uint16_t, float>("cvt.rn.f16.f32", "f32", "u16", "%h1", "%f1", [](float a) {
    fake::Half h = fake::Half(a);
    uint16_t r;
    std::memcpy(&r, &h, 2);
    return r;
  });
  test_halves();
}

}  // namespace fake_test
