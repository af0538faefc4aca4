// How recordings of real jobs are diagnosed as people record theirs (tests/evaluation/real), held
// to real_baseline.json: what has been reached stays reached. They lie in the repository, so that
// this runs in every clone. After a change that makes it better, EROICA_UPDATE_GOLDEN=1 writes the
// file anew.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tests/evaluation/real/real_run.h"
#include "tests/evaluation/real/recording_sources.h"

namespace eroica {
namespace {

using nlohmann::ordered_json;

constexpr char kBaseline[] = "tests/golden/real_baseline.json";

ordered_json ReadBaseline() {
  std::ifstream file(kBaseline);
  return ordered_json::parse(file, nullptr, false);
}

uint32_t Count(const ordered_json& counts, RealOutcome outcome) {
  return counts.at(std::string(ToString(outcome))).get<uint32_t>();
}

std::string WrongOnes(const std::vector<RealRun>& runs) {
  std::string text;
  for (const RealRun& run : runs) {
    for (size_t i = 0; i < run.said.size(); ++i) {
      if (run.verdict.wrong[i])
        text += WindowName(run.variation.window_steps) + ", " + ColumnOf(run) + ": " +
                run.said[i].finding.title + "\n";
    }
  }
  return text;
}

class RealBaseline : public ::testing::TestWithParam<std::string> {
 protected:
  static std::vector<RealRun> Runs() {
    const auto sources = RecordingSources("tests/golden/live");
    EXPECT_TRUE(sources.ok()) << sources.status();
    const auto source = std::ranges::find(*sources, GetParam(), &RealJobSource::name);
    EXPECT_NE(source, sources->end());
    const absl::StatusOr<RealJob> job = source->load();
    EXPECT_TRUE(job.ok()) << job.status();
    absl::StatusOr<std::vector<RealRun>> runs = RunVariations(*job, nullptr);
    EXPECT_TRUE(runs.ok()) << runs.status();
    return *std::move(runs);
  }
};

TEST_P(RealBaseline, WhatHasBeenReachedStaysReached) {
  const std::vector<RealRun> runs = Runs();
  const OutcomeCounts counts = CountOutcomes(runs);
  ordered_json today = {{"runs", runs.size()}};
  for (int i = 0; i < kRealOutcomeCount; ++i)
    today[std::string(ToString(static_cast<RealOutcome>(i)))] = counts[static_cast<size_t>(i)];
  ordered_json baseline = ReadBaseline();
  if (std::getenv("EROICA_UPDATE_GOLDEN") != nullptr) {
    if (!baseline.is_object()) baseline = ordered_json::object();
    baseline[GetParam()] = today;
    std::ofstream(kBaseline) << baseline.dump(2) << "\n";
    return;
  }
  ASSERT_TRUE(baseline.is_object() && baseline.contains(GetParam())) << "no line in " << kBaseline;
  const ordered_json& known = baseline.at(GetParam());
  EXPECT_EQ(runs.size(), known.at("runs").get<size_t>()) << "another set of variations";
  EXPECT_LE(Count(today, RealOutcome::kWrong), Count(known, RealOutcome::kWrong))
      << WrongOnes(runs);
  EXPECT_GE(Count(today, RealOutcome::kRight), Count(known, RealOutcome::kRight)) << today.dump();
  EXPECT_LE(Count(today, RealOutcome::kMissed), Count(known, RealOutcome::kMissed) +
                                                    Count(known, RealOutcome::kWrong) -
                                                    Count(today, RealOutcome::kWrong))
      << "silence may take the place of what was wrong, and of nothing else: " << today.dump();
}

INSTANTIATE_TEST_SUITE_P(Recordings, RealBaseline, ::testing::Values("healthy", "compute"),
                         [](const auto& name) { return name.param; });

}  // namespace
}  // namespace eroica
