// engine_compiled_test.cc runs what clang made of engine_test.cu.
#include <fstream>
#include <sstream>

#include "engine_test.h"
#include "engine_test_mix.h"

namespace fake_test {

namespace {

std::string text_of(const std::string& name) {
  std::ifstream file(name);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

void mixed(const fake::Module& module) {
  constexpr int n = 5000;
  std::vector<unsigned char> bytes(256);
  std::vector<float> floats(256);
  for (int i = 0; i < 256; i++) {
    bytes[static_cast<size_t>(i)] = static_cast<unsigned char>(draw());
    floats[static_cast<size_t>(i)] = static_cast<float>(draw() % 2000) / 64 - 15;
  }
  Device device;
  uint64_t out = device.add(std::vector<uint64_t>(n));
  fake::Fault fault = start(*module.find("mixed"), device, {out, device.add(bytes), device.add(floats), n}, {40, 128});
  check(fault.code == 0, "mixed: " + fault.text);
  for (int i = 0; i < n; i++) {
    if (Device::at<uint64_t>(out)[i] != mix(i, bytes.data(), floats.data()))
      return check(false, "mixed, value " + std::to_string(i));
  }
}

void total(const fake::Module& module) {
  constexpr int n = 12345;
  std::vector<int> in(n);
  int sum = 0;
  for (int& each : in) sum += each = static_cast<int>(draw() % 1000);
  Device device;
  uint64_t out = device.add(std::vector<int>(1));
  Shape shape{7, 160};
  shape.races = shape.uninitialised = true;
  fake::Fault fault = start(*module.find("total"), device, {out, device.add(in), n}, shape);
  check(fault.code == 0, "total: " + fault.text);
  check(*Device::at<int>(out) == sum,
        "total: " + std::to_string(*Device::at<int>(out)) + " and not " + std::to_string(sum));
}

}  // namespace

void test_compiled(const std::string& file) {
  fake::Fault fault;
  auto module = fake::Module::load(text_of(file), 12060, 90, &fault);
  if (!module) return check(false, file + ": " + fault.text);
  mixed(*module);
  total(*module);
}

void test_loads(const std::string& file) {
  fake::Fault fault;
  check(fake::Module::load(text_of(file), 12060, 90, &fault) != nullptr, file + ": " + fault.text);
}

}  // namespace fake_test
