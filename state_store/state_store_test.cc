// What every StateStore promises, asked of each implementation.
#include "state_store/state_store.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "state_store/in_memory_store.h"
#include "state_store/key_schema.h"
#include "state_store/rocksdb_store.h"
#include "state_store/staged_store.h"
#include "state_store/task_store.h"

namespace eroica {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Pair;
using std::string_literals::operator""s;
using Rows = std::vector<std::pair<std::string, std::string>>;

struct Implementation {
  std::string name;
  std::function<std::unique_ptr<StateStore>(const std::string& folder)> open;
};

class StateStoreTest : public ::testing::TestWithParam<Implementation> {
 protected:
  void SetUp() override {
    std::string test = ::testing::UnitTest::GetInstance()->current_test_info()->name();
    std::ranges::replace(test, '/', '_');
    folder_ = ::testing::TempDir() + "eroica_state_store_" + test;
    std::filesystem::remove_all(folder_);
    store_ = GetParam().open(folder_);
    ASSERT_NE(store_, nullptr);
  }
  void TearDown() override {
    store_.reset();
    std::filesystem::remove_all(folder_);
  }

  std::string Get(Table table, const std::string& key) const {
    const auto value = store_->Get(table, key);
    EXPECT_TRUE(value.ok()) << value.status();
    return value->value_or("(nothing)");
  }
  static Rows ScanOf(const StateStore& store, Table table, const std::string& prefix = "") {
    Rows rows;
    const absl::Status status =
        store.Scan(table, prefix, [&](std::string_view key, std::string_view value) {
          rows.emplace_back(key, value);
          return true;
        });
    EXPECT_TRUE(status.ok()) << status;
    return rows;
  }
  Rows Scan(Table table, const std::string& prefix = "") const {
    return ScanOf(*store_, table, prefix);
  }

  std::string folder_;
  std::unique_ptr<StateStore> store_;
};

TEST_P(StateStoreTest, GivesBackWhatWasWritten) {
  EXPECT_EQ(Get(Table::kJobs, "a"), "(nothing)");
  StateChanges changes;
  changes.Put(Table::kJobs, "a", "1");
  changes.Put(Table::kJobs, "zero\0key"s, "\0\xff"s);
  changes.Put(Table::kJobs, "empty", "");
  ASSERT_TRUE(store_->Write(changes).ok());
  EXPECT_EQ(Get(Table::kJobs, "a"), "1");
  EXPECT_EQ(Get(Table::kJobs, "zero\0key"s), "\0\xff"s);
  EXPECT_EQ(Get(Table::kJobs, "empty"), "");
  EXPECT_EQ(Get(Table::kJobs, "zero"), "(nothing)");
}

TEST_P(StateStoreTest, TablesAreApart) {
  StateChanges changes;
  for (int table = 0; table < kTableCount; ++table)
    changes.Put(static_cast<Table>(table), "key", std::to_string(table));
  ASSERT_TRUE(store_->Write(changes).ok());
  for (int table = 0; table < kTableCount; ++table)
    EXPECT_EQ(Get(static_cast<Table>(table), "key"), std::to_string(table));
}

TEST_P(StateStoreTest, LaterChangesWin) {
  StateChanges changes;
  changes.Put(Table::kJobs, "put twice", "1");
  changes.Put(Table::kJobs, "put twice", "2");
  changes.Put(Table::kJobs, "put, deleted", "1");
  changes.Delete(Table::kJobs, "put, deleted");
  changes.Put(Table::kJobs, "x1", "1");
  changes.DeleteRange(Table::kJobs, "x", "y");
  changes.Put(Table::kJobs, "x2", "2");
  changes.Delete(Table::kJobs, "never there");
  ASSERT_TRUE(store_->Write(changes).ok());
  EXPECT_THAT(Scan(Table::kJobs), ElementsAre(Pair("put twice", "2"), Pair("x2", "2")));
}

TEST_P(StateStoreTest, ScansAPrefixInTheOrderOfUnsignedBytes) {
  StateChanges changes;
  for (const std::string& key :
       {"b"s, "a\xff"s, "a"s, "a\xff\xff"s, "a\0"s, "a\x7f"s, "\xff"s, "\xff\xff"s})
    changes.Put(Table::kJobs, key, "");
  ASSERT_TRUE(store_->Write(changes).ok());
  EXPECT_THAT(Scan(Table::kJobs, "a"),
              ElementsAre(Pair("a", ""), Pair("a\0"s, ""), Pair("a\x7f", ""), Pair("a\xff", ""),
                          Pair("a\xff\xff", "")));
  EXPECT_THAT(Scan(Table::kJobs, "\xff"), ElementsAre(Pair("\xff", ""), Pair("\xff\xff", "")));
  EXPECT_THAT(Scan(Table::kJobs, "a\xff"), ElementsAre(Pair("a\xff", ""), Pair("a\xff\xff", "")));
  EXPECT_THAT(Scan(Table::kJobs, "c"), IsEmpty());
  EXPECT_EQ(Scan(Table::kJobs).size(), 8u);
}

TEST_P(StateStoreTest, AScanStopsWhenTheVisitorHasEnough) {
  StateChanges changes;
  for (const char* key : {"a", "b", "c"}) changes.Put(Table::kJobs, key, "");
  ASSERT_TRUE(store_->Write(changes).ok());
  int visits = 0;
  ASSERT_TRUE(
      store_
          ->Scan(Table::kJobs, "", [&](std::string_view, std::string_view) { return ++visits < 2; })
          .ok());
  EXPECT_EQ(visits, 2);
}

TEST_P(StateStoreTest, RangesAreHalfOpenAndMayBeEmpty) {
  StateChanges changes;
  for (const char* key : {"a", "b", "c", "d"}) changes.Put(Table::kJobs, key, "");
  changes.DeleteRange(Table::kJobs, "d", "a");
  changes.DeleteRange(Table::kJobs, "d", "d");
  ASSERT_TRUE(store_->Write(changes).ok());
  EXPECT_EQ(Scan(Table::kJobs).size(), 4u);
  StateChanges range;
  range.DeleteRange(Table::kJobs, "b", "d");
  ASSERT_TRUE(store_->Write(range).ok());
  EXPECT_THAT(Scan(Table::kJobs), ElementsAre(Pair("a", ""), Pair("d", "")));
}

TEST_P(StateStoreTest, AnEmptyWriteIsNoWrite) { EXPECT_TRUE(store_->Write(StateChanges()).ok()); }

TEST_P(StateStoreTest, ATaskSeesOnlyItsOwnRows) {
  TaskStore first(store_.get(), "align-1");
  TaskStore second(store_.get(), "align-10");  // the name of the first is a prefix of its name
  for (TaskStore* task : {&first, &second}) {
    const std::string name = task == &first ? "first" : "second";
    StateChanges changes;
    changes.Put(Table::kProgress, "key", name);
    changes.Put(Table::kProgress, "other", name);
    changes.Put(Table::kPositions, "", name);
    changes.Put(Table::kFindings, name, "finding");
    ASSERT_TRUE(task->Write(changes).ok());
  }
  EXPECT_THAT(ScanOf(first, Table::kProgress),
              ElementsAre(Pair("key", "first"), Pair("other", "first")));
  EXPECT_THAT(ScanOf(first, Table::kPositions), ElementsAre(Pair("", "first")));
  EXPECT_THAT(ScanOf(second, Table::kProgress, "k"), ElementsAre(Pair("key", "second")));
  EXPECT_THAT(ScanOf(first, Table::kFindings), ElementsAre(Pair("first", "finding")));
  EXPECT_EQ(*first.Get(Table::kPositions, ""), "first");

  StateChanges range;
  range.DeleteRange(Table::kProgress, "a", "l");
  range.DeleteRange(Table::kPositions, "", "z");
  ASSERT_TRUE(first.Write(range).ok());
  EXPECT_THAT(ScanOf(first, Table::kProgress), ElementsAre(Pair("other", "first")));
  EXPECT_THAT(ScanOf(first, Table::kPositions), IsEmpty());
  EXPECT_EQ(Scan(Table::kProgress).size(), 3u);
  EXPECT_EQ(Scan(Table::kPositions).size(), 1u);
}

std::unique_ptr<StateStore> OpenRocksDb(const std::string& folder) {
  RocksDbStoreOptions options;
  options.folder = folder;
  options.memory_bytes = size_t{16} << 20;
  auto store = RocksDbStore::Open(options);
  EXPECT_TRUE(store.ok()) << store.status();
  return store.ok() ? *std::move(store) : nullptr;
}

// A staged store over one in memory. Every second write is handed over at once, so that what is
// staged and what is not lie side by side.
class HalfStaged final : public StateStore {
 public:
  absl::StatusOr<std::optional<std::string>> Get(Table table, std::string_view key) const override {
    return staged_.Get(table, key);
  }
  absl::Status Scan(Table table, std::string_view prefix, const Visitor& visit) const override {
    return staged_.Scan(table, prefix, visit);
  }
  absl::Status Write(const StateChanges& changes) override {
    absl::Status status = staged_.Write(changes);
    if (status.ok() && ++writes_ % 2 == 1) status = staged_.Flush();
    return status;
  }

 private:
  InMemoryStore base_;
  StagedStore staged_{&base_};
  int writes_ = 0;
};

TEST(StagedStore, HandsOverInOneWriteAndNothingBefore) {
  InMemoryStore base;
  StateChanges first;
  first.Put(Table::kJobs, "kept", "0");
  first.Put(Table::kJobs, "deleted", "0");
  ASSERT_TRUE(base.Write(first).ok());
  StagedStore staged(&base);
  StateChanges changes;
  changes.Put(Table::kJobs, "new", "1");
  changes.Delete(Table::kJobs, "deleted");
  ASSERT_TRUE(staged.Write(changes).ok());
  EXPECT_FALSE(base.Get(Table::kJobs, "new")->has_value());
  EXPECT_TRUE(base.Get(Table::kJobs, "deleted")->has_value());
  EXPECT_FALSE(staged.Get(Table::kJobs, "deleted")->has_value());
  ASSERT_TRUE(staged.Flush().ok());
  EXPECT_EQ(**base.Get(Table::kJobs, "new"), "1");
  EXPECT_FALSE(base.Get(Table::kJobs, "deleted")->has_value());
  EXPECT_EQ(**base.Get(Table::kJobs, "kept"), "0");
}

INSTANTIATE_TEST_SUITE_P(
    Every, StateStoreTest,
    ::testing::Values(
        Implementation{"InMemory",
                       [](const std::string&) { return std::make_unique<InMemoryStore>(); }},
        Implementation{"HalfStaged",
                       [](const std::string&) { return std::make_unique<HalfStaged>(); }},
        Implementation{"RocksDb", OpenRocksDb}),
    [](const auto& suite) { return suite.param.name; });

}  // namespace
}  // namespace eroica
