// One key of a scenario file, declared once: its name and unit, what it is for, and where its value
// lives. From the declarations come the reading, the checks and docs/reference/scenario.md.
// Defaults are those of the structs; ranges are checked by simulate::Check.
#pragma once

#include <absl/status/status.h>

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "ops/config/option.h"
#include "tests/evaluation/score/scenario.h"

namespace eroica {

// A [[fault]] as it stands in a file: hosts become ranks when the layout is known.
struct FaultEntry {
  simulate::Fault fault;
  bool everywhere = false;  // ranks = "all"
  std::vector<uint32_t> hosts;
};

template <typename Target>
struct FileKey {
  std::string name;    // with its section: "workload.layer_forward_us"
  std::string member;  // that it fills, as simulate::Check calls it: "workload.layer_forward_ns"
  std::string unit;    // empty where it has none
  std::string doc;     // whole sentences
  bool required = false;
  bool takes_number = false;  // a whole number instead of its list, which then is what set gets
  std::function<OptionValue(const Target&)> get;
  // The value is of the type that get answers with. Numbers and strings in a list come as strings.
  std::function<absl::Status(Target*, OptionValue)> set;
};

// By section, the top level first.
const std::vector<FileKey<Scenario>>& ScenarioKeys();
const std::vector<FileKey<FaultEntry>>& FaultKeys();             // of a [[fault]]
const std::vector<FileKey<simulate::Resize>>& ResizeKeys();      // of a [[resize]]
const std::vector<FileKey<ExpectedFinding>>& ExpectedKeys();     // of an [[expect]]
const std::vector<FileKey<ExpectedFinding>>& AlternativeKeys();  // of an [[expect.or]]

// "3" and "8-15", ascending within each; kInvalidArgument for what is neither, or beyond 2^20.
absl::Status ParseNumbers(const std::vector<std::string>& texts, std::vector<uint32_t>* numbers);

}  // namespace eroica
