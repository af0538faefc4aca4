// Two nodes with servers of their own, of which each knows the other: any of them answers for any
// job.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <optional>

#include "ops/rest/server.h"
#include "ops/rest/testing/raw_client.h"
#include "ops/rest/testing/raw_server.h"
#include "ops/rest/testing/shown_job.h"

namespace eroica {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using Json = nlohmann::json;

// A node with one job, that knows the nodes given to Know.
class OneNode {
 public:
  explicit OneNode(const std::string& job, GateOptions gate = {.tokens = {}, .hosts = {}},
                   const PeerOptions& peers = {})
      : job_(job), service_(Sources(), std::move(gate)) {
    server_ = *RestServer::Start(service_, {.tls = {}, .peers = peers, .limits = {}});
  }
  void Know(const std::string& name, const std::string& url) {
    others_.push_back({.name = name, .url = url});
  }
  void SetTasksRestoring(uint64_t tasks) { job_.node.stages["diagnose"].tasks_restoring = tasks; }
  std::string url() const { return server_->url(); }
  const ShownJob& job() const { return job_; }

  RawClient::Response Get(const std::string& target, const std::string& headers = "") {
    RawClient client(server_->port());
    client.Get(target, headers);
    return client.Read();
  }
  int StatusOfPost(const std::string& target, const std::string& body, const std::string& headers) {
    RawClient client(server_->port());
    client.Post(target, body, headers);
    return client.Read().status;
  }
  Json Body(const std::string& target, const std::string& headers = "") {
    const RawClient::Response response = Get(target, headers);
    EXPECT_EQ(response.status, 200) << response.body;
    return Json::parse(response.body, nullptr, false);
  }

 private:
  RestSources Sources() {
    RestSources sources = job_.sources();
    sources.others = [this] { return others_; };
    return sources;
  }

  ShownJob job_;
  std::vector<KnownNode> others_;
  RestService service_;
  std::unique_ptr<RestServer> server_;
};

class ForwardingTest : public ::testing::Test {
 protected:
  ForwardingTest() {
    a_.Know("b", b_.url());
    b_.Know("a", a_.url());
  }
  OneNode a_{"day"};
  OneNode b_{"night/7"};
};

TEST_F(ForwardingTest, AJobIsShownByWhicheverNodeIsAsked) {
  for (OneNode* node : {&a_, &b_}) {
    EXPECT_EQ(node->Body("/v1/jobs/night%2F7")["job"]["job"], "night/7");
    EXPECT_EQ(node->Body("/v1/jobs/day/windows?limit=1")["windows"][0]["window"], "steps-2");
  }
  EXPECT_EQ(a_.Get("/v1/jobs/night%2F7/windows/steps-9").status, 404);
  EXPECT_THAT(a_.Get("/v1/jobs/night%2F7/windows/steps-9").body, HasSubstr("steps-9 is not held"));
  EXPECT_EQ(a_.Get("/v1/jobs/none").status, 404);
  EXPECT_EQ(a_.Get("/v1/jobs/night%2F7", "Eroica-Forwarded: 1\r\n").status, 404);
}

TEST_F(ForwardingTest, TheListHasTheJobsOfAllNodes) {
  const Json jobs = a_.Body("/v1/jobs");
  ASSERT_THAT(jobs["jobs"], SizeIs(2));
  EXPECT_THAT(jobs["unreachable_nodes"], IsEmpty());
  EXPECT_TRUE(jobs["as_of"]["complete"]);
  EXPECT_THAT(a_.Body("/v1/jobs", "Eroica-Forwarded: 1\r\n")["jobs"], SizeIs(1));
  const Json page = a_.Body("/v1/jobs?limit=1");
  const Json rest = a_.Body("/v1/jobs?cursor=" + page["next_cursor"].get<std::string>());
  EXPECT_NE(page["jobs"][0]["job"], rest["jobs"][0]["job"]);
  EXPECT_THAT(a_.Body("/v1/status")["nodes"][0]["node"], "b");
}

// A tree is copied and printed by functions that take stack for each of its levels.
TEST_F(ForwardingTest, ANodeWhoseAnswerIsDeeperThanOursIsNamed) {
  const std::string deep = std::string(65, '[') + std::string(65, ']');
  const std::string list =
      R"({"jobs":[{"job":"x","state":"running","watermark":"","deep":)" + deep + "}]}";
  RawServer hostile;
  hostile.Answer("HTTP/1.1 200 OK\r\nContent-Length: " + std::to_string(list.size()) + "\r\n\r\n" +
                 list);
  a_.Know("hostile", hostile.url());
  const Json jobs = a_.Body("/v1/jobs");
  EXPECT_THAT(jobs["jobs"], SizeIs(2));
  EXPECT_THAT(jobs["unreachable_nodes"], ElementsAre("hostile"));
}

TEST_F(ForwardingTest, ANodeThatDoesNotAnswerIsNamed) {
  a_.Know("gone", "http://127.0.0.1:1");
  EXPECT_THAT(a_.Body("/v1/jobs")["unreachable_nodes"], ElementsAre("gone"));
  EXPECT_FALSE(a_.Body("/v1/jobs")["as_of"]["complete"]);
  EXPECT_EQ(a_.Body("/v1/jobs/night%2F7")["job"]["job"], "night/7");
  const auto unknown = a_.Get("/v1/jobs/none");
  EXPECT_EQ(unknown.status, 502);
  EXPECT_THAT(unknown.body, HasSubstr("gone"));
}

TEST_F(ForwardingTest, AJobThatAnotherNodeMayBeRestoringIsNotDeniedYet) {
  b_.SetTasksRestoring(1);
  const auto unknown = a_.Get("/v1/jobs/evening");
  EXPECT_EQ(unknown.status, 503);
  EXPECT_THAT(unknown.body, HasSubstr("the node b is not ready"));
  EXPECT_EQ(a_.Body("/v1/jobs/night%2F7")["job"]["job"], "night/7") << "this one it has already";
  b_.SetTasksRestoring(0);
  EXPECT_EQ(a_.Get("/v1/jobs/evening").status, 404);
}

class ForwardingTokenTest : public ::testing::Test {
 protected:
  ForwardingTokenTest() { node_.Know("owner", owner_.url()); }

  const NewToken peer_ = *MakeToken("peer", {.read = true});
  const NewToken caller_ = *MakeToken("caller", {.read = true, .control = true});
  const std::string authorization_ = "Authorization: Bearer " + caller_.token + "\r\n";
  OneNode owner_{"night/7", {.tokens = *TokenTable::Parse(peer_.line, "t"), .hosts = {}}};
  OneNode node_{"day",
                {.tokens = *TokenTable::Parse(caller_.line, "t"), .hosts = {}},
                {.token = peer_.token, .ca_certificate = {}}};
};

TEST_F(ForwardingTokenTest, NodesAskEachOtherWithTheirOwnTokenAndNotTheCallers) {
  EXPECT_EQ(owner_.Get("/v1/jobs", authorization_).status, 401) << "it does not know the caller";
  EXPECT_EQ(node_.Body("/v1/jobs/night%2F7", authorization_)["job"]["job"], "night/7");
  EXPECT_EQ(node_.Get("/v1/jobs/night%2F7").status, 401);
}

TEST_F(ForwardingTokenTest, ACaptureBeginsBehindTheNewestWindowOfTheNodeThatHasTheJob) {
  const std::string level = R"({"level":2})";
  EXPECT_EQ(node_.StatusOfPost("/v1/jobs/night%2F7/capture", level, authorization_), 202);
  ASSERT_THAT(node_.job().captures, SizeIs(1));
  EXPECT_EQ(node_.job().captures[0].job, JobId("night/7"));
  EXPECT_EQ(node_.job().captures[0].first_step, 8);
  EXPECT_EQ(node_.StatusOfPost("/v1/jobs/none/capture", level, authorization_), 422);
}

}  // namespace
}  // namespace eroica
