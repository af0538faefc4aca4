// Sends dead letters back to the topics that they came from. One thread.
//
// What was sent back is not sent a second time unless that is asked for: a cause that is still
// there makes no loop, and a stage that has long forgotten a job does not see it anew. A mark on
// the dead-letter topic remembers it; a death between a resend and its mark repeats the resend.
#pragma once

#include <absl/status/status.h>

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "stream_ops/log/log.h"
#include "stream_ops/runtime/dead_letter.h"

namespace eroica {

struct ResendOptions {
  std::string topic_prefix;
  bool again = false;    // also what was sent back before, and what came back
  bool dry_run = false;  // counts what would be sent, and sends nothing
};

// Where the dead letters have gone: their sum is what was asked for.
struct ResendCounts {
  std::map<std::string, uint64_t> sent;  // by topic
  uint64_t cut = 0;                      // their bytes are not all there
  uint64_t sent_before = 0;
  uint64_t foreign_topic = 0;  // came from no topic that a stage reads
  uint64_t refused = 0;        // the log does not take them

  uint64_t total_sent() const;
};

class DeadLetterResend {
 public:
  // producer must outlive this; nullptr in a dry run.
  DeadLetterResend(LogProducer* producer, ResendOptions options)
      : producer_(producer), options_(std::move(options)) {}

  // letter.resent must be known.
  absl::Status Send(const DeadLetter& letter);
  // Everything that was sent is durable, and marked.
  absl::Status Finish();

  const ResendCounts& counts() const { return counts_; }

 private:
  bool IsInputOfAStage(const std::string& topic) const;
  absl::Status Append(const ProducerRecord& record);

  LogProducer* const producer_;
  const ResendOptions options_;
  ResendCounts counts_;
  std::vector<ProducerRecord> marks_;  // of what was sent and may not be durable yet
};

// Sentences, and the same as one JSON object.
std::string ResendText(const ResendCounts& counts, bool dry_run);
std::string ResendJson(const ResendCounts& counts, bool dry_run);

}  // namespace eroica
