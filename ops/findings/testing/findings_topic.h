// A topic of findings for tests of those who read it.
#pragma once

#include <cstdint>
#include <string>

#include "schemas/check.h"
#include "schemas/codec.h"
#include "schemas/example_payloads.h"
#include "schemas/test_encoder.h"
#include "stream_ops/log/log.h"

namespace eroica {

class FindingsTopic {
 public:
  // Makes eroica.findings in the log, which must outlive this.
  explicit FindingsTopic(Log& log, int32_t partitions = 1) {
    const absl::Status made = log.admin().CreateTopic({.name = "eroica.findings",
                                                       .partitions = partitions,
                                                       .config = {},
                                                       .replication_factor = 1});
    EROICA_CHECK(made.ok() || absl::IsAlreadyExists(made));
    producer_ = *log.NewProducer();
  }

  void Publish(const Finding& finding, int32_t partition = 0) {
    const Bytes bytes = encoder_.Encode(finding);
    Append({reinterpret_cast<const char*>(bytes.data()), bytes.size()}, partition);
  }
  void Append(std::string value, int32_t partition = 0) {
    EROICA_CHECK(producer_
                     ->Append({.topic = "eroica.findings",
                               .key = "job",
                               .value = std::move(value),
                               .headers = {},
                               .partition = partition})
                     .ok());
    EROICA_CHECK(producer_->Flush(std::chrono::seconds(30)).ok());
  }

 private:
  TestEncoder encoder_;
  std::unique_ptr<LogProducer> producer_;
};

// A live finding of that id; all else is the example's.
inline Finding FindingOf(const std::string& id, FindingState state,
                         Severity severity = Severity::kMajor, int64_t window = 1) {
  Finding finding = ExampleFinding();
  finding.id = id;
  finding.state = state;
  finding.severity = severity;
  finding.last_window = window;
  finding.replay_id.clear();
  return finding;
}

}  // namespace eroica
