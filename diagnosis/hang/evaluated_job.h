// For tests: what the hang operator finds in a job that stands still, and the ranks that its
// finding names.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include "diagnosis/hang/hang_operator.h"
#include "diagnosis/hang/standing_job.h"

namespace eroica {

inline constexpr auto kAllReduce = CollectiveOperation::kAllReduce;

inline std::vector<int32_t> Culprits(const Finding& finding) {
  std::vector<int32_t> ranks;
  for (const Culprit& culprit : finding.culprits) ranks.push_back(culprit.rank);
  return ranks;
}

inline std::vector<uint32_t> Victims(const Finding& finding) {
  std::vector<uint32_t> ranks;
  for (const Victim& victim : finding.victims) ranks.push_back(victim.rank.value);
  return ranks;
}

inline std::vector<Finding> Evaluate(const StandingJob& job) {
  return HangOperator().Evaluate(job.View());
}

// The one finding; fails the test where there is not exactly one.
inline Finding Only(const StandingJob& job) {
  std::vector<Finding> findings = Evaluate(job);
  EXPECT_THAT(findings, ::testing::SizeIs(1));
  return findings.empty() ? Finding{} : findings[0];
}

}  // namespace eroica
