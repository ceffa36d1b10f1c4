// memory.cc finds memory for a warp's accesses: bounds, alignment, address spaces.
#include "memory.h"

#include <cinttypes>
#include <cstdio>

namespace fake {

namespace {

std::string text_of(const char* format, uint64_t a, uint64_t b = 0, uint64_t c = 0) {
  char text[256];
  std::snprintf(text, sizeof text, format, a, b, c);
  return text;
}

const char* verb(Access access) {
  return access == Access::kRead ? "read" : access == Access::kWrite ? "write" : "atomic access";
}

[[noreturn]] void stop_access(Warp& w, const Op& op, int lane, int code, Access access, uint32_t bytes, const std::string& why) {
  stop_lane(w, op, lane, code, std::string(verb(access)) + text_of(" of %" PRIu64 " bytes", bytes) + why);
}

// Lanes outside of the mask take the address of one inside, so that no loop needs to
// look at the mask.
void addresses(const Warp& w, const Op& op, uint32_t mask, uint64_t* a) {
  if (op.at[4] == kNowhere) {
    for (int i = 0; i < kLanes; i++) a[i] = static_cast<uint64_t>(op.offset);
    return;
  }
  if (op.lane_bytes == 4) {
    const uint32_t* base = w.in<uint32_t>(op.at[4]);
    for (int i = 0; i < kLanes; i++) a[i] = base[i] + static_cast<uint64_t>(op.offset);
  } else {
    const uint64_t* base = w.in<uint64_t>(op.at[4]);
    for (int i = 0; i < kLanes; i++) a[i] = base[i] + static_cast<uint64_t>(op.offset);
  }
  if (mask == kAll) return;
  const uint64_t some = a[first_lane(mask)];
  for (int i = 0; i < kLanes; i++) a[i] = mask & kBit[i] ? a[i] : some;
}

void check_alignment(Warp& w, const Op& op, uint32_t mask, const uint64_t* a, uint32_t bytes, Access access) {
  each(mask, [&](int lane) {
    if (a[lane] & (bytes - 1)) {
      stop_access(w, op, lane, kMisaligned, access, bytes, text_of(" at the misaligned address 0x%" PRIx64, a[lane]));
    }
  });
}

// inside tells whether all of an access lies in a range, for all lanes: the sign bit of
// x | (last - x) is set when x, the distance from the base, is not in 0..last.
bool inside(const uint64_t* a, Range range, uint32_t bytes) {
  if (range.size < bytes) return false;
  const uint64_t last = range.size - bytes;
  uint64_t bad = 0;
  for (int i = 0; i < kLanes; i++) bad |= (a[i] - range.base) | (last - (a[i] - range.base));
  return bad >> 63 == 0;
}

bool inside_one(uint64_t a, Range range, uint32_t bytes) {
  return range.size >= bytes && a >= range.base && a - range.base <= range.size - bytes;
}

Range find(const Warp& w, uint64_t address) {
  for (Range range : *program_of(w).variables) {
    if (inside_one(address, range, 1)) return range;
  }
  return w.cta->core->grid->launch->memory ? w.cta->core->grid->launch->memory->find(address) : Range{};
}

[[noreturn]] void stop_outside(Warp& w, const Op& op, int lane, Access access, uint32_t bytes, uint64_t a, Range last) {
  std::string why = text_of(" at 0x%" PRIx64 ", ", a);
  Range own = find(w, a);
  if (a < 4096) {
    why += "a null pointer";
  } else if (own.size) {
    why += text_of("across the end of the allocation of %" PRIu64 " bytes at 0x%" PRIx64, own.size, own.base);
  } else if (last.size && a - last.base - last.size < 1 << 20) {
    why += text_of("%" PRIu64 " bytes past the end of the allocation of %" PRIu64 " bytes at 0x%" PRIx64, a - last.base - last.size, last.size, last.base);
  } else if (last.size && last.base - a < 1 << 20) {
    why += text_of("%" PRIu64 " bytes before the allocation of %" PRIu64 " bytes at 0x%" PRIx64, last.base - a, last.size, last.base);
  } else {
    why += "which is in no allocation";
  }
  stop_access(w, op, lane, kIllegalAddress, access, bytes, why);
}

// nearby is an allocation that the lanes before met, for the message only.
Range nearby(const Warp& w, uint64_t a, Range remembered) {
  if (remembered.size) return remembered;
  for (uint64_t back = 4; back <= 1 << 20; back *= 2) {
    Range range = find(w, a - back);
    if (range.size) return range;
  }
  return {};
}

uint8_t* global_lane(Warp& w, const Op& op, int lane, uint64_t a, uint32_t bytes, Access access) {
  Range& remembered = w.ranges[index_of(program_of(w), op)];
  if (!inside_one(a, remembered, bytes)) {
    Range range = find(w, a);
    if (!inside_one(a, range, bytes)) stop_outside(w, op, lane, access, bytes, a, nearby(w, a, remembered));
    remembered = range;
  }
  return reinterpret_cast<uint8_t*>(a);
}

uint8_t* shared_lane(Warp& w, const Op& op, int lane, uint64_t a, uint32_t bytes, Access access) {
  Cta& cta = *w.cta;
  if (!inside_one(a, {0, cta.shared_bytes}, bytes)) {
    stop_access(w, op, lane, kIllegalAddress, access, bytes, text_of(" at 0x%" PRIx64 ", outside of the %" PRIu64 " bytes of shared memory", a, cta.shared_bytes));
  }
  if (cta.shadow) check_shared(w, op, lane, a, bytes, access);
  return cta.shared + a;
}

uint8_t* local_lane(Warp& w, const Op& op, int lane, uint64_t a, uint32_t bytes, Access access) {
  size_t size = program_of(w).local_bytes;
  if (!inside_one(a, {0, size}, bytes)) {
    stop_access(w, op, lane, kIllegalAddress, access, bytes, text_of(" at 0x%" PRIx64 ", outside of the %" PRIu64 " bytes of local memory", a, size));
  }
  return w.local + static_cast<size_t>(lane) * size + a;
}

uint8_t* lane_of(Warp& w, const Op& op, int lane, uint64_t a, uint32_t bytes, Access access) {
  switch (op.space) {
    case Space::kShared: return shared_lane(w, op, lane, a, bytes, access);
    case Space::kLocal: return local_lane(w, op, lane, a, bytes, access);
    case Space::kGlobal: return global_lane(w, op, lane, a, bytes, access);
    default:
      if (a - kSharedWindow < kWindow) return shared_lane(w, op, lane, a - kSharedWindow, bytes, access);
      if (a - kLocalWindow < kWindow) return local_lane(w, op, lane, a - kLocalWindow, bytes, access);
      return global_lane(w, op, lane, a, bytes, access);
  }
}

// pattern_of looks for a shape that needs no more than its ends checked.
Pattern pattern_of(const uint64_t* a, uint32_t mask, uint32_t bytes) {
  uint64_t apart = 0, gaps = mask == kAll ? 0 : 1;
  for (int i = 0; i < kLanes; i++) {
    apart |= a[i] ^ a[0];
    gaps |= a[i] ^ (a[0] + static_cast<uint64_t>(i) * bytes);
  }
  return apart == 0 ? Pattern::kOne : gaps == 0 ? Pattern::kRow : Pattern::kScattered;
}

// quick handles what is usual: all lanes in one allocation or in shared memory. It
// refuses nothing; what it does not know is left to the lanes.
bool quick(Warp& w, const Op& op, const uint64_t* a, uint32_t bytes, Access access, Where* where) {
  const bool shared = op.space == Space::kShared;
  if (op.space == Space::kLocal || (shared && w.cta->shadow)) return false;
  const Range range = shared ? Range{0, w.cta->shared_bytes} : w.ranges[index_of(program_of(w), op)];
  const uint64_t shift = shared ? reinterpret_cast<uint64_t>(w.cta->shared) : 0;
  if (where->pattern == Pattern::kScattered) {
    uint64_t all = 0;
    for (int i = 0; i < kLanes; i++) all |= a[i];
    if (all & (bytes - 1) || !inside(a, range, bytes)) return false;
  } else {
    uint64_t last = where->pattern == Pattern::kRow ? a[kLanes - 1] : a[0];
    if (a[0] & (bytes - 1) || !inside_one(a[0], range, bytes) || !inside_one(last, range, bytes)) return false;
    where->p[0] = reinterpret_cast<uint8_t*>(a[0] + shift);
    if (access == Access::kRead) return true;
  }
  for (int i = 0; i < kLanes; i++) where->p[i] = reinterpret_cast<uint8_t*>(a[i] + shift);
  return true;
}

}  // namespace

void resolve(Warp& w, const Op& op, uint32_t mask, uint32_t bytes, Access access, Where* where) {
  alignas(64) uint64_t a[kLanes];
  addresses(w, op, mask, a);
  where->pattern = pattern_of(a, mask, bytes);
  if (quick(w, op, a, bytes, access, where)) return;
  check_alignment(w, op, mask, a, bytes, access);
  if (op.space == Space::kLocal || a[0] - kLocalWindow < kWindow) where->pattern = Pattern::kScattered;
  each(mask, [&](int lane) { where->p[lane] = lane_of(w, op, lane, a[lane], bytes, access); });
  each(~mask, [&](int lane) { where->p[lane] = where->p[first_lane(mask)]; });
}

}  // namespace fake
