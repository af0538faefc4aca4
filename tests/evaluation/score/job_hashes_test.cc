// Jobs of scenario files stay the same jobs, byte for byte, whatever the simulator learns beside:
// tests/scenarios/job_hashes.txt holds what a few files of each kind of fault gave. A hash is
// changed only where the job is meant to change.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <sstream>
#include <string>

#include "ops/config/text_file.h"
#include "schemas/codec.h"
#include "schemas/test_encoder.h"
#include "tests/evaluation/score/scenario_file.h"
#include "tests/evaluation/simulate/job_simulation.h"

namespace eroica {
namespace {

constexpr char kFolder[] = "tests/scenarios/";

// FNV-1a over the bytes of all batches, in their order.
class HashingSink : public BatchSink {
 public:
  absl::Status Write(const EventBatch& batch) override {
    for (const std::byte byte : encoder_.Encode(batch))
      hash_ = (hash_ ^ static_cast<uint64_t>(byte)) * 0x100000001B3;
    return absl::OkStatus();
  }
  std::string hash() const { return fmt::format("{:016x}", hash_); }

 private:
  TestEncoder encoder_;
  uint64_t hash_ = 0xCBF29CE484222325;
};

// Of the first steps, and of those in which its last fault begins or its size changes.
std::string HashOf(const std::string& file) {
  constexpr uint32_t kSteps = 6;
  const absl::StatusOr<Scenario> scenario = ReadScenario(kFolder + file);
  EXPECT_TRUE(scenario.ok()) << scenario.status();
  if (!scenario.ok()) return "";
  simulate::SimulatedJob job = scenario->job;
  uint32_t begins = 0;
  for (const simulate::Fault& fault : job.faults) begins = std::max(begins, fault.first_step);
  for (const simulate::Resize& resize : job.resizes) begins = std::max(begins, resize.step);
  job.steps = std::min(job.steps, begins + kSteps);
  HashingSink sink;
  EXPECT_TRUE(simulate::Simulate(job, sink).ok()) << file;
  return sink.hash();
}

TEST(JobHashes, JobsOfFilesStayTheSame) {
  const absl::StatusOr<std::string> text = ReadTextFile(std::string(kFolder) + "job_hashes.txt");
  ASSERT_TRUE(text.ok()) << text.status();
  std::istringstream lines(*text);
  int files = 0;
  for (std::string line; std::getline(lines, line);) {
    if (line.empty() || line.front() == '#') continue;
    const size_t blank = line.find(' ');
    ASSERT_NE(blank, std::string::npos) << line;
    const std::string file = line.substr(0, blank);
    EXPECT_EQ(HashOf(file), line.substr(blank + 1)) << file;
    ++files;
  }
  EXPECT_GE(files, 40);
}

}  // namespace
}  // namespace eroica
