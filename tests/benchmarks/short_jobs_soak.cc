// Many short jobs, one after the other, through the three stages into RocksDB: what the node holds,
// what it has on disk, and how long it takes to begin anew after each thousand of them. All three
// stay flat where jobs that are over are forgotten. The input and the findings are a recording.
//   short_jobs_soak [--jobs 20000] [--kept 256]
#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include "schemas/check.h"
#include "state_store/rocksdb_store.h"
#include "stream_ops/recording/recording_log.h"
#include "stream_ops/runtime/bounded_run.h"
#include "stream_ops/runtime/topic_layout.h"
#include "tests/support/eroica_topology.h"
#include "tests/support/job_builder.h"
#include "tests/support/pipeline.h"

namespace eroica {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

constexpr int kJobsAtOnce = 1'000;

double SecondsSince(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

double MebibytesHeld() {
  std::ifstream file("/proc/self/statm");
  uint64_t pages = 0;
  uint64_t resident = 0;
  file >> pages >> resident;
  return static_cast<double>(resident) * static_cast<double>(sysconf(_SC_PAGESIZE)) / (1 << 20);
}

double MebibytesOnDisk(const fs::path& folder) {
  uintmax_t bytes = 0;
  for (const auto& file : fs::recursive_directory_iterator(folder))
    bytes += file.is_regular_file() ? file.file_size() : 0;
  return static_cast<double>(bytes) / (1 << 20);
}

std::unique_ptr<RocksDbStore> OpenStore(const fs::path& folder) {
  RocksDbStoreOptions options;
  options.folder = folder.string();
  auto store = RocksDbStore::Open(options);
  EROICA_CHECK(store.ok());
  return *std::move(store);
}

void AppendJobs(Log& log, int first) {
  for (int job = first; job < first + kJobsAtOnce; ++job) {
    const std::vector<EventBatch> batches = testing::BuildJob(
        {.job = fmt::format("job {:07}", job), .ranks = 2, .steps = 8, .window_steps = 4});
    std::vector<const EventBatch*> in_order;
    for (const EventBatch& batch : batches) in_order.push_back(&batch);
    EROICA_CHECK(testing::AppendBatches(log, kDefaultTopicPrefix, in_order).ok());
  }
}

void Run(int jobs, size_t kept) {
  std::string folder = (fs::temp_directory_path() / "eroica-soak-XXXXXX").string();
  EROICA_CHECK(mkdtemp(folder.data()) != nullptr);
  RecordingOptions recording;
  recording.directory = folder + "/recording";
  auto log = RecordingLog::Open(recording);
  EROICA_CHECK(log.ok());
  TopicLayout layout;
  layout.partitions.fill(1);
  EROICA_CHECK(CreateMissingTopics((*log)->admin(), kDefaultTopicPrefix, layout).ok());
  const Topology topology = testing::EroicaTopology({.ended_kept = kept});
  std::puts("    jobs   jobs/s   held MiB   store MiB   begins anew in ms");
  for (int done = 0; done < jobs; done += kJobsAtOnce) {
    AppendJobs(**log, done);
    const Clock::time_point begin = Clock::now();
    auto store = OpenStore(folder + "/state");
    BoundedRun run(**log, *store, topology, BoundedRunOptions());
    EROICA_CHECK(run.Step().ok());
    const double began_s = SecondsSince(begin);
    EROICA_CHECK(run.Run().ok());
    const double seconds = SecondsSince(begin);
    const double held = MebibytesHeld();
    store.reset();
    fmt::print("{:8} {:8.0f} {:10.1f} {:11.2f} {:19.1f}\n", done + kJobsAtOnce,
               kJobsAtOnce / seconds, held, MebibytesOnDisk(folder + "/state"), 1e3 * began_s);
    std::fflush(stdout);
  }
  fs::remove_all(folder);
}

}  // namespace
}  // namespace eroica

int main(int argc, char** argv) {
  CLI::App app("Many short jobs, one after the other: what a node holds of them");
  int jobs = 20'000;
  size_t kept = 256;
  app.add_option("--jobs", jobs, "How many")->check(CLI::Range(1'000, 10'000'000));
  app.add_option("--kept", kept, "How many jobs that have ended are still known");
  CLI11_PARSE(app, argc, argv);
  eroica::Run(jobs, kept);
  return 0;
}
