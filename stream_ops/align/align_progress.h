// What align must remember over a restart, in Table::kProgress of its task: per communicator how
// far windows are closed and which ranks are finished (one row), who its members are (one row; few
// batches say it), the runs that its ranks have begun (one row; run_numbering.h), and the rows that
// are carried over to the next window (a CollectiveBatch a rank). Open windows are not kept: they
// are read again.
#pragma once

#include <absl/status/statusor.h>

#include <compare>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "schemas/ids.h"
#include "schemas/window.h"
#include "state_store/key_schema.h"

namespace eroica {

// Whose windows are aligned together. One communicator's windows of time and of steps have nothing
// to do with each other.
struct AlignKey {
  JobId job;
  CommId communicator;
  WindowKind kind = WindowKind::kTime;
  friend auto operator<=>(const AlignKey&, const AlignKey&) = default;
};

struct AlignProgress {
  int64_t closed_through = 0;
  std::vector<RankId> finished;
  friend bool operator==(const AlignProgress&, const AlignProgress&) = default;
};

std::string AlignedKey(const AlignKey& key);
std::string CarriedKey(const AlignKey& key, RankId rank);
std::string MembersKey(const AlignKey& key);
std::string RunsKey(const AlignKey& key);
// Of any of the four rows; of a carried one without the rank. Nothing where the bytes are no such
// key.
struct AlignRow {
  ProgressFamily family = ProgressFamily::kAligned;
  AlignKey key;
};
std::optional<AlignRow> DecodeAlignKey(std::string_view key);

std::string EncodeProgress(const AlignProgress& progress);
std::optional<AlignProgress> DecodeProgress(std::string_view value);

std::string EncodeMembers(std::span<const uint32_t> members);
std::optional<std::vector<uint32_t>> DecodeMembers(std::string_view value);

}  // namespace eroica
