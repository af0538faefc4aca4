// The examples of docs/SUBSCRIBERS.md against a real broker: they and the broker are killed in the
// middle, every record comes twice, and each version of each finding is handled once.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <memory>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "ops/cli/exit_code.h"
#include "ops/cli/program_run.h"
#include "schemas/codec.h"
#include "schemas/example_payloads.h"
#include "schemas/finding_json.h"
#include "schemas/finding_version.h"
#include "schemas/test_encoder.h"
#include "stream_ops/diagnose/finding_event.h"
#include "stream_ops/kafka/kafka_log.h"
#include "tests/integration/test_broker.h"

namespace eroica {
namespace {

using ::testing::ElementsAreArray;
using ::testing::HasSubstr;

constexpr const char* kFlatBuffersTopic = "eroica.findings";
constexpr const char* kJsonTopic = "eroica.findings-json";

std::string FindPython() {
  for (const std::string python : {"/usr/bin/python3", "/usr/local/bin/python3"}) {
    const std::string check = python + " -c 'import confluent_kafka, flatbuffers' 2>/dev/null";
    if (std::system(check.c_str()) == 0) return python;
  }
  return "";
}

// A version of a finding, as the diagnose stage publishes it.
Finding Version(int64_t window) {
  Finding finding = ExampleFinding();
  finding.title = "Rank 3 is slow \x1b[2J in window " + std::to_string(window);
  finding.last_window = window;
  finding.emitted_at_ns = 1'700'000'000'000'000'000 + window;
  return finding;
}

void Publish(const std::string& broker, int64_t first, int64_t last) {
  const auto log = KafkaLog::Open({.bootstrap_servers = broker});
  ASSERT_TRUE(log.ok()) << log.status();
  const auto producer = (*log)->NewProducer();
  ASSERT_TRUE(producer.ok()) << producer.status();
  TestEncoder encoder;
  for (int64_t window = first; window <= last; ++window) {
    const Finding finding = Version(window);
    const Bytes bytes = encoder.Encode(finding);
    const std::string payload(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    for (int copy = 0; copy < 2; ++copy) {  // as after a crash between a send and its commit
      ASSERT_TRUE((*producer)
                      ->Append({.topic = kFlatBuffersTopic,
                                .key = finding.job.value,
                                .value = payload,
                                .headers = FindingEventHeaders(finding, FindingFormat::kFlatBuffers,
                                                               "/eroica")})
                      .ok());
      ASSERT_TRUE(
          (*producer)
              ->Append({.topic = kJsonTopic,
                        .key = finding.job.value,
                        .value = ToJson(finding),
                        .headers = FindingEventHeaders(finding, FindingFormat::kJson, "/eroica")})
              .ok());
    }
  }
  const absl::Status status = (*producer)->Flush(std::chrono::seconds(60));
  ASSERT_TRUE(status.ok()) << status;
}

std::vector<std::string> IdsOfWindows(int64_t first, int64_t last) {
  std::vector<std::string> ids;
  for (int64_t window = first; window <= last; ++window)
    ids.push_back(FindingVersionId(Version(window)));
  return ids;
}

// One of the examples, that is started again and again and keeps its journal.
class Follower {
 public:
  // command: what comes before the names of topic, group and journal.
  Follower(std::string name, std::vector<std::string> command)
      : name_(std::move(name)), command_(std::move(command)) {}

  std::string journal() const { return folder_.path() + "/journal"; }
  void Start(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), command_.begin(), command_.end());
    program_ = std::make_unique<Program>("/usr/bin/env", std::move(arguments));
  }
  void Kill() { program_.reset(); }
  ProgramRun Stop() {
    program_->Signal(SIGTERM);
    return program_->Wait();
  }
  // The ids that it has handled, in order.
  std::vector<std::string> Handled() const {
    std::istringstream lines(ReadBytes(journal()));
    std::vector<std::string> ids;
    for (std::string line; std::getline(lines, line) && !lines.eof();) {
      const bool is_json = line.starts_with("{");
      ids.push_back(is_json ? nlohmann::json::parse(line)["ce_id"].get<std::string>() : line);
    }
    return ids;
  }
  const std::string& name() const { return name_; }

 private:
  const std::string name_;
  const std::vector<std::string> command_;
  ScratchDirectory folder_;
  std::unique_ptr<Program> program_;
};

class SubscribersTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!SharedBroker()) GTEST_SKIP() << kNoBrokerMessage;
    broker_ = std::make_unique<OwnBroker>();
    ASSERT_FALSE(broker_->address().empty());
    const ProgramRun created = RunProgram({"topics", "create", "--bootstrap", broker_->address(),
                                           "--set", "findings.json_topic=true"});
    ASSERT_EQ(created.exit_code, kExitNothingFound) << created.err;
    const std::string python = FindPython();
    followers_.push_back(std::make_unique<Follower>(
        "C++", std::vector<std::string>{EROICA_FOLLOW_FINDINGS, broker_->address(),
                                        kFlatBuffersTopic, "cpp"}));
    if (python.empty()) return;
    for (const char* topic : {kJsonTopic, kFlatBuffersTopic}) {
      followers_.push_back(std::make_unique<Follower>(
          std::string("Python on ") + topic,
          std::vector<std::string>{std::string("PYTHONPATH=") + EROICA_FINDING_PYTHON, python, "-B",
                                   "ops/examples/follow_findings.py", "--bootstrap",
                                   broker_->address(), "--topic", topic, "--group",
                                   std::string("python-") + topic}));
    }
  }

  void StartAll() {
    for (const auto& follower : followers_) {
      // Of a member that was killed, the group forgets after this.
      const std::vector<std::string> settings = {"session.timeout.ms=1500",
                                                 "heartbeat.interval.ms=400"};
      std::vector<std::string> arguments = {follower->journal()};
      if (follower->name() != "C++") {
        arguments = {"--journal", follower->journal(), "--set", settings[0], "--set", settings[1]};
      } else {
        arguments.insert(arguments.end(), settings.begin(), settings.end());
      }
      follower->Start(arguments);
    }
  }
  bool AwaitHandled(size_t count) const {
    return Await([&] {
      return std::ranges::all_of(followers_, [count](const auto& follower) {
        return follower->Handled().size() >= count;
      });
    });
  }

  std::unique_ptr<OwnBroker> broker_;
  std::vector<std::unique_ptr<Follower>> followers_;
};

TEST_F(SubscribersTest, LoseNothingAndHandleNothingTwice) {
  Publish(broker_->address(), 1, 40);
  StartAll();
  ASSERT_TRUE(AwaitHandled(10));
  for (const auto& follower : followers_) follower->Kill();
  broker_->Kill();
  ASSERT_TRUE(broker_->Restart());
  Publish(broker_->address(), 41, 80);
  StartAll();
  ASSERT_TRUE(AwaitHandled(80));
  broker_->Kill();  // and now under their feet
  ASSERT_TRUE(broker_->Restart());
  Publish(broker_->address(), 81, 90);
  ASSERT_TRUE(AwaitHandled(90));
  for (const auto& follower : followers_) {
    const ProgramRun run = follower->Stop();
    EXPECT_EQ(run.exit_code, 0) << follower->name() << run.err;
    EXPECT_THAT(follower->Handled(), ElementsAreArray(IdsOfWindows(1, 90))) << follower->name();
    EXPECT_THAT(run.out, HasSubstr(" job ")) << follower->name();
    EXPECT_EQ(run.out.find('\x1b'), std::string::npos) << follower->name();
  }
  EXPECT_EQ(followers_.size(), 3u) << "the example in Python needs python3-confluent-kafka and "
                                      "python3-flatbuffers: ops/install_dependencies.sh --tests";
}

TEST_F(SubscribersTest, KcatShowsSomethingReadable) {
  if (std::system("command -v kcat >/dev/null") != 0)
    GTEST_SKIP() << "needs kcat: ops/install_dependencies.sh --tests";
  Publish(broker_->address(), 1, 1);
  const ProgramRun run = Program("/usr/bin/env", {"kcat", "-C", "-b", broker_->address(), "-t",
                                                  kJsonTopic, "-c", "1", "-q", "-f", "%h\n%s\n"})
                             .Wait();
  ASSERT_EQ(run.exit_code, 0) << run.err;
  const size_t line = run.out.find('\n');
  const std::string headers = run.out.substr(0, line);
  EXPECT_THAT(headers, HasSubstr("ce_specversion=1.0,ce_id=" + FindingVersionId(Version(1))));
  EXPECT_THAT(headers, HasSubstr("content-type=application/json"));
  const nlohmann::json finding = nlohmann::json::parse(run.out.substr(line));
  EXPECT_EQ(finding["title"], Version(1).title);
  EXPECT_EQ(run.out.find('\x1b'), std::string::npos);
}

}  // namespace
}  // namespace eroica
