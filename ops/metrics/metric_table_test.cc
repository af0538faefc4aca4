#include "ops/metrics/metric_table.h"

#include <gtest/gtest.h>

#include <regex>
#include <set>

#include "ops/config/text_file.h"

namespace eroica {
namespace {

// Alerting rules and Grafana's dashboard ask for nothing that no program shows.
TEST(MetricUsersTest, AskForDeclaredMetricsOnly) {
  std::set<std::string> declared;
  for (int i = 0; i < kMetricCount; ++i) {
    const MetricDeclaration& metric = DeclarationOf(static_cast<Metric>(i));
    declared.emplace(metric.name);
    if (metric.kind == MetricKind::kHistogram)
      declared.insert(std::string(metric.name) + "_bucket");
  }
  const std::regex name("\\b(?:eroica|process)_[a-z0-9_]+");
  for (const char* file : {"ops/metrics/alerts.yml", "ops/metrics/grafana.json"}) {
    const auto text = ReadTextFile(file);
    ASSERT_TRUE(text.ok()) << text.status();
    size_t asked = 0;
    for (std::sregex_iterator used(text->begin(), text->end(), name), end; used != end; ++used) {
      EXPECT_TRUE(declared.contains(used->str())) << file << ": " << used->str();
      ++asked;
    }
    EXPECT_GT(asked, 8U) << file;
  }
}

TEST(MetricReferenceTest, IsThePageInTheDocumentation) {
  const auto page = ReadTextFile("docs/reference/metrics.md");
  ASSERT_TRUE(page.ok()) << page.status();
  EXPECT_EQ(*page, MetricReference()) << "run: eroica node --print-metrics-reference";
}

}  // namespace
}  // namespace eroica
