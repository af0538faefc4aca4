#include "producers/import/pickle.h"

#include <gtest/gtest.h>

#include <string>

#include "producers/import/flight_recorder_dump.h"

namespace eroica {
namespace {

using namespace std::string_literals;

std::string Complaint(const std::string& bytes) {
  const absl::StatusOr<PickleValue> value = ParsePickle(bytes);
  return value.ok() ? "" : std::string(value.status().message());
}

// What pickle.dumps writes for {'a': [1, -2, 300, 70000, 2**40, 1.5, 'x', None, True, False], 'b':
// (1, 2)} with protocols 2 and 4.
TEST(Pickle, ReadsPlainData) {
  const std::string protocol2 = "\x80\x02}q\x00(X\x01\x00\x00\x00"s +
                                "aq\x01]q\x02(K\x01J\xfe\xff\xff\xffM,\x01Jp\x11\x01\x00"
                                "\x8a\x06\x00\x00\x00\x00\x00\x01G?\xf8\x00\x00\x00\x00\x00\x00"s +
                                "X\x01\x00\x00\x00xq\x03N\x88\x89"s + "eX\x01\x00\x00\x00"s +
                                "bq\x04K\x01K\x02\x86q\x05u."s;
  const absl::StatusOr<PickleValue> value = ParsePickle(protocol2);
  ASSERT_TRUE(value.ok()) << value.status();
  const PickleValue* list = value->Find("a");
  ASSERT_NE(list, nullptr);
  ASSERT_EQ(list->items.size(), 10u);
  EXPECT_EQ(list->items[1].integer, -2);
  EXPECT_EQ(list->items[2].integer, 300);
  EXPECT_EQ(list->items[3].integer, 70'000);
  EXPECT_EQ(list->items[4].integer, int64_t{1} << 40);
  EXPECT_EQ(list->items[5].real, 1.5);
  EXPECT_EQ(list->items[6].text, "x");
  EXPECT_EQ(list->items[7].kind, PickleValue::Kind::kNone);
  EXPECT_EQ(list->items[8].integer, 1);
  EXPECT_EQ(value->Find("b")->items[1].integer, 2);
  EXPECT_EQ(value->Find("c"), nullptr);

  const absl::StatusOr<PickleValue> protocol4 =
      ParsePickle("\x80\x04\x95\x0b\x00\x00\x00\x00\x00\x00\x00}\x94\x8c\x01"s + "a\x94K\x05s."s);
  ASSERT_TRUE(protocol4.ok()) << protocol4.status();
  EXPECT_EQ(protocol4->Find("a")->integer, 5);
}

TEST(Pickle, RefusesClassesAndCalls) {
  for (const std::string& hostile :
       {"\x80\x02"s +
            "cos\nsystem\nq\x00X\x02\x00\x00\x00lsq\x01\x85q\x02Rq\x03."s,  // REDUCE of os.system
        "\x80\x04\x8c\x02os\x8c\x06system\x93."s, "\x80\x02\x82\x01."s, "Ptext\n."s,
        "(ios\nsystem\n."s, "\x80\x02}b."s}) {
    EXPECT_NE(Complaint(hostile).find("names a class or calls a function"), std::string::npos)
        << Complaint(hostile);
  }
}

TEST(Pickle, RefusesWhatItWouldHaveToTrust) {
  EXPECT_NE(Complaint(""), "");
  EXPECT_NE(Complaint("\x80\x02}"), "");                     // cut off
  EXPECT_NE(Complaint("\x80\x02X\xff\xff\xff\xff."s), "");   // a text longer than the input
  EXPECT_NE(Complaint("\x80\x02h\x05."s), "");               // a memo that was never put
  EXPECT_NE(Complaint("\x80\x02."s), "");                    // nothing on the stack
  EXPECT_NE(Complaint("\x80\x02K\x01K\x02."s), "");          // two values
  EXPECT_NE(Complaint("\x80\x02u."s), "");                   // a mark that was never set
  EXPECT_NE(Complaint("\x80\x02(K\x01"s + "d."s), "");       // a key without value
  EXPECT_NE(Complaint("\x80\x02K\x01K\x02"s + "a."s), "");   // append to a number
  EXPECT_NE(Complaint("\x80\x02]q\x00h\x00"s + "a."s), "");  // a list that holds itself
}

// Each list holds the one before ten times: small as a pickle, 10^40 values unfolded.
TEST(Pickle, RefusesWhatUnfoldsWithoutBound) {
  std::string bomb = "\x80\x02]q\x00"s;
  for (char level = 1; level <= 40; ++level) {
    bomb += "]q"s + level + "("s;
    for (int i = 0; i < 10; ++i) bomb += "h"s + static_cast<char>(level - 1);
    bomb += "e"s;
  }
  bomb = bomb + "h\x28"s;  // and 40 lists lie below it
  for (int i = 0; i < 41; ++i) bomb += "\x86"s;
  EXPECT_NE(Complaint(bomb + "."s).find("unfold to too many"), std::string::npos)
      << Complaint(bomb + "."s);
}

TEST(FlightRecorderDump, IsTheSameAsJsonAndPickle) {
  const std::filesystem::path folder = "../shared/traces/torch-gloo/hang_rank2_4r";
  if (!std::filesystem::exists(folder))
    GTEST_SKIP() << "needs the real dumps in " << folder
                 << ", which are not in the repository; the tests above read pickles that are";
  for (const int rank : {0, 1, 2, 3}) {
    const std::string name = "fr_rank" + std::to_string(rank);
    const absl::StatusOr<FlightRecorderDump> json =
        ReadFlightRecorderDump(folder / (name + ".json"));
    const absl::StatusOr<FlightRecorderDump> pickle =
        ReadFlightRecorderDump(folder / (name + ".pkl"));
    ASSERT_TRUE(json.ok()) << json.status();
    ASSERT_TRUE(pickle.ok()) << pickle.status();
    ASSERT_EQ(json->entries.size(), pickle->entries.size());
    EXPECT_GT(json->entries.size(), 10u);
    for (size_t i = 0; i < json->entries.size(); ++i) {
      EXPECT_EQ(json->entries[i].sequence, pickle->entries[i].sequence);
      EXPECT_EQ(json->entries[i].group_description, pickle->entries[i].group_description);
    }
  }
}

TEST(FlightRecorderDump, ReadsDumpsOfMegatron) {
  const std::filesystem::path folder = "../shared/traces/flight-recorder-16rank/gpu_error_1st";
  if (!std::filesystem::exists(folder))
    GTEST_SKIP() << "needs the real dumps in " << folder
                 << ", which are not in the repository; the tests above read pickles that are";
  for (int rank = 0; rank < 16; ++rank) {
    const absl::StatusOr<FlightRecorderDump> dump =
        ReadFlightRecorderDump(folder / ("_dump_" + std::to_string(rank)));
    ASSERT_TRUE(dump.ok()) << rank << dump.status();
    EXPECT_GT(dump->groups.size(), 5u);
  }
  const absl::StatusOr<FlightRecorderDump> dump = ReadFlightRecorderDump(folder / "_dump_0");
  ASSERT_FALSE(dump->entries.empty());
  EXPECT_TRUE(dump->entries[0].point_to_point);
  EXPECT_EQ(dump->entries[0].group_description, "PIPELINE_MODEL_PARALLEL_GROUP");
  EXPECT_EQ(dump->groups[0].ranks.size(), 16u);
}

}  // namespace
}  // namespace eroica
