// The name of a fault over windows that show it more and less clearly.
#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <utility>

#include "diagnosis/ledger/finding_lifecycle.h"
#include "diagnosis/report/subkinds.h"

namespace eroica {
namespace {

Finding OfRankTwo(int64_t window, std::string function) {
  Finding finding;
  finding.id = "a";
  finding.first_window = finding.last_window = window;
  finding.function = std::move(function);
  finding.culprits.push_back({.rank = 2});
  return finding;
}

TEST(NamedFunction, StaysNamedWhereAWindowNamesNone) {
  const auto of = [](int64_t window, std::string_view subkind, std::string function) {
    Finding finding = OfRankTwo(window, std::move(function));
    finding.kind = FindingKind::kSlowRank;
    finding.subkind = subkind;
    finding.function_class = FunctionClass::kPython;
    finding.evidence = {{"slow_steps", "count", 32, 0, 0, 32}};
    return finding;
  };
  constexpr int64_t kLong = FindingLifecycle::kWindowsUntilUnnamed;
  FindingLifecycle lifecycle;
  lifecycle.Observe(1, {of(1, kWholeRank, "every python function")});
  EXPECT_EQ(lifecycle.Observe(2, {of(2, kNamedFunction, "slow")})[0].function, "slow");
  for (int64_t window = 3; window < 2 + kLong; ++window)
    EXPECT_EQ(
        lifecycle.Observe(window, {of(window, kWholeRank, "every python function")})[0].function,
        "slow");
  EXPECT_EQ(
      lifecycle.Observe(2 + kLong, {of(2 + kLong, kWholeRank, "every python function")})[0].subkind,
      kWholeRank)
      << "the evidence has turned";
  lifecycle.Observe(3 + kLong, {of(3 + kLong, kNamedFunction, "slow")});
  EXPECT_EQ(lifecycle.Observe(4 + kLong, {of(4 + kLong, kNamedFunction, "other")})[0].function,
            "other");
}

}  // namespace
}  // namespace eroica
