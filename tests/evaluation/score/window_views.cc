#include "tests/evaluation/score/window_views.h"

#include <utility>
#include <vector>

namespace eroica {

absl::Status WindowViews::Add(const ConsumerRecord& record) {
  if (TypeOf(record.payload()) == PayloadType::kRankStanding)
    return absl::OkStatus();  // where ranks stand is no part of a window
  const absl::Status undecodable =
      absl::DataLossError("a record of the patterns topic cannot be decoded");
  if (TypeOf(record.payload()) == PayloadType::kCollectiveSummary) {
    CollectiveSummary summary;
    if (decoder_.Decode(record.payload(), &summary) != DropReason::kNone) return undecodable;
    windows_.Add(std::move(summary), record.offset, record.timestamp_ms);
  } else {
    PatternBatch batch;
    if (decoder_.Decode(record.payload(), &batch) != DropReason::kNone) return undecodable;
    windows_.Add(std::move(batch), record.offset, record.timestamp_ms);
  }
  while (const std::optional<WindowId> complete = windows_.OldestComplete()) Close(*complete);
  return absl::OkStatus();
}

void WindowViews::Finish() {
  while (const std::optional<WindowId> oldest = windows_.Oldest()) Close(*oldest);
}

void WindowViews::Close(WindowId id) {
  JobWindow window = windows_.Close(id);
  if (window.batches.empty()) return;
  std::vector<PatternBatch> batches;
  for (auto& [rank, batch] : window.batches) batches.push_back(std::move(batch));
  std::vector<CollectiveSummary> summaries;
  for (auto& [communicator, summary] : window.summaries) summaries.push_back(std::move(summary));
  use_(CrossRankView(batches, summaries));
}

}  // namespace eroica
