// A store of another version: that of the version before is upgraded when it is opened, any other
// is refused.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rocksdb/db.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "state_store/key_schema.h"
#include "state_store/rocksdb_store.h"
#include "state_store/testing/opened_store.h"

namespace eroica {
namespace {

using ::testing::HasSubstr;
namespace fs = std::filesystem;

class RocksDbUpgradeTest : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = ::testing::TempDir() + "eroica_upgrade_" +
              ::testing::UnitTest::GetInstance()->current_test_info()->name();
    fs::remove_all(folder_);
  }
  void TearDown() override { fs::remove_all(folder_); }

  std::string folder_;
};

// The store in the folder, or a new one, with whatever families it has or is given.
class AnyStore {
 public:
  explicit AnyStore(const std::string& folder, const std::vector<std::string>& new_families = {}) {
    std::vector<std::string> names;
    if (!rocksdb::DB::ListColumnFamilies({}, folder, &names).ok())
      names = {rocksdb::kDefaultColumnFamilyName};
    names.insert(names.end(), new_families.begin(), new_families.end());
    std::vector<rocksdb::ColumnFamilyDescriptor> families;
    for (const std::string& name : names)
      families.emplace_back(name, rocksdb::ColumnFamilyOptions());
    rocksdb::Options options;
    options.create_if_missing = true;
    options.create_missing_column_families = true;
    fs::create_directories(folder);
    rocksdb::DB* db = nullptr;
    const rocksdb::Status opened = rocksdb::DB::Open(options, folder, families, &handles_, &db);
    EXPECT_TRUE(opened.ok()) << opened.ToString();
    db_.reset(db);
  }
  ~AnyStore() {
    for (rocksdb::ColumnFamilyHandle* handle : handles_)
      EXPECT_TRUE(db_->DestroyColumnFamilyHandle(handle).ok());
  }
  void Put(const std::string& family, const std::string& key, const std::string& value) {
    const auto handle = std::ranges::find(handles_, family, &rocksdb::ColumnFamilyHandle::GetName);
    ASSERT_NE(handle, handles_.end());
    EXPECT_TRUE(db_->Put({}, *handle, key, value).ok());
  }

 private:
  std::unique_ptr<rocksdb::DB> db_;
  std::vector<rocksdb::ColumnFamilyHandle*> handles_;
};

TEST_F(RocksDbUpgradeTest, AStoreWithTablesThatWeDoNotKnowIsRefused) {
  { ASSERT_TRUE(RocksDbStore::Open(OptionsFor(folder_)).ok()); }
  { const AnyStore later(folder_, {"of tomorrow"}); }
  const auto store = RocksDbStore::Open(OptionsFor(folder_));
  EXPECT_EQ(store.status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(store.status().message(),
              HasSubstr(folder_ + " was written by another version of eroica"));
}

void WriteVersion2(const std::string& folder, const std::string& task) {
  AnyStore former(folder, {"findings", "jobs", "progress", "positions"});
  former.Put("findings", EncodeKey(FindingKey{.job = JobId("job"), .finding = "1"}), "a finding");
  former.Put("jobs", EncodeKey(JobId("job")), "a job");
  former.Put("progress", task + BeginProgressKey(JobId("job"), ProgressFamily::kLedger).key(),
             "a ledger");
  former.Put("positions", task + "input", "a position");
  former.Put(rocksdb::kDefaultColumnFamilyName, "schema_version", "2");
}

TEST_F(RocksDbUpgradeTest, AStoreOfTheVersionBeforeIsUpgraded) {
  const std::string task = EncodeTaskPrefix("diagnose/eroica.patterns/3");
  WriteVersion2(folder_, task);
  EXPECT_FALSE(RocksDbStore::OpenReadOnly(OptionsFor(folder_), kFindingsOnly).ok());
  for (const char* time : {"first", "again"}) {
    SCOPED_TRACE(time);
    const auto opened = RocksDbStore::Open(OptionsFor(folder_));
    ASSERT_TRUE(opened.ok()) << opened.status();
    const RocksDbStore& store = **opened;
    const std::string finding = EncodeKey(FindingKey{.job = JobId("job"), .finding = "1"});
    EXPECT_EQ(ValueOf(store, Table::kFindings, task + finding), "a finding");
    EXPECT_EQ(ValueOf(store, Table::kFindings, finding), "(nothing)");
    EXPECT_EQ(ValueOf(store, Table::kJobs, task + EncodeKey(JobId("job"))), "a job");
    EXPECT_EQ(ValueOf(store, Table::kPositions, task + "input"), "a position");
    EXPECT_EQ(ValueOf(store, Table::kProgress,
                      task + BeginProgressKey(JobId("job"), ProgressFamily::kLedger).key()),
              "a ledger");
  }
  EXPECT_TRUE(RocksDbStore::OpenReadOnly(OptionsFor(folder_), kFindingsOnly).ok());
}

TEST_F(RocksDbUpgradeTest, AStoreOfAnOlderVersionIsRefused) {
  {
    AnyStore former(folder_, {"findings", "jobs", "progress", "positions"});
    former.Put(rocksdb::kDefaultColumnFamilyName, "schema_version", "1");
  }
  const auto store = RocksDbStore::Open(OptionsFor(folder_));
  EXPECT_EQ(store.status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(store.status().message(), HasSubstr("has schema version 1"));
}

}  // namespace
}  // namespace eroica
