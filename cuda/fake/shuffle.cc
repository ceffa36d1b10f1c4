// shuffle.cc is what lanes of a warp tell each other: shuffles, votes, matches, sums.
#include <chrono>

#include "control.h"

namespace fake {

namespace {

enum class Mode { kUp, kDown, kButterfly, kIndex };

// source is the lane to read from: c holds the clamp in bits 0..4 and the segment's
// mask in bits 8..12.
template <Mode mode>
int source(int lane, uint32_t b, uint32_t c, bool* valid) {
  const int segment = static_cast<int>(c >> 8 & 31), clamp = static_cast<int>(c & 31), step = static_cast<int>(b & 31);
  const int most = (lane & segment) | (clamp & ~segment), least = lane & segment;
  int j = mode == Mode::kUp ? lane - step : mode == Mode::kDown ? lane + step
        : mode == Mode::kButterfly ? lane ^ step : least | (step & ~segment);
  *valid = mode == Mode::kUp ? j >= most : j <= most;
  return *valid ? j : lane;
}

// at: d, p, a, b, c, members.
template <Mode mode>
void shuffle(Warp& w, const Op& op, uint32_t mask) {
  const uint32_t* members = w.in<uint32_t>(op.at[5]);
  mask = meet(w, op, mask, members);
  if (mask == 0) return;
  const uint32_t *a = w.in<uint32_t>(op.at[2]), *b = w.in<uint32_t>(op.at[3]), *c = w.in<uint32_t>(op.at[4]);
  alignas(64) uint32_t result[kLanes];
  uint32_t valid = 0;
  each(mask, [&](int i) {
    bool in_range;
    int j = source<mode>(i, b[i], c[i], &in_range);
    if (!(members[i] & kBit[j]))
      stop_lane(w, op, i, kLaunchFailed, "shuffle from lane " + std::to_string(j) + ", which is inactive");
    result[i] = a[j];
    valid |= in_range ? kBit[i] : 0;
  });
  if (op.at[0] != kNowhere) blend(w.out<uint32_t>(op.at[0]), result, mask);
  if (op.at[1] != kNowhere) set_predicate(w, op.at[1], valid, mask);
}

enum class Vote { kBallot, kAll, kAny, kUniform };

// at: d, p, members.
template <Vote vote>
void votes(Warp& w, const Op& op, uint32_t mask) {
  const uint32_t* members = w.in<uint32_t>(op.at[2]);
  mask = meet(w, op, mask, members);
  const uint32_t p = w.predicate(op.at[1]);
  uint32_t answer = 0;
  each(mask, [&](int i) {
    const uint32_t all = members[i], yes = p & all;
    if (vote == Vote::kBallot) w.out<uint32_t>(op.at[0])[i] = yes;
    bool is = vote == Vote::kAll ? yes == all : vote == Vote::kAny ? yes != 0 : yes == 0 || yes == all;
    answer |= is ? kBit[i] : 0;
  });
  if (vote != Vote::kBallot) set_predicate(w, op.at[0], answer, mask);
}

// at: d, a, members, p. match.any gives the lanes with the same value; match.all gives
// all or none.
template <class T, bool all>
void match(Warp& w, const Op& op, uint32_t mask) {
  const uint32_t* members = w.in<uint32_t>(op.at[2]);
  mask = meet(w, op, mask, members);
  const T* a = w.in<T>(op.at[1]);
  uint32_t result[kLanes], same_all = 0;
  each(mask, [&](int i) {
    uint32_t same = 0;
    each(members[i], [&](int j) { same |= a[i] == a[j] ? kBit[j] : 0; });
    bool complete = same == members[i];
    result[i] = !all || complete ? same : 0;
    same_all |= complete ? kBit[i] : 0;
  });
  each(mask, [&](int i) { w.out<uint32_t>(op.at[0])[i] = result[i]; });
  if (all && op.at[3] != kNowhere) set_predicate(w, op.at[3], same_all, mask);
}

struct Add { template <class T> static T of(T a, T b) { return a + b; } };
struct Min { template <class T> static T of(T a, T b) { return a < b ? a : b; } };
struct Max { template <class T> static T of(T a, T b) { return a > b ? a : b; } };
struct And { template <class T> static T of(T a, T b) { return a & b; } };
struct Or { template <class T> static T of(T a, T b) { return a | b; } };
struct Xor { template <class T> static T of(T a, T b) { return a ^ b; } };

// redux.sync, at: d, a, members.
template <class F, class T>
void reduce(Warp& w, const Op& op, uint32_t mask) {
  const uint32_t* members = w.in<uint32_t>(op.at[2]);
  mask = meet(w, op, mask, members);
  const T* a = w.in<T>(op.at[1]);
  T result[kLanes];
  each(mask, [&](int i) {
    T sum = a[first_lane(members[i])];
    each(members[i] & (members[i] - 1), [&](int j) { sum = F::of(sum, a[j]); });
    result[i] = sum;
  });
  each(mask, [&](int i) { w.out<T>(op.at[0])[i] = result[i]; });
}

}  // namespace

Run shuffle_run(const std::string& mode) {
  if (mode == "up") return shuffle<Mode::kUp>;
  if (mode == "down") return shuffle<Mode::kDown>;
  if (mode == "bfly") return shuffle<Mode::kButterfly>;
  return mode == "idx" ? shuffle<Mode::kIndex> : nullptr;
}

Run vote_run(const std::string& mode, const std::string& type) {
  if (mode == "ballot") return type == "b32" ? votes<Vote::kBallot> : nullptr;
  if (type != "pred") return nullptr;
  if (mode == "all") return votes<Vote::kAll>;
  if (mode == "any") return votes<Vote::kAny>;
  return mode == "uni" ? votes<Vote::kUniform> : nullptr;
}

Run match_run(const std::string& mode, int bytes) {
  if (mode == "any") return bytes == 4 ? match<uint32_t, false> : match<uint64_t, false>;
  if (mode == "all") return bytes == 4 ? match<uint32_t, true> : match<uint64_t, true>;
  return nullptr;
}

Run reduce_run(const std::string& operation, const std::string& type) {
  bool is_signed = type == "s32";
  if (type == "u32" || is_signed) {
    if (operation == "add") return reduce<Add, uint32_t>;
    if (operation == "min") return is_signed ? reduce<Min, int32_t> : reduce<Min, uint32_t>;
    if (operation == "max") return is_signed ? reduce<Max, int32_t> : reduce<Max, uint32_t>;
  } else if (type == "b32") {
    if (operation == "and") return reduce<And, uint32_t>;
    if (operation == "or") return reduce<Or, uint32_t>;
    if (operation == "xor") return reduce<Xor, uint32_t>;
  }
  return nullptr;
}

void meet_warp(Warp& w, const Op& op, uint32_t mask) { meet(w, op, mask, w.in<uint32_t>(op.at[0])); }

void active_mask(Warp& w, const Op& op, uint32_t mask) {
  each(mask, [&](int i) { w.out<uint32_t>(op.at[0])[i] = w.active; });
}

void read_clock(Warp& w, const Op& op, uint32_t mask) {
  using std::chrono::nanoseconds;
  auto wall = std::chrono::system_clock::now().time_since_epoch();
  auto since = std::chrono::steady_clock::now().time_since_epoch();
  uint64_t now = static_cast<uint64_t>(std::chrono::duration_cast<nanoseconds>(op.mode == 2 ? wall : since).count());
  each(mask, [&](int i) {
    if (op.mode == 0) {
      w.out<uint32_t>(op.at[0])[i] = static_cast<uint32_t>(now);
    } else {
      w.out<uint64_t>(op.at[0])[i] = now;
    }
  });
}

}  // namespace fake
