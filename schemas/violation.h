// The first rule that a batch breaks. Included by *_invariants.cc only.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <utility>

#include "schemas/codec.h"

namespace eroica {

class Violation {
 public:
  DropReason reason() const { return reason_; }

  // Keeps the reason of the first rule that does not hold.
  void Require(bool holds, DropReason otherwise) {
    if (!holds && reason_ == DropReason::kNone) reason_ = otherwise;
  }
  void RequireRows(size_t rows, size_t rows_max) {
    Require(rows <= rows_max, DropReason::kLimitExceeded);
  }
  void RequireIndex(uint64_t index, uint64_t count) {
    Require(index < count, DropReason::kIndexOutOfRange);
  }
  template <typename E>
  void RequireEnum(E value, int count) {
    Require(static_cast<int>(value) < count, DropReason::kEnumOutOfRange);
  }
  // A moment or a duration.
  void RequireTime(int64_t ns) {
    Require(ns >= 0 && ns <= CodecLimits::kMaxTimeNs, DropReason::kTimeOutOfRange);
  }
  // A training step, -1 where there is none.
  void RequireStep(int64_t step) {
    Require(step >= -1 && step <= CodecLimits::kMaxTimeNs, DropReason::kTimeOutOfRange);
  }
  void RequireFinite(double value) { Require(std::isfinite(value), DropReason::kValueOutOfRange); }
  // Between 0 and 1, with room for rounding.
  void RequireShare(double value) {
    Require(value >= -1e-6 && value <= 1 + 1e-6, DropReason::kValueOutOfRange);
  }
  // Of another rank, -1 where there is none.
  void RequirePeer(int32_t peer, uint32_t world_size) {
    Require(peer >= -1 && peer < static_cast<int64_t>(world_size), DropReason::kIndexOutOfRange);
  }
  template <typename Rows, typename Key>
  void RequireSorted(const Rows& rows, Key key) {
    Require(std::is_sorted(rows.begin(), rows.end(),
                           [key](const auto& a, const auto& b) { return key(a) < key(b); }),
            DropReason::kNotInOrder);
  }

  void RequireJob(const JobId& job) {
    Require(!job.value.empty(), DropReason::kInvalidIdentity);
    RequireRows(job.value.size(), CodecLimits::kNameBytes);
  }
  void RequireWorld(uint32_t world_size) {
    Require(world_size > 0, DropReason::kInvalidIdentity);
    RequireRows(world_size, CodecLimits::kRanks);
  }
  void RequireRank(RankId rank, uint32_t world_size) {
    Require(rank.value < world_size, DropReason::kInvalidIdentity);
  }

  void RequireWindow(const Window& window) {
    RequireEnum(window.kind, kWindowKindCount);
    Require(std::abs(window.index / 2) <= CodecLimits::kMaxTimeNs / 2, DropReason::kTimeOutOfRange);
    RequireTime(window.start_ns);
    RequireTime(window.end_ns);
    Require(window.start_ns <= window.end_ns, DropReason::kTimeOutOfRange);
    RequireStep(window.first_step);
    RequireStep(window.last_step);
    Require(window.first_step <= window.last_step, DropReason::kTimeOutOfRange);
  }

 private:
  DropReason reason_ = DropReason::kNone;
};

}  // namespace eroica
