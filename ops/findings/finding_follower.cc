#include "ops/findings/finding_follower.h"

#include "stream_ops/topics.h"

namespace eroica {

FindingFollower::FindingFollower(Log& log, std::string_view topic_prefix, FindingIndex& index)
    : index_(index), follower_(log, TopicName(topic_prefix, Topic::kFindings), "findings") {}

void FindingFollower::Start() {
  follower_.Start({.take = [this](const ConsumerRecord& record) { Take(record); },
                   .caught_up = [this] { index_.SetCaughtUp(); }});
}

void FindingFollower::Take(const ConsumerRecord& record) {
  // After an error the topic is read once more from its beginning.
  const FindingPosition known = index_.position();
  const auto next = known.find(record.partition);
  if (next != known.end() && record.offset < next->second) return;
  PublishedFinding published{.finding = {},
                             .partition = record.partition,
                             .offset = record.offset,
                             .timestamp_ms = record.timestamp_ms};
  if (decoder_.Decode(record.payload(), &published.finding) == DropReason::kNone) {
    index_.Add(published);
  } else {
    ++malformed_;
  }
}

}  // namespace eroica
