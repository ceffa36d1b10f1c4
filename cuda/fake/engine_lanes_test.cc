// engine_lanes_test.cc tests what lanes and warps do together: branches, barriers,
// shuffles, votes.
#include <cmath>

#include "engine_test.h"

namespace fake_test {

namespace {

// out runs a body for n threads and gives what it has stored in %p0 for each.
std::vector<uint32_t> out(const std::string& body, uint32_t n, Shape shape, const std::string& what,
                          const std::string& variables = "") {
  Device device;
  std::vector<uint64_t> p{device.add(std::vector<uint32_t>(n)), 0, 0, 0};
  fake::Fault fault = launch(module_of(body + "\nmad.lo.u64 %d20, %i, 4, %p0; st.global.u32 [%d20], %r0;", variables),
                             device, p, shape);
  check(fault.code == 0, what + ": " + fault.text);
  const uint32_t* at = Device::at<uint32_t>(p[0]);
  return std::vector<uint32_t>(at, at + n);
}

void equal(const std::vector<uint32_t>& got, std::function<uint32_t(uint32_t)> want, const std::string& what) {
  for (uint32_t i = 0; i < got.size(); i++) {
    if (got[i] != want(i))
      return check(false, what + ", thread " + std::to_string(i) + ": " + std::to_string(got[i]) + " and not " +
                              std::to_string(want(i)));
  }
}

void branches() {
  std::string loop =
      "mov.u32 %r0, 0; mov.u32 %r1, 0;\nL: setp.gt.u32 %b1, %r1, %t; @%b1 bra E; add.u32 %r0, %r0, %r1; add.u32 %r1, "
      "%r1, 1; bra.uni L;\nE:";
  equal(out(loop, 96, {1, 96}, "loop"), [](uint32_t i) { return i * (i + 1) / 2; }, "a loop of different lengths");
  std::string arms =
      "and.b32 %r1, %t, 1; setp.eq.u32 %b1, %r1, 0; @%b1 bra A; mov.u32 %r0, 7; bra B;\nA: mov.u32 %r0, 5;\nB: "
      "activemask.b32 %r2; popc.b32 %r2, %r2; add.u32 %r0, %r0, %r2;";
  equal(out(arms, 32, {1, 32}, "arms"), [](uint32_t i) { return (i % 2 ? 7 : 5) + 32; }, "arms of a branch meet");
  std::string early =
      "mov.u32 %r0, 3; setp.lt.u32 %b1, %t, 5; @%b1 bra X; mov.u32 %r0, 4;\nX: setp.eq.u32 %b2, %t, 9; @%b2 ret;";
  equal(out(early, 40, {1, 40}, "early"), [](uint32_t i) { return i == 9 ? 0 : i < 5 ? 3 : 4; }, "one lane returns");
  std::string scope =
      "mov.u32 %r0, 1; { .reg .pred q; .reg .b32 %r0; mov.u32 %r0, 9; setp.eq.u32 q, %t, 2; @q bra M; M: } { bra M; "
      "M: }";
  equal(out(scope, 32, {1, 32}, "scope"), [](uint32_t) { return 1; }, "nested scopes with names of their own");
}

// Compilers put a loop's end before its head. Lanes that skip the body must not run on
// into the next round there: all 32 shall meet at the end E, in each of 10 rounds.
void late_heads() {
  std::string loop =
      "and.b32 %r3, %t, 1; setp.eq.u32 %b2, %r3, 0; mov.u32 %r0, 0; mov.u32 %r1, 0; bra H;\n"
      "E: activemask.b32 %r5; popc.b32 %r5, %r5; add.u32 %r0, %r0, %r5;\n"
      "add.u32 %r1, %r1, 1; setp.lt.u32 %b1, %r1, 10; @%b1 bra H; bra Z;\n"
      "H: @%b2 bra E; mul.lo.u32 %r4, %r1, 3; bra E;\nZ:";
  equal(out(loop, 32, {1, 32}, "heads"), [](uint32_t) { return 320; }, "lanes meet in a loop whose end comes first");
}

// Each warp's lock is taken by its lanes in turn: the loser spins in the same warp.
void spin_lock() {
  std::string lock =
      "mov.u64 %d1, lock;\n"
      "L: atom.global.cas.b32 %r1, [%d1], 0, 1; setp.ne.u32 %b1, %r1, 0; @%b1 bra L;\n"
      "ld.relaxed.sys.global.u32 %r2, [count]; add.u32 %r2, %r2, 1; st.relaxed.sys.global.u32 [count], %r2; mov.u32 "
      "%r0, %r2;\n"
      "atom.global.exch.b32 %r1, [%d1], 0;";
  std::vector<uint32_t> got =
      out(lock, 256, {2, 128}, "lock", ".global .align 4 .u32 lock; .global .align 4 .u32 count = 10;\n");
  std::vector<bool> seen(256);
  for (uint32_t v : got) {
    if (v > 10 && v <= 266) seen[v - 11] = true;
  }
  for (bool each : seen) check(each, "a spin lock in every lane");
}

void barriers() {
  std::string reverse =
      "mov.u32 %r5, %tid.x; shl.b32 %r1, %r5, 2; mov.u32 %r2, s; add.u32 %r3, %r2, %r1; st.shared.u32 [%r3], %t; "
      "bar.sync 0;"
      "sub.u32 %r4, 127, %r5; shl.b32 %r4, %r4, 2; add.u32 %r4, %r4, %r2; ld.shared.u32 %r0, [%r4];";
  Shape checked{8, 128};
  checked.races = checked.uninitialised = true;
  equal(
      out(reverse, 1024, checked, "reverse", ".shared .align 4 .b8 s[512];\n"),
      [](uint32_t i) { return i / 128 * 128 + 127 - i % 128; }, "shared memory across a barrier");
  std::string count =
      "and.b32 %r1, %t, 3; setp.eq.u32 %b1, %r1, 0; bar.red.popc.u32 %r0, 0, %b1; bar.red.or.pred %b2, 0, !%b1; "
      "bar.red.and.pred %b3, 0, %b1; selp.u32 %r2, 100, 0, %b2; add.u32 %r0, %r0, %r2; selp.u32 %r2, 1000, 0, %b3; "
      "add.u32 %r0, %r0, %r2;";
  equal(out(count, 200, {2, 100}, "count"), [](uint32_t) { return 125; }, "bar.red");
  std::string named =
      "mov.u32 %r0, 6; setp.lt.u32 %b1, %t, 64; @%b1 bra A; bar.sync 2, 64; bra B;\nA: bar.sync 1, 64;\nB: "
      "barrier.sync 0;";
  equal(out(named, 128, {1, 128}, "named"), [](uint32_t) { return 6; }, "barriers of some of the warps");
}

void shuffles() {
  auto shuffle = [](const std::string& rest) {
    return "mul.lo.u32 %r1, %t, 3; shfl.sync." + rest + "; selp.u32 %r2, 1000, 0, %b1; add.u32 %r0, %r0, %r2;";
  };
  equal(
      out(shuffle("bfly.b32 %r0|%b1, %r1, 5, 31, -1"), 32, {1, 32}, "bfly"),
      [](uint32_t i) { return (i ^ 5) * 3 + 1000; }, "shfl bfly");
  equal(
      out(shuffle("up.b32 %r0|%b1, %r1, 3, 0, -1"), 32, {1, 32}, "up"),
      [](uint32_t i) { return i < 3 ? i * 3 : (i - 3) * 3 + 1000; }, "shfl up");
  equal(
      out(shuffle("down.b32 %r0|%b1, %r1, 2, 0x181f, -1"), 32, {1, 32}, "down"),
      [](uint32_t i) { return i % 8 > 5 ? i * 3 : (i + 2) * 3 + 1000; }, "shfl down in segments of 8");
  equal(
      out(shuffle("idx.b32 %r0|%b1, %r1, 9, 0x1c1f, -1"), 32, {1, 32}, "idx"),
      [](uint32_t i) { return (i / 4 * 4 + 1) * 3 + 1000; }, "shfl idx in segments of 4");
  std::string parts =
      "setp.lt.u32 %b1, %t, 8; selp.b32 %r3, 0xff, 0xffffff00, %b1; shfl.sync.idx.b32 %r0, %t, 7, 31, 0xff;";
  parts = "setp.lt.u32 %b1, %t, 8; mov.u32 %r0, 99; @%b1 shfl.sync.bfly.b32 %r0, %t, 1, 31, 0xff;";
  equal(
      out(parts, 32, {1, 32}, "part"), [](uint32_t i) { return i < 8 ? i ^ 1 : 99; },
      "a shuffle of some of the lanes");
  std::string masks =
      "setp.lt.u32 %b1, %t, 8; selp.b32 %r3, 0xff, 0xffffff00, %b1; shfl.sync.bfly.b32 %r0, %t, 1, 31, %r3;";
  equal(out(masks, 32, {1, 32}, "masks"), [](uint32_t i) { return i ^ 1; }, "two shuffles in one instruction");
  std::string late =
      "mov.u32 %r1, 0;\nL: setp.ge.u32 %b1, %r1, %t; @%b1 bra S; add.u32 %r1, %r1, 1; bra L;\nS: shfl.sync.bfly.b32 "
      "%r0, %r1, 31, 31, -1;";
  equal(out(late, 32, {1, 32}, "late"), [](uint32_t i) { return 31 - i; }, "lanes come to a shuffle one by one");
}

void votes() {
  std::string ballot = "and.b32 %r1, %t, 1; setp.eq.u32 %b1, %r1, 1; vote.sync.ballot.b32 %r0, %b1, -1;";
  equal(out(ballot, 32, {1, 32}, "ballot"), [](uint32_t) { return 0xaaaaaaaa; }, "ballot");
  std::string any =
      "setp.eq.u32 %b1, %t, 40; vote.sync.any.pred %b2, %b1, -1; vote.sync.all.pred %b3, !%b1, -1; "
      "vote.sync.uni.pred %b4, %b1, -1; selp.u32 %r0, 1, 0, %b2; selp.u32 %r1, 2, 0, %b3; selp.u32 %r2, 4, 0, %b4; "
      "add.u32 %r0, %r0, %r1; add.u32 %r0, %r0, %r2;";
  equal(out(any, 64, {1, 64}, "any"), [](uint32_t i) { return i < 32 ? 6 : 1; }, "any, all, uni");
  std::string match = "shr.u32 %r1, %t, 3; match.any.sync.b32 %r0, %r1, -1;";
  equal(out(match, 32, {1, 32}, "match"), [](uint32_t i) { return 0xffu << (i / 8 * 8); }, "match.any");
  std::string redux = "redux.sync.add.s32 %r0, %t, -1; redux.sync.max.u32 %r1, %t, -1; add.u32 %r0, %r0, %r1;";
  equal(out(redux, 32, {1, 32}, "redux"), [](uint32_t) { return 496 + 31; }, "redux");
  std::string warp =
      "mov.u32 %r0, 1; setp.lt.u32 %b1, %t, 4; @%b1 bra W; mov.u32 %r0, 2;\nW: bar.warp.sync -1; activemask.b32 %r1; "
      "setp.eq.s32 %b2, %r1, -1; selp.b32 %r0, %r0, 0, %b2;";
  equal(out(warp, 32, {1, 32}, "warp"), [](uint32_t i) { return i < 4 ? 1 : 2; }, "bar.warp.sync");
}

// rounded is a float with 11 bits, in another way than the interpreter's.
float rounded(float a) {
  int exponent;
  const double fraction = std::frexp(double(a), &exponent);
  return std::isfinite(a) ? float(std::ldexp(std::round(fraction * 2048), exponent - 11)) : a;
}

// products are tiles in tf32 against sums in double precision of operands that are rounded here. Row 3 of A has a zero times
// infinity, row 5 an infinity, row 7 what is not a number, and row 9 zeros.
void products() {
  std::vector<float> a(16 * 8), b(8 * 8), c(16 * 8);
  for (std::vector<float>* all : {&a, &b, &c}) {
    for (float& v : *all) v = float(double(draw() >> 11) / 9007199254740992.0 - 0.5) * float(draw() % 7 + 1);
  }
  for (int n = 0; n < 8; n++) b[2 * 8 + n] = n == 4 ? 0 : b[2 * 8 + n], a[9 * 8 + n] = 0;
  a[3 * 8 + 2] = a[5 * 8 + 1] = INFINITY, a[7 * 8 + 6] = NAN, a[0] = 1 + 0x1p-11f, a[1] = 1 + 0x1.8p-10f;
  std::string body =
      "shr.u32 %r30, %t, 2; and.b32 %r31, %t, 3;\n"  // g and t
      "mad.lo.u32 %r29, %r30, 8, %r31; mul.wide.u32 %d1, %r29, 4; add.u64 %d1, %d1, %p1;\n"  // A[g][t]
      "mad.lo.u32 %r28, %r31, 8, %r30; mul.wide.u32 %d2, %r28, 4; add.u64 %d2, %d2, %p2;\n"  // B[t][g]
      "add.u32 %r27, %r29, %r31; mul.wide.u32 %d3, %r27, 4; add.u64 %d4, %d3, %p0; add.u64 %d3, %d3, %p3;\n";  // C[g][2t]
  const int at[] = {0, 256, 16, 272}, sums[] = {0, 4, 256, 260};  // bytes from there
  for (int i = 0; i < 4; i++) {
    const std::string n = std::to_string(i);
    body += "ld.global.f32 %f" + n + ", [%d1+" + std::to_string(at[i]) + "]; cvt.rna.tf32.f32 %r" + n + ", %f" + n + ";\n";
    body += "ld.global.f32 %f1" + n + ", [%d3+" + std::to_string(sums[i]) + "];\n";
  }
  for (int i = 0; i < 2; i++) {
    const std::string n = std::to_string(4 + i);
    body += "ld.global.f32 %f" + n + ", [%d2+" + std::to_string(128 * i) + "]; cvt.rna.tf32.f32 %r" + n + ", %f" + n + ";\n";
  }
  const std::string mma = "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 ";
  std::string late = body + "setp.lt.u32 %b1, %t, 5; @%b1 bra L; mov.u32 %r20, 1;\nL: ";
  std::string store = "{%f20, %f21, %f22, %f23}, {%r0, %r1, %r2, %r3}, {%r4, %r5}, {%f10, %f11, %f12, %f13};\n";
  for (int i = 0; i < 4; i++) {
    store += "st.global.f32 [%d4+" + std::to_string(sums[i]) + "], %f2" + std::to_string(i) + ";\n";
  }
  Device device;
  std::vector<uint64_t> p{device.add(std::vector<float>(16 * 8)), device.add(a), device.add(b), device.add(c)};
  fake::Fault fault = launch(module_of(late + mma + store), device, p);
  check(fault.code == 0, "mma: " + fault.text);
  for (int i = 0; i < 16 * 8; i++) {
    double want = c[size_t(i)], size = std::fabs(want);
    for (int k = 0; k < 8; k++) {
      const double product = double(rounded(a[size_t(i / 8 * 8 + k)])) * rounded(b[size_t(k * 8 + i % 8)]);
      want += product, size += std::fabs(product);
    }
    const float got = Device::at<float>(p[0])[i];
    if (std::isfinite(want) ? !(std::fabs(got - want) <= 1e-7 * size) : std::isnan(want) != std::isnan(got) || (got > 0) != (want > 0))
      return check(false, "mma[" + std::to_string(i / 8) + "][" + std::to_string(i % 8) + "]: " + std::to_string(got) + " and not " + std::to_string(want));
  }
  fault = launch(module_of(body + "mov.b32 %r1, %f1; " + mma + store), device, p);
  check_fault(fault, 719, {"not in tf32"}, "an operand of mma that is not rounded");
  fault = launch(module_of(body + "setp.lt.u32 %b1, %t, 5; @%b1 ret; " + mma + store), device, p);
  check_fault(fault, 719, {"inactive"}, "mma without some lanes");
}

void specials() {
  std::string all =
      "mov.u32 %r0, %laneid; mov.u32 %r1, %warpid; mad.lo.u32 %r0, %r1, 100, %r0; mov.u32 %r1, %nctaid.x; mad.lo.u32 "
      "%r0, %r1, 1000, %r0; mov.u32 %r2, %lanemask_lt; popc.b32 %r2, %r2; add.u32 %r0, %r0, %r2; mov.u64 %d1, "
      "%clock64; mov.u64 %d2, %globaltimer; setp.eq.u64 %b1, %d1, %d2; @%b1 trap;";
  equal(
      out(all, 192, {3, 64}, "specials"), [](uint32_t i) { return i % 32 * 2 + i % 64 / 32 * 100 + 3000; },
      "special registers");
}

}  // namespace

void test_lanes() {
  branches();
  late_heads();
  spin_lock();
  barriers();
  shuffles();
  votes();
  products();
  specials();
}

}  // namespace fake_test
