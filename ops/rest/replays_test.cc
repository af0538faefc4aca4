// Replays over REST, through the whole service.
#include "ops/rest/replays.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "ops/rest/testing/asked_service.h"

namespace eroica {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using Json = nlohmann::json;

class ReplaysTest : public ::testing::Test, public AskedService {
 protected:
  std::vector<ReplayStatus>& held() { return job().replays.held; }
};

TEST_F(ReplaysTest, AReplayIsAskedForAndOnRecord) {
  const auto answer = Ask(HttpMethod::kPost, "/v1/replays", R"({
      "job": "night/7", "from": "2023-11-14T21:00:00Z", "to": "2023-11-14T22:00:00+01:30",
      "options": {"summarize.fold_below": 0.25, "align.open_windows_max": 7}})");
  EXPECT_EQ(answer->response.status, 422) << "its end is not after its beginning";
  const auto taken = Ask(HttpMethod::kPost, "/v1/replays", R"({
      "job": "night/7", "from": "2023-11-14T21:00:00Z", "to": "2023-11-14T22:00:00Z",
      "options": {"summarize.fold_below": 0.25, "align.open_windows_max": 7}})");
  EXPECT_EQ(taken->response.status, 202);
  ASSERT_THAT(held(), SizeIs(1));
  EXPECT_EQ(held()[0].order.job, "night/7");
  EXPECT_EQ(held()[0].order.from_ms, 1'699'995'600'000);
  EXPECT_EQ(*held()[0].order.to_ms - *held()[0].order.from_ms, 3'600'000);
  EXPECT_THAT(held()[0].order.options,
              ElementsAre("align.open_windows_max=7", "summarize.fold_below=0.25"));
  EXPECT_EQ(held()[0].by, "oncall");
  const Json replay = Json::parse(*taken->response.body)["replay"];
  EXPECT_EQ(replay["state"], "queued");
  EXPECT_EQ(replay["node"], "n1");
  EXPECT_TRUE(replay["findings"].is_null());
  const std::string path = "/v1/replays/" + replay["replay"].get<std::string>();
  ASSERT_THAT(taken->response.headers, SizeIs(1));
  EXPECT_EQ(taken->response.headers[0], std::pair(std::string("Location"), path));
  EXPECT_EQ(Get(path)["replay"], replay);
  const Json entries = Get("/v1/audit")["entries"];
  ASSERT_THAT(entries, SizeIs(1));
  EXPECT_EQ(entries[0]["action"], "replay");
  EXPECT_EQ(entries[0]["target"], "night/7");
}

// RFC 3339 has years of four digits.
TEST_F(ReplaysTest, ATimeOfLongAgoIsAnsweredAsItWasSent) {
  const auto taken = Ask(HttpMethod::kPost, "/v1/replays", R"({
      "job": "night/7", "from": "0184-06-09T16:40:28Z", "to": "2023-11-14T22:00:00Z"})");
  EXPECT_EQ(taken->response.status, 202);
  EXPECT_EQ(Json::parse(*taken->response.body)["replay"]["from"], "0184-06-09T16:40:28.000Z");
  for (const char* year : {"12023", "-1000"}) {
    const std::string body =
        std::string(R"({"job": "night/7", "from": ")") + year + R"(-06-09T16:40:28Z"})";
    EXPECT_EQ(Ask(HttpMethod::kPost, "/v1/replays", body)->response.status, 400) << year;
  }
}

TEST_F(ReplaysTest, WhereTooManyWaitItIsForTheCallerToAskLater) {
  job().replays.most = 0;
  const auto refused = Ask(HttpMethod::kPost, "/v1/replays", "{}");
  EXPECT_EQ(refused->response.status, 429);
  EXPECT_EQ(Json::parse(*refused->response.body)["detail"], "too many wait");
  EXPECT_THAT(refused->response.headers,
              ElementsAre(std::pair(std::string("Retry-After"), std::string("10"))));
  EXPECT_THAT(Get("/v1/audit")["entries"], SizeIs(0));
}

TEST_F(ReplaysTest, WhatAFinishedOneFoundIsListedInPages) {
  Post("/v1/replays");
  EXPECT_EQ(StatusOfGet("/v1/replays/000000000000/findings"), 409);
  auto findings = std::make_shared<std::vector<Finding>>(3);
  for (size_t i = 0; i < findings->size(); ++i) {
    (*findings)[i].id = "id" + std::to_string(i);
    (*findings)[i].job = JobId("night/7");
  }
  held()[0].state = ReplayState::kFinished;
  held()[0].findings_total = 5'000;
  held()[0].findings = findings;
  EXPECT_EQ(Get("/v1/replays/000000000000")["replay"]["findings"], 5'000);
  EXPECT_TRUE(Get("/v1/replays/000000000000")["replay"]["verdict"].is_null()) << "of an old node";
  held()[0].verdict = "cannot tell";
  held()[0].nothing_because = "Nothing stands out.";
  held()[0].left_open = {"rank 0 of 8 is not recorded."};
  const Json shown = Get("/v1/replays/000000000000")["replay"];
  EXPECT_EQ(shown["verdict"], "cannot tell");
  EXPECT_EQ(shown["nothing_because"], "Nothing stands out.");
  EXPECT_EQ(shown["left_open"], Json::array({"rank 0 of 8 is not recorded."}));
  const Json page = Get("/v1/replays/000000000000/findings?limit=2");
  EXPECT_EQ(page["findings_total"], 5'000);
  EXPECT_EQ(page["findings"][1]["id"], "id1");
  const Json next = Get("/v1/replays/000000000000/findings?limit=2&cursor=" +
                        page["next_cursor"].get<std::string>());
  ASSERT_THAT(next["findings"], SizeIs(1));
  EXPECT_EQ(next["findings"][0]["id"], "id2");
  EXPECT_TRUE(next["next_cursor"].is_null());
}

TEST_F(ReplaysTest, OneIsCancelledAndOneThatHasEndedIsNot) {
  Post("/v1/replays", R"({"job":"a"})");
  Post("/v1/replays", R"({"job":"b"})");
  EXPECT_EQ(Get("/v1/replays")["replays"][0]["job"], "b");
  EXPECT_EQ(Post("/v1/replays/000000000000/cancel")["replay"]["state"], "cancelled");
  EXPECT_EQ(StatusOfPost("/v1/replays/000000000000/cancel", ""), 422);
  EXPECT_EQ(StatusOfPost("/v1/replays/000000000009/cancel", ""), 404);
  EXPECT_EQ(StatusOfGet("/v1/replays/000000000009"), 404);
}

TEST_F(ReplaysTest, WrongOrdersDoNothing) {
  for (const std::string body :
       {"[]", "{\"job\":7}", "{\"from\":\"yesterday\"}", "{\"from\":1}", "{\"until\":\"x\"}",
        "{\"options\":[]}", "{\"options\":{\"a\":{}}}", "{\"options\":{\"a\":null}}"})
    EXPECT_EQ(StatusOfPost("/v1/replays", body), 400) << body;
  EXPECT_EQ(StatusOfPost("/v1/replays", R"({"options":{"kafka.bootstrap":"elsewhere:9092"}})"),
            422);
  EXPECT_THAT(held(), IsEmpty());
  EXPECT_THAT(Get("/v1/audit")["entries"], IsEmpty());
}

}  // namespace
}  // namespace eroica
