// What is asked of a job's producers, and what they ask themselves: the control topic, read from
// its beginning (it is compacted, and what has expired is refused later), and written to now and
// then.
// Owner: one thread.
#pragma once

#include <absl/status/status.h>

#include <memory>
#include <string>
#include <vector>

#include "producers/core/producer_config.h"
#include "schemas/codec.h"
#include "schemas/control.h"
#include "stream_ops/log/log.h"

namespace eroica {

// One record of the control topic, durable when it returns. Of a recording kFailedPrecondition
// where another process is just writing one.
absl::Status WriteControl(Log& log, const std::string& topic_prefix, const Control& control);

class ControlTopic {
 public:
  // log must outlive it. A recording is opened anew for each request: it has one writer at a time.
  ControlTopic(Log* log, const ProducerConfig& config);

  // What has come since the last call; never waits. Records that are no Control are passed over.
  std::vector<Control> Read();
  absl::Status Request(const Control& control);

 private:
  Log* const log_;
  const std::string topic_prefix_;
  const std::string recording_;            // empty: Kafka
  std::unique_ptr<LogConsumer> consumer_;  // null: it cannot be read
  Decoder decoder_;
  std::vector<ConsumerRecord> records_;
};

}  // namespace eroica
