// That an answer of /metrics has what the table declares for its program, and nothing else.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <sstream>
#include <string>

#include "ops/metrics/metric_table.h"

namespace eroica {

inline void ExpectDeclaredMetrics(MetricProgram program, const std::string& text) {
  std::set<std::string> names;
  for (int i = 0; i < kMetricCount; ++i) {
    const MetricDeclaration& metric = DeclarationOf(static_cast<Metric>(i));
    if (!IsShownBy(program, metric)) continue;
    const std::string name(metric.name);
    EXPECT_TRUE(names.insert(name).second) << name;
    EXPECT_THAT(text, ::testing::HasSubstr("# HELP " + name + " ")) << "declared and not shown";
    EXPECT_EQ(name.ends_with("_total"), metric.kind == MetricKind::kCounter) << name;
    EXPECT_FALSE(metric.help.empty());
  }
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    if (line.rfind("# TYPE ", 0) != 0) continue;
    const std::string name = line.substr(7, line.find(' ', 7) - 7);
    EXPECT_EQ(names.erase(name), 1U) << name << " is shown and not declared, or twice";
  }
}

}  // namespace eroica
