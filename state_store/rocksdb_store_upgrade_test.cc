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

namespace eroica {
namespace {

using ::testing::HasSubstr;
using ::testing::UnorderedElementsAre;
namespace fs = std::filesystem;

constexpr Table kFindingsOnly[] = {Table::kFindings};

RocksDbStoreOptions OptionsFor(const std::string& folder) {
  RocksDbStoreOptions options;
  options.folder = folder;
  options.memory_bytes = size_t{16} << 20;
  return options;
}

std::string ValueOf(const StateStore& store, Table table, const std::string& key) {
  const auto value = store.Get(table, key);
  EXPECT_TRUE(value.ok()) << value.status();
  return value.ok() ? value->value_or("(nothing)") : value.status().ToString();
}

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

const std::vector<std::string> kFamiliesOfVersion1 = {"patterns", "summaries", "findings",
                                                      "jobs",     "progress",  "positions"};

void WriteVersion1(const std::string& folder, const std::vector<std::string>& families) {
  AnyStore former(folder, families);
  for (const std::string& family : families) former.Put(family, "key", "of " + family);
  former.Put("progress",
             EncodeTaskPrefix("align/eroica.collectives/0") +
                 KeyWriter().PutByte(0).PutString("job").key() + "rest",
             "aligned");
  former.Put(rocksdb::kDefaultColumnFamilyName, "schema_version", "1");
}

TEST_F(RocksDbUpgradeTest, AStoreOfTheVersionBeforeIsUpgraded) {
  WriteVersion1(folder_, kFamiliesOfVersion1);
  EXPECT_FALSE(RocksDbStore::OpenReadOnly(OptionsFor(folder_), kFindingsOnly).ok());
  for (const char* time : {"first", "again"}) {
    SCOPED_TRACE(time);
    const auto opened = RocksDbStore::Open(OptionsFor(folder_));
    ASSERT_TRUE(opened.ok()) << opened.status();
    const RocksDbStore& store = **opened;
    EXPECT_EQ(ValueOf(store, Table::kFindings, "key"), "of findings");
    EXPECT_EQ(ValueOf(store, Table::kJobs, "key"), "of jobs");
    EXPECT_EQ(ValueOf(store, Table::kPositions, "key"), "of positions");
    EXPECT_EQ(ValueOf(store, Table::kProgress, "key"), "(nothing)") << "no task's row";
    EXPECT_EQ(ValueOf(store, Table::kProgress,
                      EncodeTaskPrefix("align/eroica.collectives/0") +
                          BeginProgressKey(JobId("job"), ProgressFamily::kAligned).key() + "rest"),
              "aligned");
  }
  std::vector<std::string> names;
  ASSERT_TRUE(rocksdb::DB::ListColumnFamilies({}, folder_, &names).ok());
  EXPECT_THAT(names, UnorderedElementsAre("default", "findings", "jobs", "progress", "positions"));
  EXPECT_TRUE(RocksDbStore::OpenReadOnly(OptionsFor(folder_), kFindingsOnly).ok());
}

TEST_F(RocksDbUpgradeTest, AnUpgradeThatWasCutShortIsCompleted) {
  WriteVersion1(folder_, {"summaries", "findings", "jobs", "progress", "positions"});
  const auto opened = RocksDbStore::Open(OptionsFor(folder_));
  ASSERT_TRUE(opened.ok()) << opened.status();
  const RocksDbStore& store = **opened;
  EXPECT_EQ(ValueOf(store, Table::kFindings, "key"), "of findings");
}

}  // namespace
}  // namespace eroica
