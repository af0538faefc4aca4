#include "ops/findings/audit_log.h"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <chrono>
#include <utility>

#include "schemas/printable_text.h"
#include "stream_ops/runtime/random_id.h"

namespace eroica {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kFlush{5'000};

// What people say of a finding, which is shown with it.
bool IsAboutFinding(AuditAction action) {
  return action == AuditAction::kAcknowledge || action == AuditAction::kMute ||
         action == AuditAction::kUnmute;
}

}  // namespace

AuditLog::AuditLog(Log& log, std::string_view topic_prefix, FindingIndex& index)
    : log_(log),
      topic_(AuditTopicName(topic_prefix)),
      index_(index),
      follower_(log, topic_, "audit") {}

void AuditLog::Start() {
  follower_.Start({.take =
                       [this](const ConsumerRecord& record) {
                         if (const auto entry = DecodeAuditEntry(record.value)) Take(*entry);
                       },
                   .caught_up =
                       [this] {
                         caught_up_ = true;
                         is_missing_ = false;
                       },
                   .missing = [this] { is_missing_ = true; }});
}

void AuditLog::Take(const AuditEntry& entry) {
  std::optional<Annotation> annotation;
  {
    const MutexLock lock(mutex_);
    if (!known_.insert(entry.id).second) return;
    entries_.push_front(entry);
    ++version_;
    if (entries_.size() > kEntriesMax) {
      known_.erase(entries_.back().id);
      entries_.pop_back();
    }
    if (IsAboutFinding(entry.action)) {
      Fold(entry, &annotations_[entry.target]);
      annotation = annotations_[entry.target];
      if (annotations_.size() > kEntriesMax) annotations_.erase(annotations_.begin());
    }
  }
  if (annotation) index_.Annotate(entry.target, *annotation);
}

absl::Status AuditLog::Append(AuditEntry* entry) {
  entry->id = fmt::format("{:016x}", RandomId());
  // People act a few times a day: a producer that is kept would hold a connection for nothing.
  const absl::StatusOr<std::unique_ptr<LogProducer>> producer = log_.NewProducer();
  if (!producer.ok()) return producer.status();
  ProducerRecord record{.topic = topic_,
                        .key = PercentEncoded(entry->target),
                        .value = EncodeAuditEntry(*entry),
                        .headers = {},
                        .timestamp_ms = entry->at_ms,
                        .partition = std::nullopt};
  if (absl::Status status = (*producer)->Append(std::move(record)); !status.ok()) return status;
  if (absl::Status status = (*producer)->Flush(kFlush); !status.ok()) return status;
  spdlog::info("audit: action={} by={} target=\"{}\" detail=\"{}\"", ToString(entry->action),
               entry->by, Printable(entry->target), Printable(entry->detail));
  Take(*entry);
  return absl::OkStatus();
}

std::vector<AuditEntry> AuditLog::Entries() const {
  const MutexLock lock(mutex_);
  return {entries_.begin(), entries_.end()};
}

uint64_t AuditLog::version() const {
  const MutexLock lock(mutex_);
  return version_;
}

}  // namespace eroica
