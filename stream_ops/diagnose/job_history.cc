#include "stream_ops/diagnose/job_history.h"

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>

#include "diagnosis/measurements/job_profile.h"
#include "diagnosis/measurements/lasting_excess.h"
#include "schemas/check.h"

namespace eroica {
namespace {

// As many as the longest look back needs.
constexpr int64_t kSlots = 32;
static_assert(kSlots >= kProfilesKept && kSlots >= kRankTimesKept);

uint8_t SlotOf(const Window& window) {
  return static_cast<uint8_t>((window.index % kSlots + kSlots) % kSlots);
}

std::string RowKey(const JobId& job, ProgressFamily family, WindowKind kind, uint8_t slot) {
  return BeginProgressKey(job, family).PutByte(static_cast<uint8_t>(kind)).PutByte(slot).key();
}

std::string RowKey(const JobId& job, ProgressFamily family, const Window& window) {
  return RowKey(job, family, window.kind, SlotOf(window));
}

template <typename T>
void Append(const T& window, size_t most, std::vector<T>& windows) {
  windows.push_back(window);
  if (windows.size() > most) windows.erase(windows.begin());
}

template <typename T>
void PutInOrder(std::vector<T>& windows) {
  std::ranges::sort(windows, {}, [](const T& window) { return window.window.index; });
}

}  // namespace

std::vector<RankTimes>* JobHistory::TimesOf(ProgressFamily family, Windows& windows) {
  switch (family) {
    case ProgressFamily::kBusyTimes: return &windows.busy;
    case ProgressFamily::kWorkTimes: return &windows.work;
    case ProgressFamily::kBytesTimes: return &windows.bytes;
    default: return nullptr;
  }
}

absl::Status JobHistory::Restore(ProgressKey key, std::string_view value) {
  const auto kind = key.rest.TakeByte();
  const auto slot = key.rest.TakeByte();
  const absl::Status damaged = absl::DataLossError("a window of the job's history cannot be read");
  if (!kind || *kind >= kWindowKindCount || !slot || !key.rest.AtEnd()) return damaged;
  Windows& windows = kinds_[*kind];
  if (key.family == ProgressFamily::kProfile) {
    PatternBatch& profile = windows.profiles.emplace_back();
    const DropReason reason = Decoder().Decode(std::as_bytes(std::span(value)), &profile);
    return reason == DropReason::kNone ? absl::OkStatus() : damaged;
  }
  std::vector<RankTimes>* const times = TimesOf(key.family, windows);
  return times != nullptr && DecodeState(value, &times->emplace_back()) ? absl::OkStatus()
                                                                        : damaged;
}

void JobHistory::FinishRestore() {
  for (Windows& windows : kinds_) {
    PutInOrder(windows.profiles);
    for (const ProgressFamily family :
         {ProgressFamily::kBusyTimes, ProgressFamily::kWorkTimes, ProgressFamily::kBytesTimes}) {
      std::vector<RankTimes>& times = *TimesOf(family, windows);
      PutInOrder(times);
      if (times.size() > kRankTimesKept) times.erase(times.begin());
    }
  }
}

DropReason JobHistory::Remember(const JobId& job, const CrossRankView& view,
                                StateChanges& changes) {
  const PatternBatch& profile = view.profile();
  if (profile.steps.empty()) return DropReason::kNone;
  Windows& windows = kinds_[static_cast<size_t>(profile.window.kind)];
  Bytes bytes;
  const DropReason reason = encoder_.TryEncode(profile, &bytes);
  if (reason == DropReason::kNone)
    changes.Put(Table::kProgress, RowKey(job, ProgressFamily::kProfile, profile.window),
                std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size()));
  Append(profile, kProfilesKept, windows.profiles);
  const std::pair<ProgressFamily, const RankTimes*> rows[] = {
      {ProgressFamily::kBusyTimes, &view.rank_times()},
      {ProgressFamily::kWorkTimes, &view.work_times()},
      {ProgressFamily::kBytesTimes, &view.exchanged()}};
  for (const auto& [family, times] : rows) {
    changes.Put(Table::kProgress, RowKey(job, family, profile.window), EncodeState(*times));
    Append(*times, kRankTimesKept, *TimesOf(family, windows));
  }
  return reason;
}

void JobHistory::Forget(const JobId& job, WindowKind kind, StateChanges& changes) {
  kinds_[static_cast<size_t>(kind)] = {};
  for (const ProgressFamily family : {ProgressFamily::kProfile, ProgressFamily::kBusyTimes,
                                      ProgressFamily::kWorkTimes, ProgressFamily::kBytesTimes}) {
    for (uint8_t slot = 0; slot < kSlots; ++slot)
      changes.Delete(Table::kProgress, RowKey(job, family, kind, slot));
  }
}

PastWindows JobHistory::Past(WindowKind kind) const {
  const Windows& windows = kinds_[static_cast<size_t>(kind)];
  return {.profiles = windows.profiles,
          .times = windows.busy,
          .work = windows.work,
          .bytes = windows.bytes};
}

}  // namespace eroica
