#include "tests/support/trace_jobs.h"

#include <filesystem>

#include "producers/core/batch_sink.h"
#include "producers/import/trace_import.h"

namespace eroica::testing {
namespace {

class KeepBatches : public BatchSink {
 public:
  absl::Status Write(const EventBatch& batch) override {
    batches.push_back(batch);
    return absl::OkStatus();
  }
  std::vector<EventBatch> batches;
};

}  // namespace

std::vector<TraceJob> TraceJobs() {
  const std::string hta = "hta-kineto/trace_";
  std::vector<TraceJob> jobs = {
      {"dlrm", {"dlrm-kineto-8rank"}},
      {"stage_imbalance", {"stage-imbalance-8worker"}},
      {"hta_two_of_many",
       {hta + "filter_sampled_rank-0.json.gz", hta + "filter_sampled_rank-1.json.gz"}},
      {"hta_diff_control", {hta + "diff_control_control.json.gz"}},
      {"hta_diff_test", {hta + "diff_test_test.json.gz"}},
  };
  for (const char* name : {"healthy_4r", "slow_compute_4r", "slow_data_inline_4r", "gc_4r",
                           "all_slow_python_4r", "imbalance_4r"}) {
    jobs.push_back({std::string("gloo_") + name, {std::string("torch-gloo/") + name}});
  }
  for (const char* name : {"ddp_healthy_4r", "ddp_two_faults_sync_4r", "fsdp_slow_compute_4r",
                           "moe_hot_expert_4r", "net_healthy_4r", "net_slow_link_4r",
                           "pp2dp2_gpipe_healthy_4r", "pp4dp2_healthy_8r", "pp4dp2_slow_mid_8r"}) {
    jobs.push_back({name, {std::string("torch-parallel/") + name}});
  }
  return jobs;
}

bool HaveTraces() { return std::filesystem::exists(kTraceRoot); }

absl::StatusOr<std::vector<EventBatch>> ImportJob(const TraceJob& job) {
  std::vector<std::filesystem::path> paths;
  for (const std::string& path : job.paths)
    paths.push_back(std::filesystem::path(kTraceRoot) / path);
  KeepBatches sink;
  ImportOptions options;
  options.job = JobId(job.name);
  const absl::StatusOr<ImportReport> report = ImportTraces(paths, options, sink, nullptr);
  if (!report.ok()) return report.status();
  return std::move(sink.batches);
}

}  // namespace eroica::testing
