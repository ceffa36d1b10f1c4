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

}  // namespace

void test_conversions() {
  convert<uint32_t, float>("cvt.rna.tf32.f32", "f32", "u32", "%r1", "%f1", [](float a) {
    int exponent;
    const double fraction = std::frexp(double(a), &exponent);
    float r = std::isfinite(a) ? float(std::ldexp(std::round(fraction * 2048), exponent - 11)) : a;
    uint32_t bits;
    std::memcpy(&bits, &r, 4);
    return r != r ? 0x7fffffffu : bits;
  });
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
}

}  // namespace fake_test
