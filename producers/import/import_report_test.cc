#include "producers/import/import_report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace eroica {
namespace {

using ::testing::HasSubstr;

ImportReport Night() {
  ImportReport report;
  report.job = JobId{"night"};
  report.world_size = 4;
  report.ranks = {0, 1, 3};
  report.files.resize(2);
  report.total.events = 100;
  report.total.imported = 90;
  report.total.skipped.Add(DropReason::kUnknownPhase, 6);
  report.total.skipped.Add(DropReason::kUnwantedCategory, 4);
  report.collectives = 64;
  return report;
}

TEST(ImportReport, SaysInPlainWordsWhatWasReadAndLeftOut) {
  EXPECT_EQ(Night().ToText(),
            "job night: 3 of 4 ranks from 2 files\n"
            "100 events, 90 imported; left out: 6 metadata and instants, 4 of categories that "
            "tell nothing of speed\n"
            "64 collectives, all matched across ranks\n");
}

TEST(ImportReport, SaysHowManyCollectivesAreMatched) {
  ImportReport report = Night();
  report.collectives_unmatched = 3;
  EXPECT_THAT(report.ToText(), HasSubstr("\n67 collectives, 64 of them matched across ranks\n"));
  report.collectives = report.collectives_unmatched = 0;
  EXPECT_THAT(report.ToText(), HasSubstr("\nno collectives\n"));
}

TEST(ImportReport, EveryReasonHasWordsAndNoNameForPrograms) {
  for (const DropReason reason :
       {DropReason::kUnknownPhase, DropReason::kUnwantedCategory, DropReason::kInvalidIdentity,
        DropReason::kConflictingRank, DropReason::kMalformedEvent, DropReason::kTruncatedInput,
        DropReason::kNegativeDuration, DropReason::kTimeOutOfRange}) {
    ImportReport report = Night();
    report.total.skipped = {};
    report.total.skipped.Add(reason, 5);
    EXPECT_THAT(report.ToText(), ::testing::Not(HasSubstr("_"))) << ToString(reason);
    EXPECT_THAT(report.ToText(), HasSubstr("left out: 5 ")) << ToString(reason);
  }
}

TEST(ImportReport, FilesOfOneNameAreToldApart) {
  ImportReport report = Night();
  report.files[0].path = "a/rank0.json";
  report.files[1].path = "b/rank1.json";
  EXPECT_EQ(NameAmong(report.files[0], report.files), "rank0.json");
  report.files[1].path = "b/rank0.json";
  report.files[1].warnings = {"a second\x1b[31m trace"};
  EXPECT_EQ(NameAmong(report.files[0], report.files), "a/rank0.json");
  EXPECT_THAT(report.ToText(), HasSubstr("warning: b/rank0.json: a second\\x1b[31m trace\n"));
}

}  // namespace
}  // namespace eroica
