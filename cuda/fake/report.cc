// report.cc says where a kernel stopped.
#include "warp.h"

namespace fake {

namespace {

std::string triple(uint32_t x, uint32_t y, uint32_t z) {
  return "(" + std::to_string(x) + ", " + std::to_string(y) + ", " + std::to_string(z) + ")";
}

std::string head_of(const Warp& w, const Op& op) {
  const Program& program = program_of(w);
  const uint32_t* id = w.cta->id;
  return "kernel " + program.name + ", " + place_of(program, index_of(program, op)) + ", CTA " +
         triple(id[0], id[1], id[2]);
}

}  // namespace

std::string place_of(const Program& program, uint32_t pc) {
  const Origin& origin = program.origins[pc];
  std::string text = "PTX line " + std::to_string(origin.line);
  auto file = program.files->find(origin.file);
  if (origin.source && file != program.files->end())
    text += " (" + file->second + ":" + std::to_string(origin.source) + ")";
  return text;
}

std::string lanes_text(uint32_t mask) {
  std::string text;
  for (int i = 0; i < kLanes; i++) {
    if (!(mask >> i & 1)) continue;
    int last = i;
    while (last + 1 < kLanes && mask >> (last + 1) & 1) last++;
    text += (text.empty() ? "" : ",") + std::to_string(i) + (last > i ? "-" + std::to_string(last) : "");
    i = last;
  }
  return "lanes " + text;
}

void stop_lane(const Warp& w, const Op& op, int lane, int code, const std::string& what) {
  const uint32_t* block = w.cta->core->grid->launch->block;
  uint32_t thread = w.index * kLanes + static_cast<uint32_t>(lane);
  std::string where = triple(thread % block[0], thread / block[0] % block[1], thread / block[0] / block[1]);
  throw Refusal{{code, head_of(w, op) + ", thread " + where + ": " + what}};
}

void stop_warp(const Warp& w, const Op& op, int code, const std::string& what) {
  throw Refusal{{code, head_of(w, op) + ", warp " + std::to_string(w.index) + ": " + what}};
}

}  // namespace fake
