// What people ask a node to do, through the whole service.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "ops/rest/testing/asked_service.h"

namespace eroica {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;
using Json = nlohmann::json;

const std::string kFinding = "/v1/findings/0123456789abcdef0123456789abcdef";
const std::string kCapture = "/v1/jobs/night%2F7/capture";

class ControlTest : public ::testing::Test, public AskedService {
 protected:
  Json Audit(const std::string& query = "") { return Get("/v1/audit" + query); }
};

TEST_F(ControlTest, AFindingIsAcknowledgedAndMuted) {
  const Json finding = Post(kFinding + "/acknowledge", R"({"note":"on it"})")["finding"];
  EXPECT_EQ(finding["annotation"]["acknowledged"]["by"], "oncall");
  EXPECT_EQ(finding["annotation"]["acknowledged"]["note"], "on it");
  const Json muted = Post(kFinding + "/mute", R"({"minutes":60})")["finding"];
  EXPECT_EQ(muted["annotation"]["muted"]["until"], "2023-11-14T23:13:21.000Z");
  const auto without = Ask(HttpMethod::kGet, "/v1/findings?muted=false");
  EXPECT_THAT(Json::parse(*without->response.body)["findings"], IsEmpty());
  Post(kFinding + "/unmute", "");
  const auto again = Ask(HttpMethod::kGet, "/v1/findings?muted=false");
  EXPECT_THAT(Json::parse(*again->response.body)["findings"], SizeIs(1));
}

TEST_F(ControlTest, AJobIsAskedForMore) {
  const Json accepted = Post(kCapture, R"({"level":2,"first_step":100,"last_step":131})");
  ASSERT_THAT(job().captures, SizeIs(1));
  EXPECT_EQ(job().captures[0].job, JobId("night/7"));
  EXPECT_EQ(job().captures[0].capture_level, CaptureLevel::kEvents);
  EXPECT_EQ(job().captures[0].last_step, 131);
  EXPECT_EQ(job().captures[0].requester, "oncall");
  EXPECT_EQ(job().captures[0].expires_at_ns, (1'700'000'001'000 + 3'600'000) * int64_t{1'000'000});
  Post(kCapture, R"({"level":2})");
  EXPECT_EQ(job().captures[1].first_step, 8) << "the first that no window has shown";
  EXPECT_EQ(job().captures[1].last_step, 39);
  EXPECT_EQ(StatusOfPost("/v1/jobs/unknown/capture", R"({"level":2})"), 422);
  Post(kCapture, R"({"off":true})");
  EXPECT_EQ(job().captures[2].capture_level, CaptureLevel::kOff);
  const Json entries = Audit()["entries"];
  ASSERT_THAT(entries, SizeIs(3));
  EXPECT_EQ(entries[2]["audit_id"], accepted["audit_id"]);
  EXPECT_EQ(entries[2]["detail"], "level 2 in steps 100 to 131");
  EXPECT_EQ(entries[0]["detail"], "off");
  EXPECT_EQ(entries[0]["target"], "night/7");
  const Json page = Audit("?limit=1");
  EXPECT_EQ(Audit("?limit=1&cursor=" + page["next_cursor"].get<std::string>())["entries"][0],
            entries[1]);
}

TEST_F(ControlTest, WrongBodiesDoNothing) {
  for (const std::string body :
       {"", "[]", "{", "{\"level\":3,\"first_step\":1,\"last_step\":2}",
"{\"level\":\"1\",\"first_step\":1,\"last_step\":2}",
        "{\"level\":1,\"first_step\":-1,\"last_step\":2}",
        "{\"level\":1,\"first_step\":1,\"last_step\":18446744073709551615}",
        "{\"level\":1.5,\"first_step\":1,\"last_step\":2}",
        "{\"level\":1,\"first_step\":1,\"last_step\":2,\"more\":1}", "{\"off\":true,\"level\":1}",
        "{\"off\":\"yes\"}", "{\"off\":false}",
        "{\"level\":1,\"first_step\":1,\"last_step\":2,\"expires_minutes\":0}"})
    EXPECT_EQ(StatusOfPost(kCapture, body), 400) << body;
  EXPECT_EQ(StatusOfPost(kCapture, R"({"level":1,"first_step":2,"last_step":1})"), 422);
  EXPECT_EQ(StatusOfPost(kFinding + "/mute", "{}"), 400);
  EXPECT_EQ(StatusOfPost(kFinding + "/mute", R"({"minutes":0})"), 400);
  EXPECT_EQ(StatusOfPost(kFinding + "/acknowledge", R"({"note":7})"), 400);
  EXPECT_EQ(StatusOfPost(kFinding + "/acknowledge?x=1", "{}"), 400);
  EXPECT_EQ(
      StatusOfPost(kFinding + "/acknowledge", "{\"note\":\"" + std::string(3'000, 'x') + "\"}"),
      400);
  EXPECT_EQ(StatusOfPost("/v1/findings/00000000000000000000000000000000/acknowledge", "{}"), 404);
  EXPECT_EQ(Ask(HttpMethod::kPost, kCapture, "{}", "text/plain")->response.status, 415);
  EXPECT_THAT(job().captures, IsEmpty());
  EXPECT_THAT(Audit()["entries"], IsEmpty());
}

TEST_F(ControlTest, ANoteCannotDriveATerminal) {
  Post(kFinding + "/acknowledge", R"({"note":"\u001b[31m\u202e red"})");
  const auto shown = Ask(HttpMethod::kGet, kFinding);
  EXPECT_THAT(*shown->response.body, Not(HasSubstr("\x1b")));
  EXPECT_THAT(*shown->response.body, HasSubstr("\\u202e"));
}

}  // namespace
}  // namespace eroica
