#include "stream_ops/topics.h"

#include <fmt/format.h>

#include "schemas/check.h"
#include "schemas/printable_text.h"

namespace eroica {

namespace {

std::string_view TopicSuffix(Topic topic) {
  switch (topic) {
    case Topic::kEvents: return "events";
    case Topic::kCollectives: return "collectives";
    case Topic::kPatterns: return "patterns";
    case Topic::kFindings: return "findings";
    case Topic::kControl: return "control";
    case Topic::kDeadLetter: return "deadletter";
    case Topic::kFindingsJson: return "findings-json";
  }
  EROICA_CHECK(false);
}

}  // namespace

std::string TopicName(std::string_view prefix, Topic topic) {
  return fmt::format("{}.{}", prefix, TopicSuffix(topic));
}

std::string EventsKey(const JobId& job, RankId rank) {
  return fmt::format("{}/{}", JobKey(job), rank.value / kRanksPerShard);
}

std::string CollectivesKey(const JobId& job, CommId communicator) {
  return fmt::format("{}/{:016x}", JobKey(job), communicator.value);
}

std::string JobKey(const JobId& job) { return PercentEncoded(job.value); }

}  // namespace eroica
