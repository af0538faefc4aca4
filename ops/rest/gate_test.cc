#include "ops/rest/gate.h"

#include <gtest/gtest.h>

namespace eroica {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr Gate::TimePoint kNow{};
const std::string kAddress = "10.0.0.1";

std::optional<int> StatusOf(const std::optional<HttpResponse>& response) {
  return response ? std::optional(response->status) : std::nullopt;
}

std::optional<int> Arrive(Gate& gate, const std::string& host, Gate::TimePoint now = kNow,
                          const std::string& address = kAddress) {
  const std::string target = "/v1/jobs";
  return StatusOf(gate.RefuseArrival({.address = address, .host = host, .target = target}, now));
}

std::optional<int> Admit(Gate& gate, Access access, const std::string& authorization,
                         const std::string& address = kAddress, Gate::TimePoint now = kNow) {
  HttpRequest request;
  request.authorization = authorization;
  std::optional<HttpResponse> refused;
  gate.Admit(access, request, address, now, &refused);
  return StatusOf(refused);
}

GateOptions WithTokens() {
  const NewToken reader = *MakeToken("reader", {.read = true});
  const NewToken operator_ = *MakeToken("operator", {.read = true, .control = true});
  return {.tokens = *TokenTable::Parse(reader.line + "\n" + operator_.line, "t"), .hosts = {}};
}

TEST(GateTest, HostsThatAreNotOursAreRefused) {
  Gate gate({.tokens = {}, .hosts = {"eroica.example"}});
  for (const std::string host : {"127.0.0.1", "127.0.0.1:8470", "localhost:1", "[::1]:8470",
                                 "LOCALHOST", "10.1.2.3", "Eroica.example:443"})
    EXPECT_EQ(Arrive(gate, host), std::nullopt) << host;
  for (const std::string host :
       {"", "evil.example", "eroica.example.evil", "127.0.0.1.evil", "[::1", "a\r\nb"})
    EXPECT_EQ(Arrive(gate, host), 421) << host;
}

TEST(GateTest, WithoutTokensEverybodyReadsAndNobodyControls) {
  Gate gate({.tokens = {}, .hosts = {}});
  EXPECT_EQ(Admit(gate, Access::kRead, ""), std::nullopt);
  EXPECT_EQ(Admit(gate, Access::kControl, ""), 403);
  EXPECT_EQ(Admit(gate, Access::kControl, "Bearer x"), 403);
}

TEST(GateTest, ATokenThatIsTakenAwayCountsNoLonger) {
  const NewToken first = *MakeToken("first", {.read = true});
  const NewToken second = *MakeToken("second", {.read = true});
  std::optional<TokenTable> file;  // what it says now; nothing: it cannot be read
  Gate gate({.tokens = *TokenTable::Parse(first.line, "t"),
             .read_tokens = [&file] { return file; },
             .hosts = {}});
  EXPECT_EQ(Admit(gate, Access::kRead, "Bearer " + first.token), std::nullopt);
  file = *TokenTable::Parse(second.line, "t");
  EXPECT_EQ(Admit(gate, Access::kRead, "Bearer " + first.token), std::nullopt) << "read just now";
  const Gate::TimePoint later = kNow + Gate::kTokensReadApart;
  EXPECT_EQ(Admit(gate, Access::kRead, "Bearer " + first.token, kAddress, later), 401);
  EXPECT_EQ(Admit(gate, Access::kRead, "Bearer " + second.token, kAddress, later), std::nullopt);
  file = std::nullopt;
  EXPECT_EQ(Admit(gate, Access::kRead, "Bearer " + second.token, kAddress, later + seconds(60)),
            std::nullopt);
}

TEST(GateTest, TokensAreAskedFor) {
  const NewToken reader = *MakeToken("reader", {.read = true});
  const NewToken control = *MakeToken("control", {.control = true});
  Gate gate({.tokens = *TokenTable::Parse(reader.line + "\n" + control.line, "t"), .hosts = {}});
  EXPECT_EQ(Admit(gate, Access::kAnybody, ""), std::nullopt);
  EXPECT_EQ(Admit(gate, Access::kRead, ""), 401);
  EXPECT_EQ(Admit(gate, Access::kRead, "Bearer wrong"), 401);
  EXPECT_EQ(Admit(gate, Access::kRead, "Bearer " + reader.token), std::nullopt);
  EXPECT_EQ(Admit(gate, Access::kControl, "Bearer " + reader.token), 403);
  EXPECT_EQ(Admit(gate, Access::kControl, "Bearer " + control.token), std::nullopt);
  EXPECT_EQ(Admit(gate, Access::kRead, "Bearer " + control.token), 403);
}

TEST(GateTest, WrongTokensRunOutAndAddressesApart) {
  Gate gate(WithTokens());
  int unauthorized = 0;
  for (int i = 0; i < 100; ++i)
    unauthorized += Admit(gate, Access::kRead, "Bearer guess" + std::to_string(i)) == 401;
  EXPECT_EQ(unauthorized, 20);
  EXPECT_EQ(Admit(gate, Access::kRead, "Bearer guess"), 429);
  EXPECT_EQ(Admit(gate, Access::kRead, "Bearer guess", "10.0.0.2"), 401);
  EXPECT_EQ(Admit(gate, Access::kRead, "Bearer guess", kAddress, kNow + seconds(6)), 401);
}

TEST(GateTest, WhoAsksTooOftenIsToldToWait) {
  Gate gate({.tokens = {}, .hosts = {}, .requests_per_second = 10});
  int taken = 0;
  for (int i = 0; i < 100; ++i) taken += Arrive(gate, "localhost") == std::nullopt;
  EXPECT_EQ(taken, 20);
  EXPECT_EQ(Arrive(gate, "localhost"), 429);
  EXPECT_EQ(Arrive(gate, "localhost", kNow, "10.0.0.2"), std::nullopt);
  EXPECT_EQ(Arrive(gate, "localhost", kNow + milliseconds(150)), std::nullopt);
  EXPECT_EQ(Arrive(gate, "localhost", kNow + milliseconds(150)), 429);
}

TEST(RateLimitTest, KnowsABoundedNumberOfAddresses) {
  RateLimit limit(1, 2);
  for (int i = 0; i < 200'000; ++i)
    EXPECT_TRUE(limit.Take(std::to_string(i), kNow + milliseconds(i)));
  EXPECT_LE(limit.addresses(), 65'536U);
}

}  // namespace
}  // namespace eroica
