// engine_test.cc runs the tests of the interpreter. With arguments FILE.ptx ... it only
// loads those, as a check that nothing in them is unknown.
#include "engine_test.h"

#include <cstdlib>
#include <fstream>
#include <sstream>

namespace fake_test {

namespace {
int failed = 0;
}

void check(bool good, const std::string& what) {
  if (good) return;
  failed++;
  std::printf("FAIL %s\n", what.c_str());
}

int failures() { return failed; }

void check_fault(const fake::Fault& fault, int code, std::vector<std::string> words, const std::string& what) {
  bool good = fault.code == code;
  for (const std::string& word : words) good &= fault.text.find(word) != std::string::npos;
  check(good, what + ": fault " + std::to_string(fault.code) + ": " + fault.text);
  if (std::getenv("VERBOSE")) std::printf("     %s: %d %s\n", what.c_str(), fault.code, fault.text.c_str());
}

uint64_t draw() {
  static uint64_t state = 88172645463325252ull;
  state ^= state << 13, state ^= state >> 7, state ^= state << 17;
  return state;
}

std::string module_of(const std::string& body, const std::string& variables) {
  std::string text = ".version 8.1\n.target sm_90\n.address_size 64\n" + variables;
  text += ".visible .entry k(.param .u64 k0, .param .u64 k1, .param .u64 k2, .param .u64 k3)\n{\n";
  text += ".reg .pred %b<9>; .reg .b16 %h<9>; .reg .b32 %r<32>; .reg .f32 %f<32>; .reg .b64 %d<32>; .reg .f64 %g<9>;\n";
  text += ".reg .b32 %t, %t1, %t2; .reg .b64 %p0, %p1, %p2, %p3, %i;\n";
  for (int i = 0; i < 4; i++) text += "ld.param.u64 %p" + std::to_string(i) + ", [k" + std::to_string(i) + "];\n";
  text += "mov.u32 %t, %tid.x; mov.u32 %t1, %ctaid.x; mov.u32 %t2, %ntid.x; mad.lo.s32 %t, %t1, %t2, %t; cvt.u64.u32 %i, %t;\n";
  return text + body + "\nret;\n}\n";
}

fake::Fault launch(const std::string& ptx, const Device& device, const std::vector<uint64_t>& parameters, Shape shape) {
  fake::Fault fault;
  std::unique_ptr<fake::Module> module = fake::Module::load(ptx, 12060, 90, &fault);
  if (!module) return fault;
  fake::Launch launch;
  launch.kernel = module->find("k");
  launch.grid[0] = shape.grid;
  launch.block[0] = shape.block;
  launch.shared_bytes = shape.shared;
  launch.params.resize(launch.kernel->parameter_bytes);
  std::memcpy(launch.params.data(), parameters.data(), std::min(launch.params.size(), parameters.size() * 8));
  launch.memory = &device;
  launch.seed = shape.seed;
  launch.check_shared_races = shape.races;
  launch.check_shared_uninitialised = shape.uninitialised;
  launch.cancel = shape.cancel;
  return fake::run(launch);
}

}  // namespace fake_test

namespace {

int load_files(int count, char** names) {
  for (int i = 0; i < count; i++) {
    std::ifstream file(names[i]);
    std::stringstream text;
    text << file.rdbuf();
    fake::Fault fault;
    if (!fake::Module::load(text.str(), 12060, 90, &fault)) {
      std::printf("%s: %d %s\n", names[i], fault.code, fault.text.c_str());
      return 1;
    }
  }
  return 0;
}

}  // namespace

int main(int count, char** arguments) {
  if (count > 1) return load_files(count - 1, arguments + 1);
  fake_test::test_arithmetic();
  fake_test::test_conversions();
  fake_test::test_lanes();
  fake_test::test_memory();
  fake_test::test_checks();
  std::printf(fake_test::failures() ? "%d failed\n" : "engine: ok\n", fake_test::failures());
  return fake_test::failures() ? 1 : 0;
}
