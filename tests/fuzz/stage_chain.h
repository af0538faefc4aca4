// The three stages of a node, one behind the other, with neither a log nor a thread: what one
// forwards is the next one's input. Checks all along what must hold whatever arrives: every output
// decodes again, the books of each stage close, a restart is possible at any time.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "stream_ops/diagnose/diagnose_processor.h"
#include "state_store/in_memory_store.h"
#include "stream_ops/align/align_processor.h"
#include "stream_ops/summarize/summarize_processor.h"

namespace eroica {

class StageChain {
 public:
  StageChain();
  ~StageChain();

  // A record on the topic of events, of collectives or of patterns.
  void Add(Topic topic, std::string payload);
  void Punctuate(PunctuationType type);
  // All stages die and begin anew with what they had committed.
  void Restart();

 private:
  class Stage;
  static constexpr size_t kStages = 3;

  void Start();
  void Run();
  void CheckBooks() const;
  void TakeOutput(Topic topic, PayloadType type, Bytes payload);

  std::array<std::unique_ptr<Stage>, kStages> stages_;
  // of the stages that run
  SummarizeProcessor* summarize_ = nullptr;
  AlignProcessor* align_ = nullptr;
  DiagnoseProcessor* diagnose_ = nullptr;
  Decoder decoder_;
};

}  // namespace eroica
