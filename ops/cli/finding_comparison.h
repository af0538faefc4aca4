// The findings of two runs side by side: the same, new, gone, changed. They meet by their ids, as
// the same fault has the same id in every run.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "schemas/finding.h"

namespace eroica {

struct ChangedFinding {
  Finding before;
  Finding after;
  // As in the JSON, with their values there. Neither the wall clock nor the replay's id is one.
  struct Field {
    std::string name;
    std::string before;
    std::string after;
  };
  std::vector<Field> fields;
};

struct FindingComparison {
  std::vector<Finding> same;
  std::vector<Finding> added;
  std::vector<Finding> gone;
  std::vector<ChangedFinding> changed;
  bool equal() const { return added.empty() && gone.empty() && changed.empty(); }
};

// Each finding in its last state; no id twice in one of the lists.
FindingComparison CompareFindings(const std::vector<Finding>& before,
                                  const std::vector<Finding>& after);

// For people; the evidence of what has changed with both numbers beside each other.
std::string ComparisonText(const FindingComparison& comparison, const std::string& before_name,
                           const std::string& after_name);
// One JSON object.
std::string ComparisonJson(const FindingComparison& comparison);

}  // namespace eroica
