// decode.cc makes a Program of a function: places for registers, constants and
// variables, an op for each statement, and marks where a register may be read before it
// is written.
#include <algorithm>
#include <cstring>

#include "control.h"
#include "flow.h"
#include "memory.h"

namespace fake {

namespace {

constexpr uint32_t kUnsettled = 1u << 30;  // in a place: what follows is a register

}

Decoder::Decoder(const Function& function, const Symbols& symbols, Program* program)
    : function_(function), symbols_(symbols), program_(program) {}

uint32_t Decoder::allocate(size_t bytes_a_lane) {
  uint32_t place = program_->register_bytes;
  program_->register_bytes += bytes_a_lane ? static_cast<uint32_t>(bytes_a_lane * kLanes) : 64;
  return place;
}

uint32_t Decoder::constant(size_t bytes, uint64_t bits) {
  auto known = constants_.find({bytes, bits});
  if (known != constants_.end()) return known->second;
  uint32_t place = static_cast<uint32_t>(program_->constants.size() * 8);
  program_->constants.resize(program_->constants.size() + (bytes ? bytes * kLanes / 8 : 8));
  uint8_t* at = reinterpret_cast<uint8_t*>(program_->constants.data()) + place;
  if (bytes == 0) std::memset(at, bits ? 0xff : 0, 4);
  for (size_t i = 0; bytes && i < kLanes; i++) std::memcpy(at + i * bytes, &bits, bytes);
  return constants_[{bytes, bits}] = place | kConstant;
}

size_t Decoder::width(int reg) const {
  const Type& type = function_.registers[static_cast<size_t>(reg)].type;
  return type.kind == 'p' ? 0 : type.bytes();
}

void Decoder::place_parameters() {
  size_t at = 0;
  for (const Variable& v : function_.parameters) {
    at = (at + v.align - 1) / v.align * v.align;
    parameters_[v.name] = program_->parameters.size();
    program_->parameters.push_back({at, v.bytes});
    at += v.bytes;
  }
  program_->parameter_bytes = at;
}

// Shared variables of the module come first, then those of the function; the dynamic
// ones, extern without a size, begin where the static ones end.
void Decoder::place_variables() {
  auto add = [](std::map<std::string, uint64_t>* names, size_t* at, const Variable& v) {
    *at = (*at + v.align - 1) / v.align * v.align;
    (*names)[v.name] = *at;
    *at += v.bytes;
  };
  for (const Variable* v : symbols_.shared) {
    if (v->bytes) add(&shared_, &program_->static_shared, *v);
  }
  for (const Variable& v : function_.variables) {
    if (v.space == "shared") add(&shared_, &program_->static_shared, v);
    if (v.space == "local") add(&locals_, &program_->local_bytes, v);
  }
  program_->local_bytes = (program_->local_bytes + 15) & ~size_t(15);
  for (const Variable* v : symbols_.shared) {
    if (v->bytes == 0) add(&shared_, &program_->static_shared, *v);
  }
}

uint64_t Decoder::address_of(const Statement& s, const Operand& o) const {
  auto local = locals_.find(o.name), shared = shared_.find(o.name);
  auto global = symbols_.addresses.find(o.name);
  uint64_t offset = static_cast<uint64_t>(o.number);
  if (local != locals_.end()) return local->second + offset;
  if (shared != shared_.end()) return shared->second + offset;
  if (global != symbols_.addresses.end()) return global->second + offset;
  refuse_text(s.line, "unknown name " + o.name + " in " + s.opcode());
}

uint64_t Decoder::literal(const Statement& s, const Operand& o, size_t bytes, char kind) const {
  uint64_t bits = static_cast<uint64_t>(o.number);
  if (bytes == 0) return bits != 0;
  if (o.literal == 'i' && kind == 'f') refuse_text(s.line, "an integer where " + s.opcode() + " needs a float");
  if (o.literal == 'd' && bytes == 4) {
    double wide;
    std::memcpy(&wide, &bits, 8);
    float narrow = static_cast<float>(wide);
    bits = 0;
    std::memcpy(&bits, &narrow, 4);
  } else if (o.literal == 'f' && bytes == 8) {
    float narrow;
    std::memcpy(&narrow, &bits, 4);
    double wide = narrow;
    std::memcpy(&bits, &wide, 8);
  }
  return bytes < 8 ? bits & ((1ull << (8 * bytes)) - 1) : bits;
}

// special gives the place of a special register. Clocks are read anew each time.
uint32_t Decoder::special(const Statement& s, const std::string& name, size_t bytes) {
  static const std::map<std::string, int> clocks = {{"%clock", 0}, {"%clock64", 1}, {"%globaltimer", 2}};
  static const char* known[] = {
      "%tid.x", "%tid.y", "%tid.z", "%ntid.x", "%ntid.y", "%ntid.z", "%ctaid.x", "%ctaid.y", "%ctaid.z",
      "%nctaid.x", "%nctaid.y", "%nctaid.z", "%laneid", "%warpid", "%nwarpid", "%smid", "%nsmid",
      "%lanemask_eq", "%lanemask_lt", "%lanemask_le", "%lanemask_gt", "%lanemask_ge",
      "%dynamic_smem_size", "%total_smem_size"};
  auto clock = clocks.find(name);
  bool is_clock = clock != clocks.end(), is_known = is_clock;
  for (const char* each : known) is_known |= name == each;
  if (!is_known) refuse_text(s.line, "unknown register " + name + " in " + s.opcode());
  size_t own = is_clock && clock->second ? 8 : 4;
  if (bytes != own)
    refuse_text(s.line, name + " has " + std::to_string(8 * own) + " bits, and " + s.opcode() + " takes " +
                            std::to_string(8 * bytes));
  auto place = specials_.find(name);
  if (place == specials_.end()) {
    place = specials_.emplace(name, allocate(own)).first;
    if (!is_clock) program_->specials.push_back({name, place->second});
  }
  if (is_clock) {
    Draft draft;
    draft.op.run = read_clock;
    draft.op.at[0] = place->second;
    draft.op.mode = static_cast<uint8_t>(clock->second);
    draft.statement = current_;
    drafts_.push_back(draft);
  }
  return place->second;
}

uint32_t Decoder::read(const Statement& s, const Operand& o, size_t bytes, char kind) {
  if (o.kind == Operand::kNumber) return constant(bytes, literal(s, o, bytes, kind));
  if (o.kind == Operand::kSymbol && o.name[0] == '%') return special(s, o.name, bytes);
  if (o.kind == Operand::kSymbol) return constant(bytes, address_of(s, o));
  if (o.kind != Operand::kRegister) refuse_text(s.line, "an operand of " + s.opcode() + " that is not a value");
  if (width(o.reg) != bytes) refuse_text(s.line, o.name + " has not the width that " + s.opcode() + " takes");
  draft_.reads.push_back(o.reg);
  uint32_t place = places_[static_cast<size_t>(o.reg)];
  if (!o.negated) return place;
  Draft negation;
  negation.op.run = opcodes().at("not.pred").run;
  negation.op.at[0] = allocate(0);
  negation.op.at[1] = place;
  negation.statement = current_;
  negation.reads = {o.reg};
  drafts_.push_back(negation);
  return negation.op.at[0];
}

uint32_t Decoder::write(const Statement& s, const Operand& o, size_t bytes) {
  if (o.kind == Operand::kSink) return allocate(bytes);
  if (o.kind != Operand::kRegister) refuse_text(s.line, s.opcode() + " needs a register as destination");
  if (width(o.reg) != bytes) refuse_text(s.line, o.name + " has not the width that " + s.opcode() + " gives");
  draft_.writes.push_back(o.reg);
  return places_[static_cast<size_t>(o.reg)];
}

// write_pair gives the place of the q of p|q, or kNowhere.
uint32_t Decoder::write_pair(const Statement& s, const Operand& o) {
  if (o.pair < 0) return kNowhere;
  Operand q;
  q.kind = Operand::kRegister;
  q.reg = o.pair;
  q.name = function_.registers[static_cast<size_t>(o.pair)].name;
  return write(s, q, 0);
}

void Decoder::expect_operands(const Statement& s, size_t least, size_t most) const {
  if (s.operands.size() < least || s.operands.size() > most) {
    refuse_text(s.line, s.opcode() + " with " + std::to_string(s.operands.size()) + " operands");
  }
}

// begin starts an op; operands are added to draft_, then emit ends it.
Draft* Decoder::begin(const Statement& s, Run run) {
  draft_ = Draft{};
  draft_.op.run = run;
  draft_.statement = current_;
  if (s.guard >= 0) {
    if (width(s.guard) != 0) refuse_text(s.line, "a guard that is not a predicate");
    draft_.op.guard = places_[static_cast<size_t>(s.guard)];
    draft_.op.flip = s.guard_negated ? kAll : 0;
    draft_.reads.push_back(s.guard);
  }
  return &draft_;
}

void Decoder::emit() { drafts_.push_back(std::move(draft_)); }

void Decoder::plain(const Statement& s) {
  auto entry = opcodes().find(s.opcode());
  if (entry == opcodes().end()) refuse_text(s.line, "unknown opcode " + s.opcode());
  const Entry& e = entry->second;
  expect_operands(s, e.shape.size(), e.shape.size());
  begin(s, e.run);
  for (size_t i = 0; i < e.shape.size(); i++) {
    size_t bytes = e.shape[i] == 'p' ? 0 : static_cast<size_t>(e.shape[i] - '0');
    draft_.op.at[i] = i == 0 ? write(s, s.operands[0], bytes) : read(s, s.operands[i], bytes, e.kind);
  }
  emit();
}

void Decoder::statement(const Statement& s) {
  auto handler = handlers().find(s.words[0]);
  if (handler == handlers().end()) return plain(s);
  (this->*handler->second)(s);
}

void Decoder::push_op(const Op& op, int statement) {
  const Statement& s = function_.statements[static_cast<size_t>(statement)];
  program_->ops.push_back(op);
  program_->origins.push_back({s.line, s.file, s.source});
}

// emit_marked adds an op, with checks of suspect registers before and marks behind it.
void Decoder::emit_marked(const Draft& draft, const std::vector<uint32_t>& marks) {
  const bool copies = draft.is_copy && draft.reads.size() == 1 && draft.writes.size() == 1;
  Op extra;
  extra.guard = draft.op.guard;
  extra.flip = draft.op.flip;
  for (size_t i = 0; i < draft.reads.size() && !copies; i++) {
    uint32_t place = marks[static_cast<size_t>(draft.reads[i])];
    if (place == kNowhere) continue;
    Op check = extra;
    check.run = check_mark;
    check.at[0] = place;
    check.offset = draft.reads[i];
    if (settled_[static_cast<size_t>(draft.reads[i])] == draft.op.guard) check.guard = kNowhere;
    push_op(check, draft.statement);
  }
  // The mark of a load whose address is its destination must not come too early.
  push_op(draft.op, draft.statement);
  for (int reg : draft.writes) {
    uint32_t place = marks[static_cast<size_t>(reg)];
    if (place == kNowhere) continue;
    uint32_t from = copies ? marks[static_cast<size_t>(draft.reads[0])] : kNowhere;
    extra.run = from == kNowhere ? mark : copy_mark;
    extra.at[0] = place;
    extra.at[1] = from;
    push_op(extra, draft.statement);
  }
}

// share_places gives registers whose spans do not meet one place: the fewer a warp has,
// the more warps fit into the host's caches. It goes over the spans in their order and
// takes a place of the same width that has become free, or a new one. One that ends at
// the draft where the other begins is read by it before the other is written.
void Decoder::share_places(const std::vector<Span>& spans) {
  std::vector<size_t> order;
  for (size_t i = 0; i < spans.size(); i++) order.push_back(i);
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return spans[a].from < spans[b].from; });
  std::map<size_t, std::vector<uint32_t>> free;  // by width
  std::multimap<uint32_t, size_t> busy;          // by end
  settled_.assign(spans.size(), kNowhere);
  for (size_t reg : order) {
    if (spans[reg].from == ~0u) continue;  // never used
    while (!busy.empty() && busy.begin()->first <= spans[reg].from) {
      size_t ended = busy.begin()->second;
      free[width(static_cast<int>(ended))].push_back(settled_[ended]);
      busy.erase(busy.begin());
    }
    std::vector<uint32_t>& places = free[width(static_cast<int>(reg))];
    if (places.empty()) places.push_back(allocate(width(static_cast<int>(reg))));
    settled_[reg] = places.back();
    places.pop_back();
    busy.insert({spans[reg].to, reg});
  }
}

// settled is the place of an operand. Operands that are registers have their number
// until then.
uint32_t Decoder::settled(uint32_t place) const {
  if (place == kNowhere || place & kConstant || !(place & kUnsettled)) return place;
  return settled_[(place & ~kUnsettled) / 2];
}

void Decoder::finish() {
  for (Draft& draft : drafts_) {
    if (draft.target >= 0) draft.target = static_cast<int>(starts_[static_cast<size_t>(draft.target)]);
  }
  lay_out(&drafts_);
  Liveness live = liveness(function_, drafts_);
  share_places(live.spans);
  for (Draft& draft : drafts_) {
    for (uint32_t& place : draft.op.at) place = settled(place);
    draft.op.guard = settled(draft.op.guard);
  }
  program_->registers = std::max(16, std::min(function_.max_registers, live.most + 10));
  std::vector<uint32_t> marks(places_.size(), kNowhere);
  program_->marks = program_->register_bytes;
  for (size_t i = 0; i < marks.size(); i++) {
    if (live.suspects[i]) marks[i] = allocate(0);
  }
  program_->marks_end = program_->register_bytes;
  std::vector<uint32_t> pcs;
  for (const Draft& draft : drafts_) {
    pcs.push_back(static_cast<uint32_t>(program_->ops.size()));
    emit_marked(draft, marks);
  }
  size_t i = 0;
  for (const Draft& draft : drafts_) {
    if (draft.target >= 0) {
      uint32_t pc = pcs[i];
      while (program_->ops[pc].run != draft.op.run) pc++;
      program_->ops[pc].offset = pcs[static_cast<size_t>(draft.target)];
    }
    i++;
  }
}

void Decoder::run() {
  place_parameters();
  place_variables();
  for (const Register& r : function_.registers) {
    places_.push_back(kUnsettled | static_cast<uint32_t>(2 * places_.size()));
    program_->register_names.push_back(r.name);
  }
  for (const Statement& s : function_.statements) {
    starts_.push_back(static_cast<uint32_t>(drafts_.size()));
    statement(s);
    current_++;
  }
  finish();
}

void decode(const Function& function, const Symbols& symbols, Program* program) {
  Decoder(function, symbols, program).run();
}

}  // namespace fake
