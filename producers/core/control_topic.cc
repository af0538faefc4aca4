#include "producers/core/control_topic.h"

#include <fmt/format.h>

#include <chrono>
#include <ctime>
#include <utility>

#include "stream_ops/recording/recording_log.h"
#include "stream_ops/topics.h"

namespace eroica {
namespace {

using std::chrono::milliseconds;

constexpr size_t kMostAtOnce = 64;
constexpr milliseconds kFlushTimeout{1'000};
// Bounds for a guest: controls are small and few, whatever somebody writes to their topic.
const ConsumerOptions kReader{.properties = {{"queued.max.messages.kbytes", "1024"},
                                             {"queued.min.messages", "1000"},
                                             {"fetch.max.bytes", "4096"},
                                             {"receive.message.max.bytes", "16777216"}}};

}  // namespace

absl::Status WriteControl(Log& log, const std::string& topic_prefix, const Control& control) {
  const absl::StatusOr<std::unique_ptr<LogProducer>> producer = log.NewProducer();
  if (!producer.ok()) return producer.status();
  Encoder encoder;
  Bytes payload;
  if (const DropReason broken = encoder.TryEncode(control, &payload); broken != DropReason::kNone) {
    return absl::InvalidArgumentError(fmt::format(
        "the request breaks a rule of its schema ({}) and was not written", ToString(broken)));
  }
  const absl::Status status = (*producer)->Append(
      {.topic = TopicName(topic_prefix, Topic::kControl),
       .key = JobKey(control.job),
       .value = std::string(reinterpret_cast<const char*>(payload.data()), payload.size()),
       .headers = {{std::string(kHeaderSchema), std::string(SchemaId(PayloadType::kControl))},
                   {std::string(kHeaderJob), control.job.value}},
       .timestamp_ms = int64_t{std::time(nullptr)} * 1'000,
       .partition = std::nullopt});
  return status.ok() ? (*producer)->Flush(kFlushTimeout) : status;
}

ControlTopic::ControlTopic(Log* log, const ProducerConfig& config)
    : log_(log), topic_prefix_(config.topic_prefix), recording_(config.recording) {
  absl::StatusOr<std::unique_ptr<LogConsumer>> consumer = log->NewConsumer(kReader);
  if (!consumer.ok()) return;
  if ((*consumer)->Subscribe({TopicName(topic_prefix_, Topic::kControl)}, nullptr).ok())
    consumer_ = *std::move(consumer);
}

std::vector<Control> ControlTopic::Read() {
  std::vector<Control> controls;
  if (consumer_ == nullptr) return controls;
  records_.clear();
  consumer_->Poll(milliseconds(0), kMostAtOnce, &records_).IgnoreError();  // it may be tried again
  for (const ConsumerRecord& record : records_) {
    Control control;
    if (decoder_.Decode(record.payload(), &control) == DropReason::kNone)
      controls.push_back(std::move(control));
  }
  return controls;
}

absl::Status ControlTopic::Request(const Control& control) {
  if (recording_.empty()) return WriteControl(*log_, topic_prefix_, control);
  const absl::StatusOr<std::unique_ptr<RecordingLog>> recording =
      RecordingLog::Open({.directory = recording_});
  if (!recording.ok()) return recording.status();
  return WriteControl(**recording, topic_prefix_, control);
}

}  // namespace eroica
