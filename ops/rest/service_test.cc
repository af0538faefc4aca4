#include "ops/rest/service.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <set>

#include "ops/dashboard/assets.h"
#include "ops/rest/openapi.h"
#include "ops/rest/testing/shown_job.h"
#include "schemas/testing/not_empty.h"

namespace eroica {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::SizeIs;
using Json = nlohmann::json;

constexpr char kJob[] = "/v1/jobs/night%2F7";
constexpr char kFindingTarget[] = "/v1/findings/0123456789abcdef0123456789abcdef";

class RestServiceTest : public ::testing::Test {
 protected:
  std::shared_ptr<const CachedResponse> Ask(const std::string& target,
                                            HttpMethod method = HttpMethod::kGet,
                                            const std::string& content_type = "") {
    RestService::Arrived arrived;
    arrived.address = "127.0.0.1";
    arrived.host = "localhost";
    arrived.request.method = method;
    arrived.request.target = target;
    arrived.request.content_type = content_type;
    PreparedRequest prepared;
    const auto at_once = service_.Prepare(std::move(arrived), {}, &prepared);
    cached_ = at_once != nullptr;
    return cached_ ? at_once : service_.Answer(prepared);
  }
  int StatusOf(const std::string& target) { return Ask(target)->response.status; }
  Json Get(const std::string& target) {
    const auto answer = Ask(target);
    EXPECT_EQ(answer->response.status, 200) << target << *answer->response.body;
    return Json::parse(*answer->response.body);
  }

  ShownJob job_;
  RestService service_{job_.sources(), {.tokens = {}, .hosts = {}}};
  bool cached_ = false;
};

TEST_F(RestServiceTest, EveryPathOfTheDocumentHasARouteAndTheOtherWayRound) {
  std::set<std::string> documented;
  const Json paths = Json::parse(kOpenApiDocument)["paths"];
  for (const auto& [path, methods] : paths.items()) {
    for (const auto& [method, operation] : methods.items()) documented.insert(method + " " + path);
  }
  std::set<std::string> routed;
  for (const Route& route : service_.router().routes()) {
    if (FindAsset(route.Pattern()) != nullptr) continue;  // the dashboard is no part of the API
    routed.insert((route.method == HttpMethod::kPost ? "post " : "get ") + route.Pattern());
  }
  EXPECT_EQ(documented, routed);
}

TEST_F(RestServiceTest, JobsAndWindows) {
  const Json jobs = Get("/v1/jobs");
  ASSERT_THAT(jobs["jobs"], SizeIs(1));
  EXPECT_EQ(jobs["jobs"][0]["job"], "night/7");
  EXPECT_EQ(jobs["jobs"][0]["open_findings"]["major"], 1);
  EXPECT_EQ(jobs["as_of"]["watermark"], "2023-11-14T22:13:20.002Z");
  EXPECT_EQ(Get(kJob)["job"]["windows_held"], 3);
  const Json windows = Get(std::string(kJob) + "/windows?limit=2");
  EXPECT_EQ(windows["windows"][0]["window"], "steps-2");
  const Json rest = Get(std::string(kJob) +
                        "/windows?limit=2&cursor=" + windows["next_cursor"].get<std::string>());
  ASSERT_THAT(rest["windows"], SizeIs(1));
  EXPECT_EQ(rest["windows"][0]["window"], "steps-0");
  EXPECT_TRUE(rest["next_cursor"].is_null());
  EXPECT_EQ(Get(std::string(kJob) + "/windows/latest")["window"]["step_ns"]["median"], 25e6);
}

TEST_F(RestServiceTest, ACursorGoesOnWhereItsItemHasGone) {
  const std::string cursor = Get(std::string(kJob) + "/windows?limit=1")["next_cursor"];
  for (int64_t index = 3; index < 300; ++index) job_.AddWindow(index);  // steps-2 is held no more
  const Json windows = Get(std::string(kJob) + "/windows?limit=1&cursor=" + cursor);
  EXPECT_EQ(windows["windows"][0]["window"], "steps-299");
  EXPECT_EQ(StatusOf(std::string(kJob) + "/windows?cursor=nonsense"), 400);
}

TEST_F(RestServiceTest, StepsFunctionsAndTheirHistory) {
  const Json steps = Get(std::string(kJob) + "/steps");
  EXPECT_THAT(steps["steps"]["step"], SizeIs(24));
  EXPECT_EQ(steps["steps"]["busiest_rank"][0], 2);
  EXPECT_EQ(steps["findings"][0]["first_step"], 0);
  const Json functions = Get(std::string(kJob) + "/functions")["functions"];
  ASSERT_THAT(functions, SizeIs(2));
  EXPECT_EQ(functions[0]["function"]["name"], "forward");
  EXPECT_EQ(functions[0]["ranks"], 4);
  const std::string forward = functions[0]["function"]["function"];
  const Json over_ranks = Get(std::string(kJob) + "/functions/" + forward);
  EXPECT_THAT(over_ranks["ranks"]["rank"], ElementsAre(0, 1, 2, 3));
  EXPECT_EQ(over_ranks["ranks"]["critical_ns_per_step"][0], 20'000'000);
  EXPECT_EQ(over_ranks["ranks"]["role_critical_ns_per_step"][0], 20'000'000);
  const Json history = Get(std::string(kJob) + "/functions/" + forward + "/history?rank=2");
  EXPECT_THAT(history["windows"]["window"], ElementsAre("steps-0", "steps-1", "steps-2"));
  EXPECT_EQ(history["windows"]["peers_critical_ns_per_step"][0], 20'000'000);
  EXPECT_EQ(functions[1]["critical_ns_per_step"],
            Json::parse(R"({"median": 0, "max": 5e6, "max_rank": 2})"));
  EXPECT_EQ(functions[1]["call_ns"]["median"], functions[1]["call_ns"]["max"])
      << "a call that was not made has no duration";
  const std::string slow = functions[1]["function"]["function"];
  const Json others = Get(std::string(kJob) + "/functions/" + slow + "/history?rank=0");
  EXPECT_TRUE(others["windows"]["beta"][0].is_null());
  EXPECT_EQ(StatusOf(std::string(kJob) + "/functions/" + slow + "/history"), 400);
  EXPECT_EQ(StatusOf(std::string(kJob) + "/functions/0000000000000000"), 404);
  EXPECT_EQ(StatusOf(std::string(kJob) + "/functions/zz"), 400);
}

TEST_F(RestServiceTest, TheHeatMapShowsTheExcessOverTheRole) {
  const Json map = Get(std::string(kJob) + "/heatmap?functions=2");
  EXPECT_EQ(map["values"][0], Json::parse("[0,0,0,0]"));
  EXPECT_EQ(map["values"][1], Json::parse("[null,null,5000,null]"))
      << "its peers spend nothing in what they do not run";
  const Json critical = Get(std::string(kJob) + "/heatmap?metric=critical&functions=1");
  EXPECT_EQ(critical["values"], Json::parse("[[20000,20000,20000,20000]]"));
  EXPECT_EQ(StatusOf(std::string(kJob) + "/heatmap?metric=other"), 400);
}

TEST_F(RestServiceTest, RanksCommunicatorsWaitsAndLinks) {
  const Json rank = Get(std::string(kJob) + "/ranks/2");
  EXPECT_EQ(rank["rank"]["excess_ns"], 5e6);
  EXPECT_EQ(rank["functions"][0]["peers_critical_ns_per_step"], 2e7);
  EXPECT_EQ(rank["functions"][0]["peers_critical_at_most_ns_per_step"], 2e7);
  EXPECT_EQ(rank["functions"][1]["peers_critical_ns_per_step"], 0);
  EXPECT_EQ(rank["functions"][1]["peers_critical_at_most_ns_per_step"], 2e6)
      << "two of three may have run it, as one of the small functions";
  EXPECT_TRUE(rank["functions"][1]["peers_call_ns"].is_null());
  EXPECT_EQ(rank["resources"][0]["resource"], "gpu_clock");
  EXPECT_THAT(rank["communicators"], ElementsAre("0000000000000001"));
  EXPECT_THAT(rank["history"]["busy_ns"], ElementsAre(25e6, 25e6, 25e6));
  EXPECT_EQ(StatusOf(std::string(kJob) + "/ranks/4"), 404);
  EXPECT_THAT(Get(std::string(kJob) + "/ranks?host=host0&limit=3")["ranks"], SizeIs(3));
  EXPECT_THAT(Get(std::string(kJob) + "/ranks?host=none")["ranks"], SizeIs(0));
  const Json communicators = Get(std::string(kJob) + "/communicators");
  EXPECT_EQ(communicators["communicators"][0]["culprit"]["rank"], 2);
  const Json members = Get(std::string(kJob) + "/communicators/0000000000000001")["members"];
  EXPECT_EQ(members["blocker"][1], "slow");
  const Json waits = Get(std::string(kJob) + "/waits")["waits"];
  ASSERT_THAT(waits, SizeIs(2));
  EXPECT_EQ(waits[0]["waiting"], 0);
  EXPECT_EQ(waits[0]["waited_for"], 2);
  EXPECT_EQ(waits[0]["wait_ns"], 40);
  EXPECT_EQ(waits[1]["waited_for"], 3);
  EXPECT_EQ(waits[1]["point_to_point"], true);
  const Json links = Get(std::string(kJob) + "/links");
  EXPECT_THAT(links["links"]["gb_per_s"], ElementsAre(8.0));
  EXPECT_EQ(links["links"]["retransmits"][0], 4);
}

TEST_F(RestServiceTest, FindingsByWhatIsAsked) {
  EXPECT_THAT(Get("/v1/findings")["findings"], SizeIs(1));
  EXPECT_THAT(Get("/v1/findings?job=night%2F7&state=open&severity=major&rank=2&kind=slow_rank"
                  "&since=2023-11-14T22:13:20Z")["findings"],
              SizeIs(1));
  EXPECT_THAT(Get("/v1/findings?severity=critical")["findings"], SizeIs(0));
  EXPECT_THAT(Get("/v1/findings?until=2023-11-14T22:13:20Z")["findings"], SizeIs(0));
  const Json finding = Get(kFindingTarget)["finding"];
  EXPECT_EQ(finding["title"], "Rank 2 holds 3 other ranks up");
  EXPECT_EQ(finding["first_seen"], "2023-11-14T22:13:20.000Z");
  EXPECT_TRUE(finding["annotation"]["muted"].is_null());
  EXPECT_EQ(StatusOf("/v1/findings/00000000000000000000000000000000"), 404);
  EXPECT_EQ(StatusOf("/v1/findings?since=yesterday"), 400);
  EXPECT_EQ(StatusOf("/v1/findings?sevrity=major"), 400);
  EXPECT_EQ(StatusOf("/v1/findings/stream?job="), 400);
}

TEST_F(RestServiceTest, AListOfFindingsMayBeBrief) {
  PublishedFinding published{
      .finding = {}, .partition = 0, .offset = 9, .timestamp_ms = 1'700'000'000'000};
  published.finding.id = "ffffffffffffffffffffffffffffffff";
  published.finding.job = JobId("large");
  for (uint32_t rank = 0; rank < 1'000; ++rank)
    published.finding.victims.push_back({.rank = RankId{rank}, .lost_ns = rank});
  job_.findings().Add(published);
  const Json full = Get("/v1/findings?job=large")["findings"][0];
  EXPECT_THAT(full["victims"], SizeIs(1'000));
  const Json brief = Get("/v1/findings?job=large&view=brief")["findings"][0];
  EXPECT_EQ(brief["victims_total"], 1'000);
  ASSERT_THAT(brief["victims"], SizeIs(10));
  EXPECT_EQ(brief["victims"][0]["rank"], 999) << "those that lost the most";
  EXPECT_EQ(brief["victims"][9]["rank"], 990);
  EXPECT_EQ(Get("/v1/findings?job=night%2F7&view=brief")["findings"][0]["victims_total"], 0);
  EXPECT_EQ(StatusOf("/v1/findings?view=long"), 400);
}

TEST_F(RestServiceTest, AnswersAreCachedUntilSomethingChanges) {
  const auto first = Ask(kFindingTarget);
  EXPECT_FALSE(cached_);
  EXPECT_EQ(Ask(kFindingTarget), first);
  EXPECT_TRUE(cached_);
  job_.AddFinding("0123456789abcdef0123456789abcdef", 1, FindingState::kResolved);
  const auto second = Ask(kFindingTarget);
  EXPECT_FALSE(cached_);
  EXPECT_NE(second->etag, first->etag);
  EXPECT_THAT(*second->response.body, HasSubstr("resolved"));
  Ask("/v1/findings?muted=false");
  Ask("/v1/findings?muted=false");
  EXPECT_FALSE(cached_) << "mutes end by themselves";
}

TEST_F(RestServiceTest, HealthAndReadiness) {
  EXPECT_EQ(StatusOf("/healthz"), 200);
  EXPECT_EQ(StatusOf("/readyz"), 200);
  job_.node.stages["diagnose"].tasks_restoring = 2;
  EXPECT_EQ(Ask("/readyz")->response.status, 503);
  EXPECT_EQ(Get("/v1/status")["ready"], false);
  job_.node.healthy = false;
  job_.node.reasons = {"diagnose could not use 9 % of its records"};
  const Json health = Get("/healthz");
  EXPECT_EQ(health["healthy"], false);
  EXPECT_THAT(health["reasons"], SizeIs(1));
}

TEST_F(RestServiceTest, TheStatusSaysWhatTransactionsHoldBack) {
  StageProbe& diagnose = job_.node.stages["diagnose"];
  const auto stage = [this] {
    const Json status = Get("/v1/status");
    for (const Json& found : status["stages"])
      if (found["stage"] == "diagnose") return found;
    return Json();
  };
  diagnose.consumer.lag_records.reset();
  EXPECT_TRUE(stage()["lag_records"].is_null());
  diagnose.consumer.lag_records = 7;
  diagnose.consumer.held_records = 5;
  diagnose.consumer.held_seconds = 31;
  diagnose.records_unreadable = 40;
  EXPECT_EQ(stage()["lag_records"], 7);
  EXPECT_EQ(stage()["held_records"], 5);
  EXPECT_EQ(stage()["held_seconds"], 31);
  EXPECT_EQ(stage()["records_unreadable"], 40);
}

TEST_F(RestServiceTest, AJobThatMayBeRestoredIsNotDeniedYet) {
  job_.node.stages["diagnose"].tasks_restoring = 1;
  const auto answer = Ask("/v1/jobs/evening");
  EXPECT_EQ(answer->response.status, 503);
  ASSERT_THAT(answer->response.headers, SizeIs(1));
  EXPECT_EQ(answer->response.headers[0], std::pair(std::string("Retry-After"), std::string("2")));
  EXPECT_EQ(StatusOf(kJob), 200) << "this one is here";
  job_.node.stages["diagnose"].tasks_restoring = 0;
  EXPECT_EQ(StatusOf("/v1/jobs/evening"), 404);
}

TEST_F(RestServiceTest, TheDashboardLoadsNothingFromElsewhere) {
  for (const Asset& asset : NotEmpty(Assets())) {
    const auto page = Ask(std::string(asset.path));
    EXPECT_EQ(page->response.status, 200);
    EXPECT_EQ(*page->response.body, asset.bytes);
    EXPECT_EQ(page->response.content_type, asset.content_type);
    ASSERT_THAT(page->response.headers, SizeIs(1));
    EXPECT_THAT(page->response.headers[0].second, HasSubstr("default-src 'none'"));
  }
  EXPECT_EQ(StatusOf("/assets/nothing.js"), 404);
}

TEST_F(RestServiceTest, WhatCannotBeAnsweredIsAProblem) {
  EXPECT_EQ(StatusOf("/v1/jobs/nigth%2F7"), 404);
  EXPECT_THAT(*Ask("/v1/jobs/nigth%2F7")->response.body, HasSubstr("did you mean night/7"));
  EXPECT_EQ(StatusOf(std::string(kJob) + "/windows/steps-9"), 404);
  EXPECT_EQ(StatusOf(std::string(kJob) + "/windows/yesterday"), 400);
  EXPECT_EQ(StatusOf("/v1/nothing"), 404);
  EXPECT_EQ(StatusOf("/v1/jobs?limit=0"), 400);
  EXPECT_EQ(StatusOf("/v1/jobs?limit=1001"), 400);
  EXPECT_EQ(StatusOf("/v1//jobs"), 400);
  const auto wrong_method = Ask("/v1/jobs", HttpMethod::kOther);
  EXPECT_EQ(wrong_method->response.status, 405);
  const Json problem = Json::parse(*Ask("/v1/jobs/a%1b%5b31m")->response.body);
  EXPECT_THAT(problem["detail"].get<std::string>(), HasSubstr("a\\x1b[31m"));
  EXPECT_EQ(problem["status"], 404);
}

}  // namespace
}  // namespace eroica
