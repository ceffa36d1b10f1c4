// decode_select.cc decodes mov, setp, set, cvt and the conversions of addresses.
#include "control.h"
#include "decoder.h"
#include "memory.h"

namespace fake {

namespace {

// at: d, parts: one register from several, the first the lowest.
template <class Whole, class Part, int N>
void join(Warp& w, const Op& op, uint32_t mask) {
  alignas(64) Whole result[kLanes];
  for (int i = 0; i < kLanes; i++) {
    Whole all = 0;
    for (int k = 0; k < N; k++)
      all |= static_cast<Whole>(static_cast<Whole>(w.in<Part>(op.at[1 + k])[i]) << (8 * sizeof(Part) * k));
    result[i] = all;
  }
  blend(w.out<Whole>(op.at[0]), result, mask);
}

// at: parts, a.
template <class Whole, class Part, int N>
void part(Warp& w, const Op& op, uint32_t mask) {
  alignas(64) Whole whole[kLanes];
  alignas(64) Part result[kLanes];
  for (int i = 0; i < kLanes; i++) whole[i] = w.in<Whole>(op.at[N])[i];
  for (int k = 0; k < N; k++) {
    for (int i = 0; i < kLanes; i++) result[i] = static_cast<Part>(whole[i] >> (8 * sizeof(Part) * k));
    blend(w.out<Part>(op.at[k]), result, mask);
  }
}

// at: p, a, and the window in offset.
void in_window(Warp& w, const Op& op, uint32_t mask) {
  uint32_t bits = 0;
  for (int i = 0; i < kLanes; i++) {
    uint64_t a = w.in<uint64_t>(op.at[1])[i];
    bool is = op.offset ? a - static_cast<uint64_t>(op.offset) < kWindow
                        : a - kSharedWindow >= kWindow && a - kLocalWindow >= kWindow;
    bits |= is ? kBit[i] : 0;
  }
  set_predicate(w, op.at[0], bits, mask);
}

Run join_run(size_t whole, size_t parts) {
  if (whole == 8 && parts == 2) return join<uint64_t, uint32_t, 2>;
  if (whole == 8 && parts == 4) return join<uint64_t, uint16_t, 4>;
  return whole == 4 && parts == 2 ? join<uint32_t, uint16_t, 2> : nullptr;
}

Run part_run(size_t whole, size_t parts) {
  if (whole == 8 && parts == 2) return part<uint64_t, uint32_t, 2>;
  if (whole == 8 && parts == 4) return part<uint64_t, uint16_t, 4>;
  return whole == 4 && parts == 2 ? part<uint32_t, uint16_t, 2> : nullptr;
}

uint64_t window_of(const std::string& space) {
  return space == "shared" ? kSharedWindow : space == "local" ? kLocalWindow : 0;
}

}  // namespace

void Decoder::mov(const Statement& s) {
  expect_operands(s, 2, 2);
  if (s.operands[1].kind == Operand::kVector) return pack(s);
  if (s.operands[0].kind == Operand::kVector) return unpack(s);
  plain(s);
  drafts_.back().is_copy = s.operands[1].kind == Operand::kRegister;
}

void Decoder::pack(const Statement& s) {
  Words words(s);
  Type type = type_of(words.take());
  words.finish();
  const std::vector<Operand>& parts = s.operands[1].parts;
  Run run = join_run(type.bytes(), parts.size());
  if (!run || type.kind != 'b') words.refuse();
  begin(s, run);
  draft_.op.at[0] = write(s, s.operands[0], type.bytes());
  for (size_t i = 0; i < parts.size(); i++) draft_.op.at[1 + i] = read(s, parts[i], type.bytes() / parts.size(), 'b');
  emit();
}

void Decoder::unpack(const Statement& s) {
  Words words(s);
  Type type = type_of(words.take());
  words.finish();
  const std::vector<Operand>& parts = s.operands[0].parts;
  Run run = part_run(type.bytes(), parts.size());
  if (!run || type.kind != 'b') words.refuse();
  begin(s, run);
  for (size_t i = 0; i < parts.size(); i++) draft_.op.at[i] = write(s, parts[i], type.bytes() / parts.size());
  draft_.op.at[parts.size()] = read(s, s.operands[1], type.bytes(), 'b');
  emit();
}

// setp.CMP[.BOOL][.ftz].TYPE p|q, a, b, c. Subnormals are compared as they are, so .ftz
// is refused.
void Decoder::setp(const Statement& s) {
  Words words(s);
  std::string compare = words.take(), boolean = words.one_of({"and", "or", "xor"}), type = words.take();
  words.finish();
  auto entry = comparisons().find(compare + "." + type);
  if (entry == comparisons().end()) words.refuse();
  expect_operands(s, boolean.empty() ? 3 : 4, boolean.empty() ? 3 : 4);
  begin(s, entry->second.run);
  size_t bytes = static_cast<size_t>(entry->second.shape[0] - '0');
  draft_.op.mode = static_cast<uint8_t>(boolean.empty() ? 0 : boolean == "and" ? 1 : boolean == "or" ? 2 : 3);
  draft_.op.at[0] = write(s, s.operands[0], 0);
  draft_.op.at[1] = write_pair(s, s.operands[0]);
  draft_.op.at[2] = read(s, s.operands[1], bytes, entry->second.kind);
  draft_.op.at[3] = read(s, s.operands[2], bytes, entry->second.kind);
  if (draft_.op.mode) draft_.op.at[4] = read(s, s.operands[3], 0, 'p');
  emit();
}

// set.CMP.DTYPE.STYPE d, a, b is setp and a choice of all ones, or 1.0f, and 0.
void Decoder::set(const Statement& s) {
  Words words(s);
  std::string compare = words.take(), result = words.one_of({"u32", "s32", "f32"}), type = words.take();
  words.finish();
  auto entry = comparisons().find(compare + "." + type);
  if (entry == comparisons().end() || result.empty()) words.refuse();
  expect_operands(s, 3, 3);
  size_t bytes = static_cast<size_t>(entry->second.shape[0] - '0');
  uint32_t p = allocate(0);
  begin(s, entry->second.run);
  draft_.op.at[0] = p;
  draft_.op.at[2] = read(s, s.operands[1], bytes, entry->second.kind);
  draft_.op.at[3] = read(s, s.operands[2], bytes, entry->second.kind);
  emit();
  begin(s, opcodes().at("selp.b32").run);
  draft_.op.at[0] = write(s, s.operands[0], 4);
  draft_.op.at[1] = constant(4, result == "f32" ? 0x3f800000 : 0xffffffff);
  draft_.op.at[2] = constant(4, 0);
  draft_.op.at[3] = p;
  emit();
}

// cvt[.rnd][.ftz][.sat].DTYPE.STYPE d, a, and cvt.rn.tf32.f32 and cvt.rna.tf32.f32 of 32 bits.
void Decoder::cvt(const Statement& s) {
  if (s.opcode() == "cvt.rn.tf32.f32" || s.opcode() == "cvt.rna.tf32.f32") {
    expect_operands(s, 2, 2);
    begin(s, to_tf32(s.opcode() == "cvt.rn.tf32.f32"));
    draft_.op.at[1] = read(s, s.operands[1], 4, 'f');
    draft_.op.at[0] = write(s, s.operands[0], 4);
    return emit();
  }
  Words words(s);
  std::string how = words.one_of({"rn", "rz", "rm", "rp", "rni", "rzi", "rmi", "rpi"});
  bool flush = words.accept("ftz"), saturate = words.accept("sat");
  Type to = type_of(words.take()), from = type_of(words.take());
  words.finish();
  Run run = conversion(to, from, how, saturate, flush);
  if (!run) words.refuse();
  expect_operands(s, 2, 2);
  begin(s, run);
  draft_.op.at[1] = value(s, s.operands[1], from);
  draft_.op.at[0] = destinations(s, to, 1)[0];
  emit();
  finish_destinations(s, to);
}

// cvta[.to].SPACE.u64: generic addresses of shared and local memory lie in windows.
void Decoder::cvta(const Statement& s) {
  Words words(s);
  bool to = words.accept("to");
  std::string space = words.one_of({"global", "const", "shared", "local"});
  if (space.empty() || words.take() != "u64") words.refuse();
  words.finish();
  expect_operands(s, 2, 2);
  begin(s, opcodes().at("add.u64").run);
  draft_.op.at[0] = write(s, s.operands[0], 8);
  draft_.op.at[1] = read(s, s.operands[1], 8, 'u');
  draft_.op.at[2] = constant(8, to ? -window_of(space) : window_of(space));
  emit();
}

void Decoder::isspacep(const Statement& s) {
  Words words(s);
  std::string space = words.one_of({"global", "shared", "local"});
  if (space.empty()) words.refuse();
  words.finish();
  expect_operands(s, 2, 2);
  begin(s, in_window);
  draft_.op.at[0] = write(s, s.operands[0], 0);
  draft_.op.at[1] = read(s, s.operands[1], 8, 'u');
  draft_.op.offset = static_cast<int64_t>(window_of(space));
  emit();
}

}  // namespace fake
