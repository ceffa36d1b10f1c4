// engine_checks_test.cc breaks kernels on purpose: each check must fire, and say where.
#include <chrono>
#include <thread>

#include "engine_test.h"

namespace fake_test {

namespace {

fake::Fault broken(const std::string& body, Shape shape = {}, const std::string& variables = "") {
  Device device;
  uint64_t floats = device.add(std::vector<float>(100)), other = device.add(std::vector<float>(100));
  return launch(module_of(body, variables), device, {floats, other, 0, 0}, shape);
}

void addresses() {
  std::string store =
      "add.u32 %r1, %t, 69; mul.wide.u32 %d1, %r1, 4; add.u64 %d1, %d1, %p0;\n.loc 1 42 3\nst.global.f32 [%d1], "
      "0f00000000;";
  check_fault(broken(store, {1, 32}, ".file 1 \"step.cu\"\n"), 700,
              {"kernel k", "step.cu:42", "CTA (0, 0, 0)", "thread (31, 0, 0)", "write of 4 bytes at 0x",
               "0 bytes past the end of the allocation of 400"},
              "an index off by one");
  check_fault(broken("mov.u64 %d1, 8; ld.global.f32 %f1, [%d1];"), 700, {"read of 4 bytes at 0x8, a null pointer"},
              "a null pointer");
  check_fault(broken("ld.global.v4.f32 {%f1, %f2, %f3, %f4}, [%p0+4];"), 716, {"read of 16 bytes", "misaligned"},
              "an unaligned vector load");
  check_fault(broken("red.global.add.v4.f32 [%p0+8], {%f1, %f1, %f1, %f1};"), 719, {"%f1"},
              "a vector that was never written");
  check_fault(broken("red.global.add.f32 [%p0+400], 0f00000000;"), 700, {"atomic access"}, "a red off by one");
  check_fault(broken("ld.shared.f32 %f1, [s+64];", {}, ".shared .align 4 .b8 s[64];\n"), 700,
              {"outside of the 64 bytes of shared memory"}, "past shared memory");
  check_fault(broken(".local .align 4 .b8 l[16]; mov.u64 %d1, l; st.local.u32 [%d1+16], 1;"), 700,
              {"outside of the 16 bytes of local memory"}, "past local memory");
  check_fault(broken("setp.eq.u32 %b1, %t, 77; @%b1 trap;", {2, 64}), 719, {"CTA (1, 0, 0), thread (13, 0, 0): trap"},
              "trap");
}

void registers() {
  check_fault(broken("add.f32 %f1, %f1, 0f3F800000; st.global.f32 [%p0], %f1;"), 719,
              {"PTX line", "%f1, which was never written"}, "a register never written");
  std::string some = "setp.lt.u32 %b1, %t, 31; @%b1 mov.u32 %r1, 4; add.u32 %r2, %r1, 1;";
  check_fault(broken(some), 719, {"thread (31, 0, 0)", "%r1"}, "a register written in some lanes");
  std::string fine = "setp.lt.u32 %b1, %t, 16; @%b1 mov.u32 %r1, 4; @!%b1 mov.u32 %r1, 5; add.u32 %r2, %r1, 1;";
  check_fault(broken(fine), 0, {}, "a register written in two arms");
  check_fault(broken("mov.u32 %r2, %r1; mov.u32 %r3, %r2;"), 0, {}, "copies of what was never written");
  check_fault(broken("mov.u32 %r2, %r1; mov.u32 %r3, %r2; add.u32 %r4, %r3, 1;"), 719, {"%r3"},
              "the use of such a copy");
}

void meetings() {
  std::string arms = "setp.lt.u32 %b1, %t, 5; @%b1 bra A; bar.sync 0; bra B;\nA: bar.sync 0;\nB:";
  check_fault(broken(arms), 719, {"barrier under divergence"}, "a barrier in each arm");
  check_fault(broken("setp.lt.u32 %b1, %t, 32; @%b1 bra A; bar.sync 0;\nA:", {1, 64}), 719,
              {"barrier under divergence", "32 of 64 threads"}, "a barrier that some warps skip");
  check_fault(broken("setp.lt.u32 %b1, %t, 5; @%b1 ret; bar.sync 0;"), 719, {"27 of 32 threads"},
              "a barrier after a return");
  std::string two = "setp.lt.u32 %b1, %t, 32; @%b1 bra A; bar.sync 0; bra B;\nA: bar.sync 0;\nB:";
  check_fault(broken(two, {1, 64}), 719, {"other warps wait at PTX line"}, "warps at different barriers");
  check_fault(broken("setp.lt.u32 %b1, %t, 5; @%b1 shfl.sync.bfly.b32 %r1, %t, 1, 31, -1;"), 719, {"inactive"},
              "a shuffle with lanes missing");
  check_fault(broken("setp.lt.u32 %b1, %t, 8; @!%b1 bra E; shfl.sync.idx.b32 %r1, %t, 9, 31, 0xff;\nE:"), 719,
              {"shuffle from lane 9, which is inactive"}, "a shuffle from an inactive lane");
  check_fault(broken("shfl.sync.bfly.b32 %r1, %t, 1, 31, -1;", {1, 20}), 719, {"lanes 20-31"},
              "a shuffle with lanes that do not exist");
}

void shared() {
  std::string s = ".shared .align 4 .b8 s[512];\n";
  auto body = [](const char* between, const char* read) {
    return std::string("shl.b32 %r1, %t, 2; mov.u32 %r2, s; add.u32 %r2, %r2, %r1; st.shared.u32 [%r2], 1; ") +
           between + " xor.b32 %r1, %r1, 256; mov.u32 %r2, s; add.u32 %r2, %r2, %r1; " + read;
  };
  Shape on{1, 128};
  on.races = on.uninitialised = true;
  const char* load = "ld.shared.u32 %r3, [%r2];";
  check_fault(broken(body("", load), on, s), 719, {"shared memory"}, "a missing barrier");
  on.uninitialised = false;
  check_fault(broken(body("", load), on, s), 719, {"race in shared memory"}, "a race");
  check_fault(broken(body("bar.sync 0;", load), on, s), 0, {}, "no race across a barrier");
  check_fault(broken(body("bar.sync 0;", (std::string(load) + " st.shared.u32 [%r2], 2;").c_str()), on, s), 0, {},
              "no race in one's own word");
  check_fault(broken(body("bar.sync 0; ld.shared.u32 %r4, [%r2];", "st.shared.u32 [%r2], 2;"), on, s), 719,
              {"race in shared memory"}, "a race of a write with reads");
  check_fault(broken("red.shared.add.u32 [s], 1; bar.sync 0; ld.shared.u32 %r1, [s];", on, s), 0, {},
              "atomics do not race");
  on.uninitialised = true;
  check_fault(broken("ld.shared.u32 %r1, [s+8];", on, s), 719, {"never written, at byte 8"},
              "shared memory never written");
  on.races = on.uninitialised = false;
  check_fault(broken(body("", load), on, s), 0, {}, "nothing where nothing is asked");
}

void texts() {
  check_fault(broken("\n\nfrob.x32 %r1, %r2;"), 218, {"PTX line 15", "unknown opcode frob.x32"}, "an unknown opcode");
  check_fault(broken("ld.global.wild.f32 %f1, [%p0];"), 218, {"unknown opcode ld.global.wild.f32"},
              "an unknown modifier");
  check_fault(broken("cvt.rn.bf16.f32 %h1, %f1;"), 218, {"cvt.rn.bf16.f32"}, "an unknown type");
  check_fault(broken("add.s32 %r1, %r2, %d1;"), 218, {"%d1", "width"}, "a register of another width");
  check_fault(broken("add.s32 %r1, %r2, %r99;"), 218, {"%r99"}, "an unknown register");
  check_fault(broken("bra NOWHERE;"), 218, {"unknown label NOWHERE"}, "an unknown label");
  check_fault(broken("call.uni f, ();"), 218, {"call"}, "a call");
  fake::Fault fault;
  check(!fake::Module::load("hello", 12060, 90, &fault) && fault.code == 218, "what is not PTX");
  check(!fake::Module::load("", 12060, 90, &fault) && fault.code == 218, "nothing");
}

void endless() {
  std::atomic<bool> cancel{false};
  std::thread later([&cancel] {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    cancel = true;
  });
  Shape shape{4, 64};
  shape.cancel = &cancel;
  check_fault(broken("L: bra L;", shape), 702, {"kernel k"}, "a kernel without end is stopped");
  later.join();
}

}  // namespace

void test_checks() {
  addresses();
  registers();
  meetings();
  shared();
  texts();
  endless();
}

}  // namespace fake_test
