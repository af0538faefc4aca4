#include "tests/evaluation/simulate/fault_library.h"

#include <gtest/gtest.h>

#include <fstream>
#include <set>
#include <sstream>

namespace eroica::simulate {
namespace {

TEST(FaultLibrary, NamesComeBack) {
  std::set<std::string_view> names;
  for (int i = 0; i < kFaultKindCount; ++i) {
    const auto kind = static_cast<FaultKind>(i);
    EXPECT_EQ(ParseFaultKind(ToString(kind)), kind);
    EXPECT_EQ(ToString(kind).find_first_not_of("abcdefghijklmnopqrstuvwxyz_"),
              std::string_view::npos);
    names.insert(ToString(kind));
  }
  EXPECT_EQ(names.size(), size_t{kFaultKindCount});
  EXPECT_EQ(ToString(FaultKind::kGpuSlow), "gpu_slow");
  EXPECT_EQ(ToString(FaultKind::kGilContention), "gil_contention");
  EXPECT_EQ(ToString(FaultKind::kTransientSpike), "transient_spike");
  EXPECT_EQ(ParseFaultKind("GpuSlow"), std::nullopt);
  EXPECT_EQ(ParseFaultKind(""), std::nullopt);
}

TEST(FaultLibrary, DescribesEveryKindWithItsSource) {
  for (int i = 0; i < kFaultKindCount; ++i) {
    const auto kind = static_cast<FaultKind>(i);
    const FaultDescription& description = Describe(kind);
    EXPECT_EQ(description.kind, kind) << ToString(kind);
    EXPECT_FALSE(description.family.empty()) << ToString(kind);
    EXPECT_TRUE(description.about.ends_with(".")) << ToString(kind);
    EXPECT_TRUE(description.severity.ends_with(".")) << ToString(kind);
    EXPECT_FALSE(description.source.empty()) << ToString(kind);
    EXPECT_EQ(description.about.find('|'), std::string_view::npos) << "the page is a table";
  }
}

TEST(FaultLibrary, ReferencePageIsWhatTheLibrarySays) {
  std::ifstream file("docs/reference/faults.md");
  std::ostringstream text;
  text << file.rdbuf();
  EXPECT_EQ(text.str(), FaultReference()) << "write docs/reference/faults.md anew";
}

}  // namespace
}  // namespace eroica::simulate
