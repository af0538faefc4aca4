#include "stream_ops/summarize/edge_summarizer.h"

#include <fmt/format.h>

#include <utility>

#include "schemas/check.h"
#include "schemas/invariants.h"

namespace eroica {

EdgeSummarizer::EdgeSummarizer(const SummarizeOptions& options, Emit emit)
    : emit_(std::move(emit)), processor_(options) {
  EROICA_CHECK(emit_ != nullptr);
  status_ = processor_.Init(*this);
}

absl::Status EdgeSummarizer::Add(const EventBatch& batch) {
  if (const DropReason reason = CheckInvariants(batch); reason != DropReason::kNone) {
    return absl::InvalidArgumentError(fmt::format("batch {} of rank {}: {}", batch.sequence,
                                                  batch.identity.rank.value, ToString(reason)));
  }
  processor_.ProcessBatch(batch, batches_++);
  return TakeStatus();
}

absl::Status EdgeSummarizer::Finish() {
  if (absl::Status status = processor_.Punctuate(PunctuationType::kEndOfInput); !status.ok())
    return status;
  return TakeStatus();
}

void EdgeSummarizer::Forward(Topic topic, std::string key, PayloadType type, Bytes payload,
                             int64_t timestamp_ms, const JobId& job) {
  if (!status_.ok()) return;
  status_ = emit_({topic, std::move(key), type, payload, timestamp_ms, job});
}

absl::Status EdgeSummarizer::TakeStatus() {
  changes_.clear();
  return std::exchange(status_, absl::OkStatus());
}

}  // namespace eroica
