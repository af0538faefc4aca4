// The log in memory: bounded runs, the embedded shuffle between stages, and tests. Keeps every
// record until it is destroyed.
//
// Thread-safe; consumers and producers must not outlive it. Topics must be created before they are
// used. Every consumer is given all partitions of its topics, with a group or without; a group only
// keeps committed offsets. A timestamp of 0 stays 0: this log never asks for the time.
#pragma once

#include <memory>

#include "stream_ops/log/log.h"

namespace eroica {

class MemoryLog final : public Log {
 public:
  MemoryLog();
  ~MemoryLog() override;
  MemoryLog(const MemoryLog&) = delete;
  MemoryLog& operator=(const MemoryLog&) = delete;

  absl::StatusOr<std::unique_ptr<LogConsumer>> NewConsumer(const ConsumerOptions& options) override;
  absl::StatusOr<std::unique_ptr<LogProducer>> NewProducer() override;
  absl::StatusOr<std::unique_ptr<LogProducer>> NewTransactionalProducer(
      const std::string& transactional_id) override;
  LogAdmin& admin() override;

 private:
  class Store;
  class Reader;
  class Producer;
  class TransactionalProducer;

  std::unique_ptr<Store> store_;
};

}  // namespace eroica
