// decode_control.cc decodes what moves lanes or lets them meet.
#include "control.h"
#include "decoder.h"

namespace fake {

bool Words::accept(const std::string& word) {
  if (at_ >= s_.words.size() || s_.words[at_] != word) return false;
  at_++;
  return true;
}

std::string Words::one_of(std::initializer_list<const char*> words) {
  for (const char* word : words) {
    if (accept(word)) return word;
  }
  return "";
}

std::string Words::take() {
  if (at_ >= s_.words.size()) refuse();
  return s_.words[at_++];
}

void Words::finish() const {
  if (at_ < s_.words.size()) refuse();
}

void Words::refuse() const { refuse_text(s_.line, "unknown opcode " + s_.opcode()); }

// skip_unless puts a branch over a guarded instruction at which lanes wait for others,
// so that those without the guard are elsewhere while they do. The instruction itself
// is then decoded without it.
bool Decoder::skip_unless(const Statement& s) {
  if (s.guard < 0) return false;
  begin(s, branch);
  draft_.op.flip ^= kAll;
  draft_.target = current_ + 1;
  emit();
  Statement bare = s;
  bare.guard = -1;
  statement(bare);
  return true;
}

void Decoder::bra(const Statement& s) {
  Words words(s);
  words.accept("uni");
  words.finish();
  begin(s, branch);
  draft_.target = s.target;
  emit();
}

void Decoder::ret(const Statement& s) {
  Words words(s);
  words.accept("uni");
  words.finish();
  expect_operands(s, 0, 0);
  begin(s, s.words[0] == "trap" ? trap : leave);
  emit();
}

// bar[rier]{.cta}.sync{.aligned} id{, count}, .arrive id, count,
// .red.popc.u32 d, id{, count}, p, .red.{and,or}.pred p, id{, count}, q, and
// bar.warp.sync mask.
void Decoder::bar(const Statement& s) {
  if (skip_unless(s)) return;
  Words words(s);
  if (words.accept("warp")) {
    if (!words.accept("sync")) words.refuse();
    words.finish();
    expect_operands(s, 1, 1);
    begin(s, meet_warp);
    draft_.op.at[0] = read(s, s.operands[0], 4, 'b');
    return emit();
  }
  words.accept("cta");
  std::string kind = words.one_of({"sync", "arrive", "red"}), how;
  if (kind == "red") {
    how = words.one_of({"popc", "and", "or"});
    words.accept("aligned");
    if (words.take() != (how == "popc" ? "u32" : "pred")) words.refuse();
  } else {
    words.accept("aligned");
  }
  words.finish();
  if (kind.empty() || (kind == "red" && how.empty())) words.refuse();
  const size_t first = kind == "red" ? 1 : 0, last = s.operands.size() - first;
  expect_operands(s, kind == "sync" ? 1 : kind == "arrive" ? 2 : 3, kind == "red" ? 4 : 2);
  begin(s, barrier);
  draft_.op.mode = how == "popc"      ? kPopc
                   : how == "and"     ? kEvery
                   : how == "or"      ? kAny
                   : kind == "arrive" ? kArrive
                                      : kSync;
  if (first) draft_.op.at[0] = write(s, s.operands[0], how == "popc" ? 4 : 0);
  draft_.op.at[1] = read(s, s.operands[first], 4, 'u');
  if (last == first + 2) draft_.op.at[2] = read(s, s.operands[first + 1], 4, 'u');
  if (first) draft_.op.at[3] = read(s, s.operands.back(), 0, 'p');
  emit();
}

// shfl.sync.MODE.b32 d|p, a, b, c, members
void Decoder::shfl(const Statement& s) {
  if (skip_unless(s)) return;
  Words words(s);
  if (!words.accept("sync")) words.refuse();
  Run run = shuffle_run(words.take());
  if (!run || words.take() != "b32") words.refuse();
  words.finish();
  expect_operands(s, 5, 5);
  begin(s, run);
  draft_.op.at[0] = write(s, s.operands[0], 4);
  draft_.op.at[1] = write_pair(s, s.operands[0]);
  for (size_t i = 1; i < 5; i++) draft_.op.at[1 + i] = read(s, s.operands[i], 4, 'b');
  emit();
}

// vote.sync.MODE.TYPE d, p, members
void Decoder::vote(const Statement& s) {
  if (skip_unless(s)) return;
  Words words(s);
  if (!words.accept("sync")) words.refuse();
  std::string mode = words.take(), type = words.take();
  words.finish();
  Run run = vote_run(mode, type);
  if (!run) words.refuse();
  expect_operands(s, 3, 3);
  begin(s, run);
  draft_.op.at[0] = write(s, s.operands[0], type == "pred" ? 0 : 4);
  draft_.op.at[1] = read(s, s.operands[1], 0, 'p');
  draft_.op.at[2] = read(s, s.operands[2], 4, 'b');
  emit();
}

// match.{any,all}.sync.{b32,b64} d|p, a, members
void Decoder::match(const Statement& s) {
  if (skip_unless(s)) return;
  Words words(s);
  std::string mode = words.take();
  if (!words.accept("sync")) words.refuse();
  std::string type = words.one_of({"b32", "b64"});
  words.finish();
  Run run = type.empty() ? nullptr : match_run(mode, type == "b64" ? 8 : 4);
  if (!run) words.refuse();
  expect_operands(s, 3, 3);
  begin(s, run);
  draft_.op.at[0] = write(s, s.operands[0], 4);
  draft_.op.at[1] = read(s, s.operands[1], type == "b64" ? 8 : 4, 'b');
  draft_.op.at[2] = read(s, s.operands[2], 4, 'b');
  draft_.op.at[3] = write_pair(s, s.operands[0]);
  emit();
}

// redux.sync.OP.TYPE d, a, members
void Decoder::redux(const Statement& s) {
  if (skip_unless(s)) return;
  Words words(s);
  if (!words.accept("sync")) words.refuse();
  std::string operation = words.take(), type = words.take();
  words.finish();
  Run run = reduce_run(operation, type);
  if (!run) words.refuse();
  expect_operands(s, 3, 3);
  begin(s, run);
  for (size_t i = 0; i < 3; i++) draft_.op.at[i] = i == 0 ? write(s, s.operands[0], 4) : read(s, s.operands[i], 4, 'b');
  emit();
}

// mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {d}, {a}, {b}, {c}, alone of its kind
void Decoder::mma(const Statement& s) {
  if (skip_unless(s)) return;
  if (s.opcode() != "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32") Words(s).refuse();
  expect_operands(s, 4, 4);
  for (size_t i = 0; i < 4; i++) {
    if (s.operands[i].parts.size() != (i == 2 ? 2 : 4)) refuse_text(s.line, s.opcode() + " takes 4, 4, 2 and 4 registers");
  }
  const uint32_t products = allocate(4 * sizeof(double));
  begin(s, multiply_tiles);
  for (size_t i = 0; i < 4; i++) draft_.op.at[i] = read(s, s.operands[1].parts[i], 4, 'b');
  for (size_t i = 0; i < 2; i++) draft_.op.at[4 + i] = read(s, s.operands[2].parts[i], 4, 'b');
  draft_.op.at[6] = constant(4, kAll);
  draft_.op.offset = products;
  emit();
  begin(s, add_tiles);
  for (size_t i = 0; i < 4; i++) draft_.op.at[4 + i] = read(s, s.operands[3].parts[i], 4, 'f');
  for (size_t i = 0; i < 4; i++) draft_.op.at[i] = write(s, s.operands[0].parts[i], 4);
  draft_.op.offset = products;
  emit();
}

void Decoder::activemask(const Statement& s) {
  if (skip_unless(s)) return;
  Words words(s);
  if (words.take() != "b32") words.refuse();
  words.finish();
  expect_operands(s, 1, 1);
  begin(s, active_mask);
  draft_.op.at[0] = write(s, s.operands[0], 4);
  emit();
}

// membar.LEVEL, fence{.sem}.SCOPE
void Decoder::fence(const Statement& s) {
  Words words(s);
  if (s.words[0] == "membar") {
    if (words.one_of({"cta", "gl", "sys"}).empty()) words.refuse();
  } else {
    words.one_of({"sc", "acq_rel"});
    if (words.one_of({"cta", "cluster", "gpu", "sys"}).empty()) words.refuse();
  }
  words.finish();
  expect_operands(s, 0, 0);
  begin(s, fake::fence);
  emit();
}

void Decoder::nanosleep(const Statement& s) {
  Words words(s);
  if (words.take() != "u32") words.refuse();
  words.finish();
  expect_operands(s, 1, 1);
  begin(s, rest);
  read(s, s.operands[0], 4, 'u');
  emit();
}

const std::map<std::string, Decoder::Handler>& Decoder::handlers() {
  static const auto* table = new std::map<std::string, Handler>{
      {"mov", &Decoder::mov}, {"setp", &Decoder::setp}, {"set", &Decoder::set}, {"cvt", &Decoder::cvt},
      {"cvta", &Decoder::cvta}, {"isspacep", &Decoder::isspacep}, {"ld", &Decoder::ld}, {"st", &Decoder::st},
      {"atom", &Decoder::atom}, {"red", &Decoder::atom}, {"prefetch", &Decoder::nothing}, {"bra", &Decoder::bra},
      {"ret", &Decoder::ret}, {"exit", &Decoder::ret}, {"trap", &Decoder::ret}, {"bar", &Decoder::bar},
      {"barrier", &Decoder::bar}, {"shfl", &Decoder::shfl}, {"vote", &Decoder::vote}, {"match", &Decoder::match},
      {"redux", &Decoder::redux}, {"mma", &Decoder::mma}, {"activemask", &Decoder::activemask}, {"membar", &Decoder::fence},
      {"fence", &Decoder::fence}, {"nanosleep", &Decoder::nanosleep}};
  return *table;
}

}  // namespace fake
