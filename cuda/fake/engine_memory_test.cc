// engine_memory_test.cc tests atomics, vectors, address spaces, variables, parameters.
#include "engine_test.h"

namespace fake_test {

namespace {

// Adding ones is exact, whoever wins, so every red must be there.
void reds() {
  Device device;
  uint64_t sums = device.add(std::vector<float>(64)), ints = device.add(std::vector<uint32_t>(8)),
           wide = device.add(std::vector<double>(2));
  std::string body =
      "mov.f32 %f1, 0f3F800000; mov.u32 %r9, 0;\nL: and.b32 %r1, %t, 31; mul.wide.u32 %d1, %r1, 4; add.u64 %d2, %p0, "
      "%d1;\n"
      "red.relaxed.sys.global.add.f32 [%d2], %f1; red.global.add.f32 [%p0+128], %f1; "
      "red.relaxed.sys.global.add.v4.f32 [%p0+144], {%f1, %f1, %f1, %f1};\n"
      "red.relaxed.sys.global.add.v2.f32 [%p0+136], {%f1, %f1}; atom.global.add.u32 %r2, [%p1], 1; "
      "red.global.max.u32 [%p1+4], %t; red.global.min.s32 [%p1+8], -5;\n"
      "red.global.or.b32 [%p1+12], %t; atom.add.u64 %d3, [%p1+16], 3; mov.f64 %g1, 0d3FF0000000000000; "
      "atom.global.add.f64 %g2, [%p2], %g1; atom.global.inc.u32 %r3, [%p1+24], 6;\n"
      "add.u32 %r9, %r9, 1; setp.lt.u32 %b1, %r9, 10; @%b1 bra L;";
  fake::Fault fault = launch(module_of(body), device, {sums, ints, wide, 0}, {16, 96});
  check(fault.code == 0, "reds: " + fault.text);
  const float* f = Device::at<float>(sums);
  for (int i = 0; i < 32; i++) check(f[i] == 480, "red.f32 of a row: " + std::to_string(f[i]));
  check(f[32] == 15360, "red.f32 of all lanes to one word");
  for (int i = 34; i < 40; i++) check(f[i] == 15360, "red.f32 of vectors");
  const uint32_t* u = Device::at<uint32_t>(ints);
  check(u[0] == 15360 && u[1] == 1535 && int(u[2]) == -5 && u[3] == 2047 && u[6] == 15360 % 7, "atomics on integers");
  check(*Device::at<uint64_t>(ints + 16) == 46080 && *Device::at<double>(wide) == 15360, "atomics of 64 bits");
}

void tickets() {
  Device device;
  uint64_t taken = device.add(std::vector<uint32_t>(1000)), next = device.add(std::vector<uint32_t>(1));
  std::string body =
      "L: atom.relaxed.sys.global.add.u32 %r1, [%p1], 1; setp.ge.u32 %b1, %r1, 1000; @%b1 bra E; mul.wide.u32 %d1, "
      "%r1, 4; add.u64 %d1, %d1, %p0; ld.global.u32 %r2, [%d1]; add.u32 %r2, %r2, 1; st.global.u32 [%d1], %r2; bra "
      "L;\nE:";
  fake::Fault fault = launch(module_of(body), device, {taken, next, 0, 0}, {200, 40});
  check(fault.code == 0, "tickets: " + fault.text);
  for (int i = 0; i < 1000; i++) check(Device::at<uint32_t>(taken)[i] == 1, "every ticket once");
}

void vectors() {
  Device device;
  std::vector<uint32_t> numbers(256);
  for (uint32_t i = 0; i < 256; i++) numbers[i] = i * 7;
  uint64_t in = device.add(numbers), result = device.add(std::vector<uint32_t>(256));
  std::string body =
      "shl.b64 %d1, %i, 4; add.u64 %d2, %p0, %d1; add.u64 %d3, %p1, %d1; ld.global.nc.v4.u32 {%r1, %r2, %r3, _}, "
      "[%d2]; ld.volatile.global.v2.u32 {%r5, %r6}, [%d2+8]; st.global.v4.b32 [%d3], {%r2, %r1, %r6, 5};\n"
      "mov.b64 %d4, {%r1, %r2}; mov.b64 {%r7, %r8}, %d4; setp.eq.u32 %b1, %r7, %r1; @!%b1 trap; setp.eq.u32 %b1, "
      "%r8, %r2; @!%b1 trap; setp.eq.u32 %b1, %r3, %r5; @!%b1 trap; mov.b32 {%h1, %h2}, %r1; mov.b32 %r9, {%h1, "
      "%h2}; setp.ne.u32 %b1, %r9, %r1; @%b1 trap;";
  fake::Fault fault = launch(module_of(body), device, {in, result, 0, 0}, {1, 64});
  check(fault.code == 0, "vectors: " + fault.text);
  const uint32_t* r = Device::at<uint32_t>(result);
  for (uint32_t i = 0; i < 64; i++)
    check(r[4 * i] == (4 * i + 1) * 7 && r[4 * i + 1] == 4 * i * 7 && r[4 * i + 2] == (4 * i + 3) * 7 &&
              r[4 * i + 3] == 5,
          "vectors of four");
}

void spaces() {
  Device device;
  uint64_t result = device.add(std::vector<uint32_t>(64));
  std::string variables =
      ".const .align 4 .f32 table[4] = {1.5, 0f40000000, 3.0, 4.0};\n.global .align 8 .u64 link = table+4;\n.visible "
      ".global .align 1 .b8 bytes[4] = {1, 2, 255, 0x10};\n.extern .shared .align 16 .b8 dynamic[];\n.shared .align "
      "4 .b8 fixed[128];\n";
  std::string body =
      ".local .align 8 .b8 depot[64]; mov.u64 %d1, depot; cvta.local.u64 %d2, %d1; mov.u32 %r5, %tid.x; st.u32 "
      "[%d2+8], %r5; ld.local.u32 %r1, [depot+8]; setp.ne.u32 %b1, %r1, %r5; @%b1 trap;\n"
      "mov.u64 %d3, fixed; cvta.shared.u64 %d4, %d3; shl.b64 %d5, %i, 2; add.u64 %d6, %d4, %d5; st.u32 [%d6], 17; "
      "add.u64 %d7, %d3, %d5; ld.shared.u32 %r2, [%d7]; setp.ne.u32 %b1, %r2, 17; @%b1 trap;\n"
      "cvta.to.shared.u64 %d8, %d4; setp.ne.u64 %b1, %d8, %d3; @%b1 trap; mov.u32 %r6, dynamic; setp.ne.u32 %b1, "
      "%r6, 128; @%b1 trap; isspacep.shared %b1, %d6; @!%b1 trap; isspacep.global %b1, %d6; @%b1 trap;\n"
      "atom.shared.add.u32 %r7, [dynamic], 0; ld.global.u64 %d9, [link]; ld.const.f32 %f1, [%d9]; cvt.rzi.u32.f32 "
      "%r8, %f1; ld.global.s8 %r9, [bytes+2]; add.u32 %r8, %r8, %r9; ld.global.u8 %h1, [bytes+3]; cvt.u32.u16 %r10, "
      "%h1; add.u32 %r8, %r8, %r10; add.u64 %d10, %p0, %d5; st.global.u32 [%d10], %r8;";
  Shape shape{1, 32};
  shape.shared = 64;
  fake::Fault fault = launch(module_of(body, variables), device, {result, 0, 0, 0}, shape);
  check(fault.code == 0, "spaces: " + fault.text);
  for (int i = 0; i < 32; i++) check(Device::at<uint32_t>(result)[i] == 17, "variables of all spaces");
}

void kernels() {
  fake::Fault fault;
  std::string ptx =
      ".version 8.1\n.target sm_90\n.address_size 64\n.global .align 4 .u32 v[5];\n.visible .entry k(.param .u32 a, "
      ".param .align 8 .b8 b[24], .param .u64 c)\n.maxntid 64, 2, 1\n{ .reg .u64 %d; .reg .b32 %r; .shared .align 16 "
      ".b8 s[100]; .local .align 4 .b8 l[20]; ld.param.u64 %d, [b+16]; ld.param.u32 %r, [a]; st.u32 [%d], %r; }\n";
  auto module = fake::Module::load(ptx, 12060, 90, &fault);
  if (!module) return check(false, "kernels: " + fault.text);
  const fake::Kernel* k = module->find("k");
  check(k->parameters.size() == 3 && k->parameters[1].offset == 8 && k->parameters[2].offset == 32 &&
            k->parameter_bytes == 40,
        "parameters");
  check(k->max_threads == 128 && k->static_shared == 100 && k->local_bytes == 32 && k->registers >= 16,
        "limits of a kernel");
  check(module->find("none") == nullptr && module->variable("v").size == 20 && module->variable("none").size == 0,
        "names of a module");
  check(!fake::Module::load(ptx, 12000, 90, &fault) && fault.code == 222, "PTX newer than the driver");
  check(!fake::Module::load(ptx, 12060, 80, &fault) && fault.code == 209, "PTX for a newer device");
}

}  // namespace

void test_memory() {
  reds();
  tickets();
  vectors();
  spaces();
  kernels();
}

}  // namespace fake_test
