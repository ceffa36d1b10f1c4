// decode_memory.cc decodes ld, st, atom and red.
#include "control.h"
#include "decoder.h"
#include "memory.h"

namespace fake {

namespace {

struct Modifiers {
  bool is_volatile = false;
  std::string order, space;
  int lanes = 1;
  Type type;
};

Space space_of(const std::string& name) {
  if (name == "shared") return Space::kShared;
  if (name == "local") return Space::kLocal;
  return name.empty() ? Space::kGeneric : Space::kGlobal;  // .const lies with .global
}

// access_words reads what follows ld and st; hints of caches mean nothing here.
Modifiers access_words(Words* words, bool load) {
  Modifiers m;
  m.order = words->one_of({"weak", "relaxed", "acquire", "release", "volatile"});
  if (m.order == (load ? "release" : "acquire")) words->refuse();
  bool strong = m.order == "relaxed" || m.order == "acquire" || m.order == "release";
  if (strong && words->one_of({"cta", "cluster", "gpu", "sys"}).empty()) words->refuse();
  m.space = words->one_of({"global", "shared", "local", "const", "param"});
  if (words->accept("nc") && (!load || m.space != "global" || !m.order.empty())) words->refuse();
  words->one_of({"ca", "cg", "cs", "lu", "cv", "wb", "wt"});
  words->one_of({"L1::evict_normal", "L1::evict_unchanged", "L1::evict_first", "L1::evict_last", "L1::no_allocate"});
  words->one_of({"L2::64B", "L2::128B", "L2::256B"});
  std::string vector = words->one_of({"v2", "v4"});
  m.lanes = vector.empty() ? 1 : vector[1] - '0';
  m.type = type_of(words->take());
  words->finish();
  m.is_volatile = strong || m.order == "volatile";
  return m;
}

size_t natural(Type type) { return type.bits == 8 ? 2 : type.bytes(); }

}  // namespace

void Decoder::address(const Statement& s, const Operand& o, Space space) {
  if (o.kind != Operand::kAddress) refuse_text(s.line, s.opcode() + " needs an address in brackets");
  draft_.op.space = space;
  draft_.op.offset = o.number;
  if (o.reg >= 0) {
    if (width(o.reg) != 4 && width(o.reg) != 8) refuse_text(s.line, "an address must have 32 or 64 bits");
    draft_.op.lane_bytes = static_cast<uint8_t>(width(o.reg));
    draft_.op.at[4] = places_[static_cast<size_t>(o.reg)];
    draft_.reads.push_back(o.reg);
  } else if (!o.name.empty()) {
    uint64_t window = 0;
    if (space == Space::kGeneric)
      window = shared_.count(o.name) ? kSharedWindow : locals_.count(o.name) ? kLocalWindow : 0;
    draft_.op.offset = static_cast<int64_t>(address_of(s, o) + window);
  }
}

// destinations gives the places of a load: the registers, or temporaries where they are
// wider than the type, which finish_destinations copies.
std::vector<uint32_t> Decoder::destinations(const Statement& s, Type type, int lanes) {
  const Operand& d = s.operands[0];
  if ((d.kind == Operand::kVector) != (lanes > 1))
    refuse_text(s.line, s.opcode() + ": as many registers as .v2 or .v4 says");
  std::vector<Operand> parts = lanes > 1 ? d.parts : std::vector<Operand>{d};
  if (parts.size() != static_cast<size_t>(lanes))
    refuse_text(s.line, s.opcode() + ": as many registers as .v2 or .v4 says");
  std::vector<uint32_t> places;
  narrow_.clear();
  for (const Operand& part : parts) {
    if (part.kind != Operand::kRegister || width(part.reg) <= natural(type)) {
      places.push_back(write(s, part, natural(type)));
      continue;
    }
    places.push_back(allocate(natural(type)));
    narrow_.push_back({part.reg, places.back(), natural(type), width(part.reg)});
  }
  return places;
}

void Decoder::finish_destinations(const Statement& s, Type type) {
  for (const Narrow& narrow : std::vector<Narrow>(std::move(narrow_))) {
    begin(s, resize(static_cast<int>(narrow.to), static_cast<int>(narrow.from), type.kind == 's'));
    draft_.op.at[0] = places_[static_cast<size_t>(narrow.reg)];
    draft_.op.at[1] = narrow.temporary;
    draft_.writes.push_back(narrow.reg);
    emit();
  }
}

// value reads what a store or a cvt takes: of a register wider than the type, the low
// part.
uint32_t Decoder::value(const Statement& s, const Operand& o, Type type) {
  if (o.kind != Operand::kRegister || width(o.reg) <= natural(type)) return read(s, o, natural(type), type.kind);
  Draft cut;
  cut.op.run = resize(static_cast<int>(natural(type)), static_cast<int>(width(o.reg)), false);
  cut.op.at[0] = allocate(natural(type));
  cut.op.at[1] = places_[static_cast<size_t>(o.reg)];
  cut.statement = current_;
  cut.reads = {o.reg};
  cut.op.guard = draft_.op.guard;
  cut.op.flip = draft_.op.flip;
  drafts_.push_back(cut);
  return cut.op.at[0];
}

void Decoder::load_parameter(const Statement& s, Type type, int lanes) {
  const Operand& o = s.operands[1];
  auto found = parameters_.find(o.name);
  if (o.kind != Operand::kAddress || found == parameters_.end())
    refuse_text(s.line, "unknown parameter in " + s.opcode());
  const Parameter& parameter = program_->parameters[found->second];
  size_t bytes = type.bytes() * static_cast<size_t>(lanes);
  if (o.number < 0 || static_cast<size_t>(o.number) + bytes > parameter.size)
    refuse_text(s.line, s.opcode() + " outside of the parameter " + o.name);
  begin(s, parameter_run(type, lanes));
  draft_.op.offset = static_cast<int64_t>(parameter.offset) + o.number;
}

void Decoder::ld(const Statement& s) {
  Words words(s);
  Modifiers m = access_words(&words, true);
  Run run = load_run(m.type, m.lanes);
  if (!run) words.refuse();
  expect_operands(s, 2, 2);
  if (m.space == "param") {
    load_parameter(s, m.type, m.lanes);
  } else {
    begin(s, run);
    address(s, s.operands[1], space_of(m.space));
    draft_.op.plain = !m.is_volatile;
  }
  std::vector<uint32_t> places = destinations(s, m.type, m.lanes);
  for (size_t i = 0; i < places.size(); i++) draft_.op.at[i] = places[i];
  emit();
  finish_destinations(s, m.type);
}

void Decoder::st(const Statement& s) {
  Words words(s);
  Modifiers m = access_words(&words, false);
  Run run = store_run(m.type, m.lanes);
  if (!run || m.space == "param" || m.space == "const") words.refuse();
  expect_operands(s, 2, 2);
  std::vector<Operand> parts = m.lanes > 1 ? s.operands[1].parts : std::vector<Operand>{s.operands[1]};
  if (parts.size() != static_cast<size_t>(m.lanes))
    refuse_text(s.line, s.opcode() + ": as many registers as .v2 or .v4 says");
  begin(s, run);
  address(s, s.operands[0], space_of(m.space));
  draft_.op.plain = !m.is_volatile;
  for (size_t i = 0; i < parts.size(); i++) draft_.op.at[i] = value(s, parts[i], m.type);
  emit();
}

// atom{.sem}{.scope}{.space}.op{.vec}.type d, [a], b{, c}; red has no d.
void Decoder::atom(const Statement& s) {
  Words words(s);
  const bool result = s.words[0] == "atom";
  words.one_of({"relaxed", "acquire", "release", "acq_rel"});
  words.one_of({"cta", "cluster", "gpu", "sys"});
  std::string space = words.one_of({"global", "shared"});
  std::string operation = words.take(), vector = words.one_of({"v2", "v4"}), type = words.take();
  words.finish();
  const int lanes = vector.empty() ? 1 : vector[1] - '0';
  Run run = nullptr;
  if (lanes > 1) {
    run = !result && operation == "add" && type == "f32" && space != "shared" ? red_vector_run(lanes) : nullptr;
  } else {
    if (!result) run = atomic_run("red." + operation, type);
    if (!run) run = atomic_run(operation, type);
  }
  const bool swap = operation == "cas";
  if (!run || (!result && (swap || operation == "exch"))) words.refuse();
  const size_t first = result ? 1 : 0, bytes = type_of(type).bytes();
  expect_operands(s, first + (swap ? 3 : 2), first + (swap ? 3 : 2));
  begin(s, run);
  address(s, s.operands[first], space_of(space));
  if (lanes > 1) {
    const std::vector<Operand>& parts = s.operands[1].parts;
    if (parts.size() != static_cast<size_t>(lanes))
      refuse_text(s.line, s.opcode() + ": as many registers as .v2 or .v4 says");
    for (size_t i = 0; i < parts.size(); i++) draft_.op.at[i] = read(s, parts[i], 4, 'f');
  } else {
    if (result) draft_.op.at[0] = write(s, s.operands[0], bytes);
    draft_.op.at[1] = read(s, s.operands[first + 1], bytes, type[0]);
    if (swap) draft_.op.at[2] = read(s, s.operands[first + 2], bytes, type[0]);
  }
  emit();
}

// prefetch changes nothing that can be seen.
void Decoder::nothing(const Statement& s) {
  Words words(s);
  words.one_of({"global", "local"});
  if (words.one_of({"L1", "L2"}).empty()) words.refuse();
  words.finish();
}

}  // namespace fake
