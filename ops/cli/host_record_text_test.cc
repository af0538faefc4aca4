#include "ops/cli/host_record_text.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace eroica {
namespace {

const HostRecord kRecord{.host = "node7",
                         .findings_of = {{"monday", 1}, {"tuesday", 2}},
                         .kinds = {{FindingKind::kSlowRank, 2}, {FindingKind::kHang, 1}},
                         .devices = {3},
                         .open = 1,
                         .worst_gpu_seconds_per_hour = 1234.4};

TEST(HostRecordText, SaysWhatWasFoundWhereAndWhatItCost) {
  EXPECT_EQ(HostRecordText(kRecord),
            "RECURRING node7: 3 findings in 2 jobs, 1 open: 2 slow_rank, 1 hang; device 3; at "
            "worst the work of 0.343 ranks lost\n"
            "  jobs: monday (1), tuesday (2)\n");
}

TEST(HostRecordText, OneJobIsNoRecurrence) {
  const HostRecord once{.host = "node8",
                        .findings_of = {{"monday", 1}},
                        .kinds = {{FindingKind::kHang, 1}},
                        .devices = {}};
  EXPECT_EQ(HostRecordText(once),
            "node8: 1 finding in 1 job, 0 open: 1 hang; at worst the work of 0 ranks lost\n  "
            "jobs: monday (1)\n");
}

TEST(HostRecordText, JsonSaysTheSame) {
  const nlohmann::json json = nlohmann::json::parse(HostRecordJson(kRecord));
  EXPECT_EQ(json["host"], "node7");
  EXPECT_TRUE(json["recurring"]);
  EXPECT_EQ(json["findings"], 3);
  EXPECT_EQ(json["kinds"]["slow_rank"], 2);
  EXPECT_EQ(json["jobs"]["tuesday"], 2);
  EXPECT_EQ(json["devices"], nlohmann::json::array({3}));
}

TEST(HostRecordText, HostileNamesStayOnTheirLines) {
  const HostRecord hostile{.host = "node\n\x1b[2J",
                           .findings_of = {{"job\r\xff", 1}},
                           .kinds = {{FindingKind::kHang, 1}},
                           .devices = {}};
  EXPECT_EQ(HostRecordText(hostile),
            "node\\n\\x1b[2J: 1 finding in 1 job, 0 open: 1 hang; at worst the work of 0 "
            "ranks lost\n  jobs: job\\r\\xff (1)\n");
  EXPECT_EQ(nlohmann::json::parse(HostRecordJson(hostile))["host"], "node\n\x1b[2J");
}

}  // namespace
}  // namespace eroica
