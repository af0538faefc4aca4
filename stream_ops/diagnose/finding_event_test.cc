#include "stream_ops/diagnose/finding_event.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>

#include "schemas/example_payloads.h"
#include "schemas/finding_version.h"
#include "schemas/printable_text.h"

namespace eroica {
namespace {

using ::testing::StartsWith;

std::string HeaderOf(const Finding& finding, std::string_view name,
                     FindingFormat format = FindingFormat::kJson) {
  const Headers headers = FindingEventHeaders(finding, format, "/eroica");
  return std::string(FindHeader(headers, name).value_or("none"));
}

TEST(FindingEvent, HasTheAttributesOfACloudEvent) {
  Finding finding = ExampleFinding();
  finding.job = JobId{"night"};
  finding.id = std::string(32, 'a');
  finding.state = FindingState::kUpdated;
  finding.emitted_at_ns = 1'700'000'012'345'000'000;
  EXPECT_EQ(HeaderOf(finding, "ce_specversion"), "1.0");
  EXPECT_EQ(HeaderOf(finding, "ce_source"), "/eroica");
  EXPECT_EQ(HeaderOf(finding, "ce_type"), "eroica.finding.updated");
  EXPECT_EQ(HeaderOf(finding, "ce_subject"), "night/" + finding.id);
  EXPECT_EQ(HeaderOf(finding, "ce_time"), "2023-11-14T22:13:32.345Z");
  EXPECT_EQ(HeaderOf(finding, "ce_kind"), ToString(finding.kind));
  EXPECT_EQ(HeaderOf(finding, "ce_severity"), ToString(finding.severity));
  EXPECT_THAT(HeaderOf(finding, "ce_id"), StartsWith(finding.id + "-"));
  EXPECT_EQ(HeaderOf(finding, "ce_id").size(), 49u);
}

TEST(FindingEvent, SaysInWhichFormatItIs) {
  const Finding finding = ExampleFinding();
  EXPECT_EQ(HeaderOf(finding, "content-type"), "application/json");
  EXPECT_EQ(HeaderOf(finding, "ce_dataschema"), "urn:eroica:schema:finding:1");
  EXPECT_EQ(HeaderOf(finding, "content-type", FindingFormat::kFlatBuffers),
            "application/vnd.eroica.finding+flatbuffers");
  EXPECT_EQ(HeaderOf(finding, "ce_dataschema", FindingFormat::kFlatBuffers),
            "urn:eroica:schema:FND1");
  EXPECT_EQ(HeaderOf(finding, "ce_id"), HeaderOf(finding, "ce_id", FindingFormat::kFlatBuffers))
      << "one event, in two formats";
}

TEST(FindingEvent, WithoutAClockHasNoTime) {
  Finding finding = ExampleFinding();
  finding.emitted_at_ns = 0;
  EXPECT_EQ(HeaderOf(finding, "ce_time"), "none");
}

// CloudEvents' strings hold no control characters.
TEST(FindingEvent, HostileNamesStayOutOfItsAttributes) {
  Finding finding = ExampleFinding();
  finding.job = JobId{"night\n\x1b[2J\xff"};
  EXPECT_THAT(HeaderOf(finding, "ce_subject"), StartsWith("night%0A%1B[2J%FF/"));
  for (const auto& [name, value] :
       FindingEventHeaders(finding, FindingFormat::kFlatBuffers, "/eroica"))
    EXPECT_EQ(value, Printable(value)) << name;
}

TEST(FindingVersion, TheSecondCopyHasTheSameIdAndAnotherVersionHasNot) {
  const Finding finding = ExampleFinding();
  Finding copy = finding;
  copy.emitted_at_ns += 5'000'000'000;
  EXPECT_EQ(FindingVersionId(copy), FindingVersionId(finding));
  std::set<std::string> ids = {FindingVersionId(finding)};
  const auto insert = [&](auto change) {
    Finding changed = finding;
    change(changed);
    EXPECT_TRUE(ids.insert(FindingVersionId(changed)).second);
  };
  insert([](Finding& f) { f.state = FindingState::kResolved; });
  insert([](Finding& f) { f.last_window += 1; });
  insert([](Finding& f) { f.confidence /= 2; });
  insert([](Finding& f) { f.evidence.back().samples += 1; });
  insert([](Finding& f) { f.caveats.emplace_back("and"); });
  insert([](Finding& f) { f.job = JobId{"other"}; });
}

}  // namespace
}  // namespace eroica
