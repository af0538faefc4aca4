// A stage's logic, in Kafka Streams' words. One Processor a task (stage x partition), called from
// one thread. It never blocks, starts no thread and never asks for the time; what it sends goes
// through its context.
#pragma once

#include <absl/status/status.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "schemas/check.h"
#include "schemas/codec.h"
#include "schemas/drop_reason.h"
#include "state_store/state_store.h"
#include "stream_ops/log/log.h"
#include "stream_ops/topics.h"

namespace eroica {

enum class PunctuationType : uint8_t {
  // caught up with the input, and nothing came for the idle timeout (wall clock, measured by the
  // runtime)
  kIdle = 0,
  kEndOfInput = 1,  // a bounded run: nothing more will come; close every window
  kMinute = 2,      // another minute of wall time has passed; in no bounded run
};

// An output with headers of its own. Its value may be anything.
struct EventRecord {
  Topic topic = Topic::kFindings;
  std::string key;
  std::string value;
  Headers headers;
  int64_t timestamp_ms = 0;
};

class ProcessorContext {
 public:
  virtual ~ProcessorContext() = default;
  // Sends a payload on. Leaves in the same cycle as the changes and the input position (see
  // StreamTask).
  virtual void Forward(Topic topic, std::string key, PayloadType type, Bytes payload,
                       int64_t timestamp_ms, const JobId& job) = 0;
  // In the same cycle, too. A context of stages that send no such records need not have it.
  virtual void ForwardEvent(EventRecord event);
  // The record that is being processed goes to the dead-letter topic, original bytes untouched,
  // with reason and position in its headers; counted.
  virtual void DeadLetter(DropReason reason) = 0;
  // An output was not sent, because what arrived has made it break the rules of its type; counted.
  virtual void DropOutput(DropReason reason) = 0;
  // Events that arrived and go into no window, each once; counted. For contexts that count nothing
  // there is nothing to do.
  virtual void CountUnused(DropReason reason, uint64_t events);
  // Windows that were closed before all had come, for want of memory; counted.
  virtual void CountForced(uint64_t windows);
  // The effects of the record at hand were committed before: it is read again, for windows that are
  // still open.
  virtual bool IsRepeated() const { return false; }
  // The task's own part of the store; keys need no task prefix. Reads see what was committed, not
  // this cycle's changes.
  virtual const StateStore& store() const = 0;
  // Changes of this cycle; committed together with the input position.
  virtual StateChanges& changes() = 0;
};

inline void ProcessorContext::ForwardEvent(EventRecord) { EROICA_CHECK(false); }
inline void ProcessorContext::CountUnused(DropReason, uint64_t) {}
inline void ProcessorContext::CountForced(uint64_t) {}

// The payload of an output. Nothing where it can be none: then it is dropped, whatever arrived, and
// the stage goes on. The bytes live until the encoder's next call.
template <typename T>
std::optional<Bytes> EncodeOutput(const T& output, Encoder& encoder, ProcessorContext& context) {
  Bytes payload;
  const DropReason reason = encoder.TryEncode(output, &payload);
  if (reason == DropReason::kNone) return payload;
  context.DropOutput(reason);
  return std::nullopt;
}

class Processor {
 public:
  virtual ~Processor() = default;
  // Loads what the task had committed. Before any other call.
  virtual absl::Status Init(ProcessorContext& context) = 0;
  virtual absl::Status Process(const ConsumerRecord& record) = 0;
  virtual absl::Status Punctuate(PunctuationType type) = 0;
  // The smallest input offset that must be read again after a restart so that the windows now open
  // can be rebuilt; `next` if none are open. Records before it are never needed again. Records at
  // or after it may come again for windows that are closed: the processor ignores them.
  virtual int64_t RestartOffset(int64_t next) const = 0;
  // Of what it would let go of and read again, were it made anew from the store: about.
  virtual uint64_t held_bytes() const { return 0; }
};

}  // namespace eroica
