#include "stream_ops/recording/cut_end.h"

#include <vector>

#include "stream_ops/recording/partition_writer.h"

namespace eroica {
namespace {

absl::StatusOr<SegmentReader::Step> StepToEnd(SegmentReader* segment) {
  absl::StatusOr<SegmentReader::Step> step = SegmentReader::Step::kEntry;
  while (step.ok() && *step == SegmentReader::Step::kEntry) step = segment->Next();
  return step;
}

}  // namespace

absl::StatusOr<SegmentReader::Step> WalkToEnd(const std::string& directory,
                                              SegmentReader* segment) {
  const absl::StatusOr<SegmentReader::Step> step = StepToEnd(segment);
  if (!step.ok() || *step == SegmentReader::Step::kEnd) return step;
  if (IsBeingWritten(directory)) return SegmentReader::Step::kEnd;
  // A writer may have ended its entry, and itself, since the bytes were looked at.
  return StepToEnd(segment);
}

absl::StatusOr<std::optional<CutEnd>> FindCutEnd(const std::string& directory,
                                                 const TopicPartition& partition) {
  const absl::StatusOr<std::vector<int64_t>> bases = ListSegments(directory);
  if (!bases.ok()) return bases.status();
  if (bases->empty()) return std::optional<CutEnd>();
  absl::StatusOr<SegmentReader> segment = SegmentReader::Open(directory, bases->back(), kHopWindow);
  if (!segment.ok()) return segment.status();
  const absl::StatusOr<SegmentReader::Step> step = WalkToEnd(directory, &*segment);
  if (!step.ok()) return step.status();
  if (*step != SegmentReader::Step::kTail) return std::optional<CutEnd>();
  return std::optional(CutEnd{.partition = partition,
                              .file = segment->path(),
                              .position = segment->position(),
                              .bytes = segment->tail_end() - segment->position()});
}

}  // namespace eroica
