// The case studies of EROICA (NSDI'26, sections 6 and appendices A and B), as far as a simulated
// job can stand for them: what a person was told, or should have been.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <ostream>
#include <string>
#include <vector>

#include "tests/evaluation/score/scenario_file.h"
#include "tests/evaluation/score/scenario_run.h"

namespace eroica {
namespace {

using ::testing::HasSubstr;

struct CaseStudy {
  std::string problem;   // as the paper numbers it
  std::string scenario;  // of tests/scenarios/dev
  FindingKind kind;
  std::vector<std::string> sentence;  // its essential parts
  std::string action;
};

void PrintTo(const CaseStudy& study, std::ostream* out) { *out << study.problem; }

std::vector<CaseStudy> CaseStudies() {
  return {
      {"1.1: slow storage, all workers",
       "storage_slow_everywhere_mild_tp_dp_32r",
       FindingKind::kRegression,
       {"on all ranks", "recv_into"},
       "what changed"},
      {"1.2: forward pass bound by the CPU",
       "cpu_bound_forward_gross_dp_8r",
       FindingKind::kRegression,
       {"on all ranks", "build_attention_mask"},
       "what changed"},
      {"1.3: unsynchronized garbage collection",
       "garbage_collection_mild_tp_dp_32r",
       FindingKind::kStepTime,
       {"straggler rotates", "collect"},
       "on all ranks at once"},
      {"2.1: no affinity of flows",
       "network_slow_everywhere_mild_tp_pp_dp_64r",
       FindingKind::kCommunication,
       {"on all ranks", "transfer of collectives"},
       "flow scheduling"},
      {"2.2: NIC down",
       "nic_down_gross_dp_64r",
       FindingKind::kCommunication,
       {"host node0003", "fewer NICs"},
       "NIC"},
      {"2.3: pin_memory on three workers",
       "pin_memory_gross_dp_64r",
       FindingKind::kSlowRank,
       {"pin_memory", "on 3 ranks"},
       "pin_memory"},
      {"2.4: inputs of unequal length",
       "sequence_imbalance_mild_dp_8r",
       FindingKind::kImbalance,
       {"Inputs are unevenly shared out"},
       "alance"},
      {"3: a deadlock, one worker in queue.put",
       "host_hang_gross_tp_dp_32r",
       FindingKind::kHang,
       {"hangs", "rank 2", "queue.py: put"},
       "queue.py: put on rank 2"},
      {"4.1: throttling GPUs of one rack",
       "thermal_throttling_mild_fsdp_32r",
       FindingKind::kSlowRank,
       {"all its kernels", "8 ranks", "node0001"},
       "clock"},
      {"4.2: NVLink down",
       "nvlink_down_gross_tp_dp_32r",
       FindingKind::kCommunication,
       {"NVLink of rank 23", "goes over PCIe"},
       "NVLink"},
      {"5: a forgotten process on the host (not found by the paper)",
       "gpu_shared_gross_dp_8r",
       FindingKind::kContention,
       {"device of rank 6 is shared"},
       "processes"},
  };
}

class CaseStudyTest : public ::testing::TestWithParam<CaseStudy> {};

TEST_P(CaseStudyTest, IsTold) {
  const CaseStudy& study = GetParam();
  const absl::StatusOr<Scenario> scenario =
      ReadScenario("tests/scenarios/dev/" + study.scenario + ".toml");
  ASSERT_TRUE(scenario.ok()) << scenario.status();
  const absl::StatusOr<std::vector<Method>> methods = ChooseMethods({kEroicaMethod});
  ASSERT_TRUE(methods.ok());
  const auto runs = RunScenario(*scenario, scenario->seeds.front(), *methods, nullptr);
  ASSERT_TRUE(runs.ok()) << runs.status();
  const std::vector<SaidFinding>& said = runs->front().said;
  ASSERT_EQ(said.size(), 1u) << "one fault, one finding";
  const Finding& finding = said[0].finding;
  EXPECT_EQ(finding.kind, study.kind) << ToString(finding.kind);
  for (const std::string& part : study.sentence) EXPECT_THAT(finding.title, HasSubstr(part));
  EXPECT_THAT(finding.suggested_action, HasSubstr(study.action));
  EXPECT_FALSE(finding.evidence.empty());
  EXPECT_GT(finding.lost_gpu_seconds_per_hour, 0);
}

INSTANTIATE_TEST_SUITE_P(Paper, CaseStudyTest, ::testing::ValuesIn(CaseStudies()),
                         [](const auto& case_study) { return case_study.param.scenario; });

}  // namespace
}  // namespace eroica
