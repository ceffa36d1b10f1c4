// engine_test.cc runs the tests of the interpreter. With arguments FILE.ptx ... it only
// loads those, and with --compiled FILE.ptx ... it runs engine_test.cu as compiled.
#include "engine_test.h"

#include <cstdlib>

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
  text +=
      "mov.u32 %t, %tid.x; mov.u32 %t1, %ctaid.x; mov.u32 %t2, %ntid.x; mad.lo.s32 %t, %t1, %t2, %t; cvt.u64.u32 %i, "
      "%t;\n";
  return text + body + "\nret;\n}\n";
}

fake::Fault start(const fake::Kernel& kernel, const Device& device, const std::vector<uint64_t>& parameters,
                  Shape shape) {
  fake::Launch launch;
  launch.kernel = &kernel;
  launch.grid[0] = shape.grid;
  launch.block[0] = shape.block;
  launch.shared_bytes = shape.shared;
  launch.params.resize(kernel.parameter_bytes);
  std::memcpy(launch.params.data(), parameters.data(), std::min(launch.params.size(), parameters.size() * 8));
  launch.memory = &device;
  launch.seed = shape.seed;
  launch.check_shared_races = shape.races;
  launch.check_shared_uninitialised = shape.uninitialised;
  launch.cancel = shape.cancel;
  return fake::run(launch);
}

fake::Fault launch(const std::string& ptx, const Device& device, const std::vector<uint64_t>& parameters, Shape shape) {
  fake::Fault fault;
  std::unique_ptr<fake::Module> module = fake::Module::load(ptx, 12060, 90, &fault);
  return module ? start(*module->find("k"), device, parameters, shape) : fault;
}

}  // namespace fake_test

int main(int count, char** arguments) {
  const bool compiled = count > 1 && std::string(arguments[1]) == "--compiled";
  for (int i = compiled ? 2 : 1; i < count; i++) {
    if (compiled) {
      fake_test::test_compiled(arguments[i]);
    } else {
      fake_test::test_loads(arguments[i]);
    }
  }
  if (count == 1) {
    fake_test::test_arithmetic();
    fake_test::test_conversions();
    fake_test::test_lanes();
    fake_test::test_memory();
    fake_test::test_checks();
  }
  const int failed = fake_test::failures();
  std::printf(failed ? "engine_test: %d failed\n" : "engine_test: ok\n", failed);
  return failed ? 1 : 0;
}
