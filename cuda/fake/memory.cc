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

[[noreturn]] void stop_access(Warp& w, const Op& op, int lane, int code, Access access, uint32_t bytes,
                              const std::string& why) {
  stop_lane(w, op, lane, code, std::string(verb(access)) + text_of(" of %" PRIu64 " bytes", bytes) + why);
}

// addresses gathers them. Lanes outside of the mask take the address of one inside, so that no loop needs to
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
    why += text_of("%" PRIu64 " bytes past the end of the allocation of %" PRIu64 " bytes at 0x%" PRIx64,
                   a - last.base - last.size, last.size, last.base);
  } else if (last.size && last.base - a < 1 << 20) {
    why += text_of("%" PRIu64 " bytes before the allocation of %" PRIu64 " bytes at 0x%" PRIx64, last.base - a,
                   last.size, last.base);
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
    if (access == Access::kAtomic && !range.atomics) {
      stop_access(w, op, lane, kLaunchFailed, access, bytes,
                  text_of(" at 0x%" PRIx64 ", in host memory or on another device: HOGWILD_FAKE_P2P=no-atomics", a));
    }
    remembered = range;
  }
  return reinterpret_cast<uint8_t*>(a);
}

uint8_t* shared_lane(Warp& w, const Op& op, int lane, uint64_t a, uint32_t bytes, Access access) {
  Cta& cta = *w.cta;
  if (!inside_one(a, {0, cta.shared_bytes}, bytes)) {
    stop_access(w, op, lane, kIllegalAddress, access, bytes,
                text_of(" at 0x%" PRIx64 ", outside of the %" PRIu64 " bytes of shared memory", a, cta.shared_bytes));
  }
  if (cta.shadow) check_shared(w, op, lane, a, bytes, access);
  return cta.shared + a;
}

uint8_t* local_lane(Warp& w, const Op& op, int lane, uint64_t a, uint32_t bytes, Access access) {
  size_t size = program_of(w).local_bytes;
  if (!inside_one(a, {0, size}, bytes)) {
    stop_access(w, op, lane, kIllegalAddress, access, bytes,
                text_of(" at 0x%" PRIx64 ", outside of the %" PRIu64 " bytes of local memory", a, size));
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

// Scan is what one pass over the addresses tells, each 0 when all is well: apart, that
// they are the same; gaps, that they are a row; low has their lowest bits; the sign of
// bad, that all lie in the range.
struct Scan {
  uint64_t apart = 0, gaps = 0, low = 0, bad = 0;
};

// scan also writes the host addresses, as if all were well.
Scan scan(const uint64_t* from, uint64_t offset, uint32_t bytes, Range range, uint64_t shift, uint8_t** p) {
  Scan all;
  const uint64_t first = from[0] + offset, last = range.size - bytes;
  for (int i = 0; i < kLanes; i++) {
    const uint64_t a = from[i] + offset, x = a - range.base;
    all.apart |= a ^ first;
    all.low |= a;
    all.bad |= x | (last - x);
    p[i] = reinterpret_cast<uint8_t*>(a + shift);
  }
  for (int i = 0; i + 1 < kLanes; i++) all.gaps |= (from[i + 1] - from[i]) ^ bytes;
  if (range.size < bytes) all.bad = ~0ull;
  return all;
}

// by_lane is the way for what is not usual: it finds each lane's memory, or refuses.
void by_lane(Warp& w, const Op& op, uint32_t mask, uint32_t bytes, Access access, const uint64_t* a, Where* where) {
  check_alignment(w, op, mask, a, bytes, access);
  where->pattern = Pattern::kScattered;
  each(mask, [&](int lane) { where->p[lane] = lane_of(w, op, lane, a[lane], bytes, access); });
  each(~mask, [&](int lane) { where->p[lane] = where->p[first_lane(mask)]; });
}

}  // namespace

void resolve(Warp& w, const Op& op, uint32_t mask, uint32_t bytes, Access access, Where* where) {
  const bool shared = op.space == Space::kShared;
  const Range range = shared ? Range{0, w.cta->shared_bytes} : w.ranges[index_of(program_of(w), op)];
  const uint64_t shift = shared ? reinterpret_cast<uint64_t>(w.cta->shared) : 0;
  const bool whole = mask == kAll && op.lane_bytes == 8 && op.at[4] != kNowhere;
  alignas(64) uint64_t a[kLanes];
  if (!whole) addresses(w, op, mask, a);
  const Scan all =
      whole ? scan(w.in<uint64_t>(op.at[4]), static_cast<uint64_t>(op.offset), bytes, range, shift, where->p)
            : scan(a, 0, bytes, range, shift, where->p);
  const bool watched = shared && w.cta->shadow,
             usual = all.bad >> 63 == 0 && (all.low & (bytes - 1)) == 0 && op.space != Space::kLocal;
  if (whole && (watched || !usual)) addresses(w, op, mask, a);
  if (!usual) return by_lane(w, op, mask, bytes, access, a, where);
  where->pattern = all.apart == 0 ? Pattern::kOne : all.gaps == 0 && mask == kAll ? Pattern::kRow : Pattern::kScattered;
  const uint32_t lanes = all.apart == 0 ? mask & -mask : mask;  // one speaks for all at one address
  if (watched) each(lanes, [&](int lane) { check_shared(w, op, lane, a[lane], bytes, access); });
}

}  // namespace fake
