// A small stage for the tests of the runtime, with all that the real ones have: keyed windows that
// stay open over many records, a restart position that goes back to the oldest open window,
// progress in the store, dead letters. Records are texts "KEY:WINDOW:AMOUNT"; a key's window closes
// when a later window of the key comes, or when the input ends, and forwards "KEY:WINDOW:SUM". What
// comes late or again for a closed window is ignored.
#pragma once

#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "stream_ops/processor.h"
#include "stream_ops/runtime/topology.h"

namespace eroica::testing {

// What a stage that reads another stage's output must do with an amount that it has already seen in
// the window: the sender may have died after sending and before its commit.
enum class Repeats { kAdd, kIgnore };

class WindowSum : public Processor {
 public:
  // told, if there is one, gets a line for every punctuation.
  explicit WindowSum(Topic output, Repeats repeats = Repeats::kAdd,
                     std::vector<PunctuationType>* told = nullptr)
      : output_(output), repeats_(repeats), told_(told) {}

  absl::Status Init(ProcessorContext& context) override;
  absl::Status Process(const ConsumerRecord& record) override;
  absl::Status Punctuate(PunctuationType type) override;
  int64_t RestartOffset(int64_t next) const override;
  uint64_t held_bytes() const override { return open_.size(); }  // a byte a window

 private:
  struct Open {
    int64_t first_offset = 0;
    int64_t sum = 0;
    std::set<int64_t> amounts;
  };

  void CloseWindowsOf(const std::string& key, int64_t before);

  const Topic output_;
  const Repeats repeats_;
  std::vector<PunctuationType>* const told_;
  ProcessorContext* context_ = nullptr;
  std::map<std::string, int64_t> closed_;  // key -> last closed window
  std::map<std::pair<std::string, int64_t>, Open> open_;
};

// Two stages that sum: by key, then what the first says by the same key, as if it were input.
Topology TwoSums();

}  // namespace eroica::testing
