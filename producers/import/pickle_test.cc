#include "producers/import/pickle.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <span>
#include <string>

#include "producers/import/flight_recorder_dump.h"

namespace eroica {
namespace {

using namespace std::string_literals;

std::string Complaint(const std::string& bytes) {
  const absl::Status status = Pickle().Parse(bytes);
  return std::string(status.message());
}

// What pickle.dumps writes for {'a': [1, -2, 300, 70000, 2**40, 1.5, 'x', None, True, False], 'b':
// (1, 2)} with protocols 2 and 4.
TEST(Pickle, ReadsPlainData) {
  const std::string protocol2 = "\x80\x02}q\x00(X\x01\x00\x00\x00"s +
                                "aq\x01]q\x02(K\x01J\xfe\xff\xff\xffM,\x01Jp\x11\x01\x00"
                                "\x8a\x06\x00\x00\x00\x00\x00\x01G?\xf8\x00\x00\x00\x00\x00\x00"s +
                                "X\x01\x00\x00\x00xq\x03N\x88\x89"s + "eX\x01\x00\x00\x00"s +
                                "bq\x04K\x01K\x02\x86q\x05u."s;
  Pickle pickle;
  ASSERT_TRUE(pickle.Parse(protocol2).ok());
  const uint32_t list = pickle.Find(pickle.root(), "a");
  ASSERT_NE(list, Pickle::kNoNode);
  const std::span<const uint32_t> items = pickle.ItemsOf(list);
  ASSERT_EQ(items.size(), 10u);
  EXPECT_EQ(pickle.IntegerOf(items[1]), -2);
  EXPECT_EQ(pickle.IntegerOf(items[2]), 300);
  EXPECT_EQ(pickle.IntegerOf(items[3]), 70'000);
  EXPECT_EQ(pickle.IntegerOf(items[4]), int64_t{1} << 40);
  EXPECT_EQ(pickle.RealOf(items[5]), 1.5);
  EXPECT_EQ(pickle.TextOf(items[6]), "x");
  EXPECT_EQ(pickle.KindOf(items[7]), Pickle::Kind::kNone);
  EXPECT_EQ(pickle.IntegerOf(items[8]), 1);
  EXPECT_EQ(pickle.IntegerOf(pickle.ItemsOf(pickle.Find(pickle.root(), "b"))[1]), 2);
  EXPECT_EQ(pickle.Find(pickle.root(), "c"), Pickle::kNoNode);

  const std::string protocol4 =
      "\x80\x04\x95\x0b\x00\x00\x00\x00\x00\x00\x00}\x94\x8c\x01"s + "a\x94K\x05s."s;
  ASSERT_TRUE(pickle.Parse(protocol4).ok());
  EXPECT_EQ(pickle.IntegerOf(pickle.Find(pickle.root(), "a")), 5);
}

// A byte makes a mark, and a mark takes eight.
TEST(Pickle, BoundsItsMarks) {
  EXPECT_EQ(Complaint("\x80\x02"s + std::string((size_t{8} << 20) + 1, '(')),
            "it holds too many values");
}

// Two lists that grow in turn: what has been appended stays where it belongs.
TEST(Pickle, AppendsToListsInTurn) {
  std::string bytes = "\x80\x02(]q\x00]q\x01"s;
  for (char i = 0; i < 5; ++i)
    bytes += "h\x00K"s + i + "a0h\x01K"s + static_cast<char>(i + 10) + "a0"s;
  bytes += "t."s;
  Pickle pickle;
  ASSERT_TRUE(pickle.Parse(bytes).ok());
  const std::span<const uint32_t> lists = pickle.ItemsOf(pickle.root());
  ASSERT_EQ(lists.size(), 2u);
  for (size_t i = 0; i < 5; ++i) {
    EXPECT_EQ(pickle.IntegerOf(pickle.ItemsOf(lists[0])[i]), static_cast<int64_t>(i));
    EXPECT_EQ(pickle.IntegerOf(pickle.ItemsOf(lists[1])[i]), static_cast<int64_t>(i + 10));
  }
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
  EXPECT_NE(Complaint("\x80\x02}"), "");                    // cut off
  EXPECT_NE(Complaint("\x80\x02X\xff\xff\xff\xff."s), "");  // a text longer than the input
  EXPECT_NE(Complaint("\x80\x02h\x05."s), "");              // a memo that was never put
  EXPECT_NE(Complaint("\x80\x02."s), "");                   // nothing on the stack
  EXPECT_NE(Complaint("\x80\x02K\x01K\x02."s), "");         // two values
  EXPECT_NE(Complaint("\x80\x02u."s), "");                  // a mark that was never set
  EXPECT_NE(Complaint("\x80\x02(K\x01"s + "d."s), "");      // a key without value
  EXPECT_NE(Complaint("\x80\x02K\x01K\x02"s + "a."s), "");  // append to a number
}

// Writers die, and disks are full: that is no fault of what was written.
TEST(Pickle, SaysWhereItIsCutOff) {
  const std::string whole = "\x80\x02]q\x00(X\x03\x00\x00\x00"s + "abcM\x01\x02\x8a\x02" + "abe."s;
  EXPECT_EQ(Complaint(whole), "");
  for (size_t size = 1; size < whole.size(); ++size)
    EXPECT_THAT(Complaint(whole.substr(0, size)), testing::HasSubstr("it is cut off")) << size;
}

// Each list holds the one before ten times: small as a pickle, 10^40 values unfolded; and one that
// holds itself. Neither is unfolded, and neither is a dump's list of entries.
TEST(Pickle, UnfoldsNothing) {
  std::string bomb = "\x80\x02]q\x00"s;
  for (char level = 1; level <= 40; ++level) {
    bomb += "]q"s + level + "("s;
    for (int i = 0; i < 10; ++i) bomb += "h"s + static_cast<char>(level - 1);
    bomb += "e"s;
  }
  bomb = bomb + "h\x28"s;  // and 40 lists lie below it
  for (int i = 0; i < 41; ++i) bomb += "\x86"s;
  EXPECT_EQ(Complaint(bomb + "."s), "");
  EXPECT_TRUE(ParseFlightRecorderDump(bomb + "."s).ok());
  const std::string itself = "\x80\x02]q\x00h\x00"s + "a."s;
  EXPECT_EQ(Complaint(itself), "");
  EXPECT_TRUE(ParseFlightRecorderDump(itself).ok());
}

// A list that holds one entry of 40,000 keys 4,000 times: the number of visits is bounded.
TEST(FlightRecorderDump, RefusesEntriesThatUnfoldWithoutBound) {
  std::string bomb = "\x80\x02}q\x00("s;
  for (int i = 0; i < 40'000; ++i) bomb += "K\x01K\x02"s;
  bomb += "u0](h\x00"s;
  for (int i = 0; i < 4'000; ++i) bomb += "h\x00"s;
  const absl::StatusOr<FlightRecorderDump> dump = ParseFlightRecorderDump(bomb + "e."s);
  ASSERT_FALSE(dump.ok());
  EXPECT_NE(dump.status().message().find("unfold to too many"), std::string_view::npos);
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
      EXPECT_EQ(json->names[json->entries[i].group], pickle->names[pickle->entries[i].group]);
    }
  }
}

// PyTorch 2.2: a bare list, one number for all, microseconds, no group but its id.
TEST(FlightRecorderDump, ReadsTheFirstForm) {
  const absl::StatusOr<FlightRecorderDump> dump = ParseFlightRecorderDump(
      R"([{"pg_id": 3, "seq_id": 7, "profiling_name": "nccl:all_reduce", "time_created_us": 1700000000000000, "input_sizes": [[4, 2]], "state": "scheduled"},
          {"pg_id": 3, "seq_id": 8, "profiling_name": "nccl:send 0->1", "time_created_us": 1700000000000001, "state": "completed"}])");
  ASSERT_TRUE(dump.ok()) << dump.status();
  ASSERT_EQ(dump->entries.size(), 2u);
  EXPECT_EQ(dump->entries[0].sequence, 7);
  EXPECT_EQ(dump->entries[0].created_ns, 1'700'000'000'000'000'000);
  EXPECT_EQ(dump->names[dump->entries[0].group].name, "3");
  EXPECT_FALSE(dump->entries[0].point_to_point);
  EXPECT_TRUE(dump->entries[1].point_to_point);
  EXPECT_EQ(dump->entries[1].group_peer, 1);
  EXPECT_FALSE(dump->starts_told);
}

// What PyTorch 2.15 says of an operation, by its own names.
TEST(FlightRecorderDump, TakesWhatTheRecorderKnows) {
  const absl::StatusOr<FlightRecorderDump> dump = ParseFlightRecorderDump(
      R"({"entries": [{"record_id": 5, "process_group": ["1", "tp"], "collective_seq_id": 9, "p2p_seq_id": 0, "is_p2p": false, "profiling_name": "nccl:all_reduce_barrier",
          "state": "completed", "retired": true, "timeout_ms": 600000, "time_created_ns": 10, "time_discovered_started_ns": 11, "time_discovered_completed_ns": 12,
          "input_sizes": [[4, 2], [3]], "input_dtypes": ["BFloat16", "Float"], "output_sizes": [[1]], "output_dtypes": ["Double"],
          "frames": [{"name": "all_reduce", "filename": "/x/site-packages/torch/distributed/distributed_c10d.py", "line": 4},
                     {"name": "step", "filename": "/job/train.py", "line": 41}, {"name": "<module>", "filename": "/job/main.py", "line": 2}]}],
          "pg_config": {"1": {"name": "1", "desc": "tp", "ranks": "[2, 3]"}}, "pg_status": {"1": {"last_enqueued_collective": "9"}}})");
  ASSERT_TRUE(dump.ok()) << dump.status();
  ASSERT_EQ(dump->entries.size(), 1u);
  const FlightRecorderDump::Entry& entry = dump->entries[0];
  EXPECT_EQ(entry.operation, CollectiveOperation::kBarrier);
  EXPECT_EQ(entry.bytes, 28u);
  EXPECT_EQ(entry.bytes_out, 8u);
  EXPECT_EQ(entry.state, FlightRecorderDump::State::kCompleted);
  EXPECT_TRUE(entry.retired);
  EXPECT_FALSE(entry.on_host);
  EXPECT_EQ(entry.timeout_ns, 600'000'000'000);
  EXPECT_EQ(entry.completed_ns, 12);
  EXPECT_TRUE(dump->starts_told);
  EXPECT_FALSE(dump->from_the_first);
  ASSERT_EQ(dump->sites.size(), 1u);
  EXPECT_EQ(dump->sites[entry.site],
            (FlightRecorderDump::Site{"main.py(2): <module>", "train.py(41): step"}));
}

TEST(FlightRecorderDump, IsKnownByHowItBegins) {
  EXPECT_TRUE(BeginsLikeFlightRecorderDump(R"({"entries": [], "pg_config": {}})"));
  EXPECT_TRUE(BeginsLikeFlightRecorderDump("\x80\x02}X\x0e\0\0\0profiling_name"s));
  EXPECT_FALSE(BeginsLikeFlightRecorderDump(R"({"traceEvents": [{"name": "profiling_name"}]})"));
  EXPECT_FALSE(BeginsLikeFlightRecorderDump(
      R"({"schemaVersion": 1, "distributedInfo": {"pg_config": []}})"));
  EXPECT_FALSE(BeginsLikeFlightRecorderDump(""));
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
  EXPECT_EQ(dump->names[dump->entries[0].group].description, "PIPELINE_MODEL_PARALLEL_GROUP");
  EXPECT_EQ(dump->groups[0].ranks.size(), 16u);
}

}  // namespace
}  // namespace eroica
