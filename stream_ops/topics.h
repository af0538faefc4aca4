// The topics between the stages (DESIGN 5) and the keys that decide which task a record meets.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "schemas/ids.h"

namespace eroica {

enum class Topic : uint8_t {
  kEvents = 0,
  kCollectives = 1,
  kPatterns = 2,
  kFindings = 3,
  kControl = 4,
  kDeadLetter = 5,
  kFindingsJson = 6  // the same findings, for subscribers without FlatBuffers; where it is wanted
};
inline constexpr int kTopicCount = 7;

inline constexpr std::string_view kDefaultTopicPrefix = "eroica";
// "eroica.events" and so on.
std::string TopicName(std::string_view prefix, Topic topic);

// Message headers, on every record.
inline constexpr std::string_view kHeaderSchema = "schema";  // SchemaId(PayloadType)
inline constexpr std::string_view kHeaderJob = "job";
inline constexpr std::string_view kHeaderRank = "rank";
inline constexpr std::string_view kHeaderReplay = "replay-id";
// The name of the stage that has made the record of others. What a producer has summarized itself
// bears none: a replay reads that again, and makes the rest anew.
inline constexpr std::string_view kHeaderStage = "stage";

// The keys hold the job's name without control characters (PercentEncoded).
// One huge job spreads over partitions, a small one stays together.
inline constexpr uint32_t kRanksPerShard = 64;
std::string EventsKey(const JobId& job, RankId rank);               // job/shard
std::string CollectivesKey(const JobId& job, CommId communicator);  // job/communicator
std::string JobKey(const JobId& job);                               // patterns, findings, control

}  // namespace eroica
