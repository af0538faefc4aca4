// Published and plain methods of diagnosis that the scored suite compares Eroica with, each as
// printed, without improvements of ours. Where a rule needs data that a CrossRankView does not
// carry, its header says so. README.md tells what each is and what fools it.
#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "diagnosis/operator.h"

namespace eroica {

struct BaselineMethod {
  std::string_view name;   // "three_sigma": a column of the score's table
  std::string_view about;  // one sentence
  std::string_view source;
  std::unique_ptr<DiagnosisOperator> (*make)();
};

// What they claim is to be scored as it comes, the most suspicious first: RootCause would sort and
// merge it by impacts that these methods do not know.
std::vector<BaselineMethod> Baselines();

}  // namespace eroica
