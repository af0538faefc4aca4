// A record of the dead-letter topic, read: which record of which topic a stage could not use, and
// why. What StreamTask writes (the headers are declared there) is taken apart here, and sent back
// from here when the cause has been removed. Plain values.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "stream_ops/log/log.h"

namespace eroica {

// On a record that was sent back: TOPIC/PARTITION/OFFSET of the record that it repeats. It keeps
// this header when it becomes a dead letter again.
inline constexpr std::string_view kHeaderResendOf = "resend-of";
// On the dead-letter topic, of a mark: the record that stood at TOPIC/PARTITION/OFFSET was sent
// back.
inline constexpr std::string_view kHeaderDeadLetterResent = "dead-letter-resent";

struct DeadLetter {
  TopicPartition source;  // where the refused record stood
  int64_t offset = 0;     // there
  // One past the last record, of several that the log could not give; else offset + 1.
  int64_t end = 0;
  std::string detail;  // what the log said of them
  std::string reason;  // ToString(DropReason), of the version that wrote it
  std::string stage;
  std::string job;  // as the record's own header says; empty where it has none
  // Of the refused record's value. Larger than record.value where the letter is cut.
  uint64_t value_bytes = 0;
  bool cut = false;
  std::string resend_of;  // empty: the first time
  bool resent = false;    // was sent back since; known to those who have seen the whole topic
  ConsumerRecord record;  // as it stands on the dead-letter topic, its headers too
};

// Nothing where the record is no dead letter of ours. The record's own headers come before those of
// the dead letter: where a producer has forged some, the last ones hold.
std::optional<DeadLetter> ReadDeadLetter(ConsumerRecord record);

// TOPIC/PARTITION/OFFSET of the refused record.
std::string SourcePosition(const DeadLetter& letter);

// The record as it was, for the topic that it came from, and whose resend it is. Nothing of a cut
// one.
std::optional<ProducerRecord> ResendOf(const DeadLetter& letter);
// For the dead-letter topic: it was sent back.
ProducerRecord ResentMark(const DeadLetter& letter);
// The position that a mark says was sent back; nothing where the record is no mark.
std::optional<std::string> ResentPosition(const ConsumerRecord& record);

}  // namespace eroica
