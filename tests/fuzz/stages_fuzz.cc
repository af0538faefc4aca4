// Whatever arrives, the stages go on: payloads that the decoder refuses, and those that it takes
// and no producer would send, in any order, with restarts between them, through summarize, align
// and diagnose.
//
// An input that is a payload by its identifier goes to every stage as it is. Any other is a list of
// actions, each a byte that says which and the bytes that it draws.
#include <cstddef>
#include <cstdint>
#include <string>

#include "tests/fuzz/fuzz_bytes.h"
#include "tests/fuzz/hostile_payloads.h"
#include "tests/fuzz/stage_chain.h"

namespace eroica {
namespace {

constexpr int kMostActions = 48;  // so that no input runs for ever

void AddRaw(FuzzBytes& bytes, StageChain& chain) {
  constexpr Topic kTopics[] = {Topic::kEvents, Topic::kCollectives, Topic::kPatterns};
  const Topic topic = kTopics[bytes.Byte() % std::size(kTopics)];
  const auto payload = bytes.Take(size_t{bytes.Byte()} * 16);
  chain.Add(topic, {reinterpret_cast<const char*>(payload.data()), payload.size()});
}

void Act(FuzzBytes& bytes, StageChain& chain) {
  switch (bytes.Byte() % 10) {
    case 0:
    case 1:
    case 2: return chain.Add(Topic::kEvents, HostileEventBatch(bytes));
    case 3: return chain.Add(Topic::kPatterns, HostilePatternBatch(bytes));
    case 4: return chain.Add(Topic::kCollectives, HostileCollectiveBatch(bytes));
    case 5: return chain.Add(Topic::kPatterns, HostileCollectiveSummary(bytes));
    case 6: return chain.Add(Topic::kPatterns, HostileRankStanding(bytes));
    case 7: return AddRaw(bytes, chain);
    case 8: return chain.Punctuate(PunctuationType::kIdle);
    default: return chain.Restart();
  }
}

}  // namespace
}  // namespace eroica

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace eroica;
  StageChain chain;
  const std::string whole(reinterpret_cast<const char*>(data), size);
  if (TypeOf(std::as_bytes(std::span(whole))) != PayloadType::kUnknown) {
    for (const Topic topic : {Topic::kEvents, Topic::kCollectives, Topic::kPatterns})
      chain.Add(topic, whole);
  } else {
    FuzzBytes bytes({data, size});
    for (int i = 0; i < kMostActions && !bytes.empty(); ++i) Act(bytes, chain);
  }
  chain.Punctuate(PunctuationType::kIdle);
  chain.Restart();
  chain.Punctuate(PunctuationType::kEndOfInput);
  return 0;
}
