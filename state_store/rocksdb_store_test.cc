// What only a store on disk can promise: a crash keeps whole batches, and what cannot be opened or
// written says why and what to do.
#include "state_store/rocksdb_store.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <memory>
#include <random>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "schemas/check.h"
#include "schemas/testing/throwing_log.h"
#include "state_store/key_schema.h"
#include "state_store/testing/opened_store.h"
#include "state_store/testing/small_disk.h"

namespace eroica {
namespace {

using ::testing::HasSubstr;
namespace fs = std::filesystem;

std::string Noise(size_t bytes, uint32_t seed) {
  std::mt19937 random(seed);
  std::string noise(bytes, '\0');
  for (char& c : noise) c = static_cast<char>(random());
  return noise;
}

class RocksDbStoreTest : public ::testing::Test {
 protected:
  // Death tests run this again in the child: the folder's name must be the same there.
  void SetUp() override {
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    folder_ = ::testing::TempDir() + "eroica_rocksdb_" +
              ::testing::UnitTest::GetInstance()->current_test_info()->name();
    fs::remove_all(folder_);
  }
  void TearDown() override { fs::remove_all(folder_); }

  std::string folder_;
};

TEST_F(RocksDbStoreTest, KeepsEverythingOverAReopen) {
  StateChanges changes;
  for (int table = 0; table < kTableCount; ++table)
    changes.Put(static_cast<Table>(table), "key", std::to_string(table));
  ASSERT_TRUE(OpenOrDie(OptionsFor(folder_ + "/made/on/the/way"))->Write(changes).ok());
  const auto store = OpenOrDie(OptionsFor(folder_ + "/made/on/the/way"));
  for (int table = 0; table < kTableCount; ++table)
    EXPECT_EQ(ValueOf(*store, static_cast<Table>(table), "key"), std::to_string(table));
}

TEST_F(RocksDbStoreTest, ASecondOpenIsRefused) {
  const auto first = OpenOrDie(OptionsFor(folder_));
  const auto second = RocksDbStore::Open(OptionsFor(folder_));
  EXPECT_EQ(second.status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(second.status().message(), HasSubstr(folder_ + " is already open"));
  EXPECT_THAT(second.status().message(),
              HasSubstr("stop that node, or give this one a folder of its own"));
  EXPECT_TRUE(first->Write(StateChanges()).ok());
}

StateChanges PutFinding(const std::string& key, const std::string& value) {
  StateChanges changes;
  changes.Put(Table::kFindings, key, value);
  return changes;
}

TEST_F(RocksDbStoreTest, IsReadBesideTheNodeThatWritesIt) {
  const auto store = OpenOrDie(OptionsFor(folder_));
  ASSERT_TRUE(store->Write(PutFinding("a", "1")).ok());  // in the write-ahead log only
  const auto before = RocksDbStore::OpenReadOnly(OptionsFor(folder_), kFindingsOnly);
  ASSERT_TRUE(before.ok()) << before.status();
  ASSERT_TRUE(store->Write(PutFinding("b", "2")).ok());
  StateChanges range;
  range.DeleteRange(Table::kFindings, "a", "b");
  ASSERT_TRUE(store->Write(range).ok());
  const auto after = RocksDbStore::OpenReadOnly(OptionsFor(folder_), kFindingsOnly);
  ASSERT_TRUE(after.ok()) << after.status();
  EXPECT_EQ(ValueOf(**before, Table::kFindings, "a"), "1");
  EXPECT_EQ(ValueOf(**before, Table::kFindings, "b"), "(nothing)");
  EXPECT_EQ(ValueOf(**after, Table::kFindings, "a"), "(nothing)");
  EXPECT_EQ(ValueOf(**after, Table::kFindings, "b"), "2");
  EXPECT_TRUE(store->Write(PutFinding("c", "3")).ok());
}

// Flushes and compactions replace the files below an open reader.
TEST_F(RocksDbStoreTest, AReaderKeepsItsStateWhileFilesAreReplaced) {
  const auto store = OpenOrDie(OptionsFor(folder_));
  constexpr int kRows = 2'000;
  const auto write_all = [&](uint32_t seed) {
    for (int i = 0; i < kRows; ++i)
      ASSERT_TRUE(store->Write(PutFinding(fmt::format("{:06}", i), Noise(4'096, seed))).ok());
  };
  write_all(1);
  const auto reader = RocksDbStore::OpenReadOnly(OptionsFor(folder_), kFindingsOnly);
  ASSERT_TRUE(reader.ok()) << reader.status();
  write_all(2);
  int rows = 0;
  const std::string first = Noise(4'096, 1);
  const absl::Status scanned =
      (*reader)->Scan(Table::kFindings, "", [&](std::string_view, std::string_view value) {
        rows += value == first ? 1 : 0;
        return true;
      });
  EXPECT_TRUE(scanned.ok()) << scanned;
  EXPECT_EQ(rows, kRows);
}

TEST_F(RocksDbStoreTest, ReadingMakesNoFolderAndNoFile) {
  EXPECT_EQ(RocksDbStore::OpenReadOnly(OptionsFor(folder_), kFindingsOnly).status().code(),
            absl::StatusCode::kNotFound);
  EXPECT_FALSE(fs::exists(folder_));
  OpenOrDie(OptionsFor(folder_));
  const auto files = [&] {
    std::set<std::string> names;
    for (const auto& file : fs::directory_iterator(folder_)) names.insert(file.path().filename());
    return names;
  };
  const std::set<std::string> before = files();
  EXPECT_TRUE(RocksDbStore::OpenReadOnly(OptionsFor(folder_), kFindingsOnly).ok());
  EXPECT_EQ(files(), before);
}

TEST_F(RocksDbStoreTest, ReadingRefusesWhatIsNoStoreOfThisVersion) {
  RocksDbStoreOptions options = OptionsFor(folder_);
  options.schema_version = 99;
  OpenOrDie(options);
  const auto other = RocksDbStore::OpenReadOnly(OptionsFor(folder_), kFindingsOnly);
  EXPECT_EQ(other.status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(other.status().message(), HasSubstr("schema version 99"));
  const auto missing = RocksDbStore::OpenReadOnly(OptionsFor(folder_ + "/no/such"), kFindingsOnly);
  EXPECT_THAT(missing.status().message(),
              HasSubstr("there is no state store in " + folder_ + "/no/such"));
}

// Holds a folder's lock as another process that has the store open would.
class OtherProcess {
 public:
  explicit OtherProcess(const std::string& lock_file) {
    int ready[2];
    EXPECT_EQ(pipe(ready), 0);
    EXPECT_EQ(pipe(release_), 0);
    child_ = fork();
    if (child_ == 0) {
      close(release_[1]);
      struct flock lock = {};
      lock.l_type = F_WRLCK;
      const int file = open(lock_file.c_str(), O_RDWR);
      char byte = fcntl(file, F_SETLK, &lock) == 0 ? 'y' : 'n';
      if (write(ready[1], &byte, 1) != 1 || read(release_[0], &byte, 1) < 0) _exit(1);
      _exit(0);
    }
    char byte = 'n';
    EXPECT_EQ(read(ready[0], &byte, 1), 1);
    EXPECT_EQ(byte, 'y');
    close(ready[0]);
    close(ready[1]);
  }
  ~OtherProcess() {
    close(release_[0]);
    close(release_[1]);  // ends the child's read
    int status = 0;
    waitpid(child_, &status, 0);
  }

 private:
  int release_[2] = {-1, -1};
  pid_t child_ = -1;
};

TEST_F(RocksDbStoreTest, TheStoreOfAnotherProcessIsRefusedUntilThatEnds) {
  { OpenOrDie(OptionsFor(folder_)); }
  {
    const OtherProcess other(folder_ + "/LOCK");
    const auto store = RocksDbStore::Open(OptionsFor(folder_));
    EXPECT_EQ(store.status().code(), absl::StatusCode::kFailedPrecondition);
    EXPECT_THAT(store.status().message(),
                HasSubstr(folder_ + " is already open in this or another process"));
  }
  EXPECT_TRUE(RocksDbStore::Open(OptionsFor(folder_)).ok());
}

TEST_F(RocksDbStoreTest, AFolderThatCannotBeMadeIsRefused) {
  fs::create_directories(folder_);
  std::ofstream(folder_ + "/file") << "no folder";
  const auto store = RocksDbStore::Open(OptionsFor(folder_ + "/file/store"));
  EXPECT_EQ(store.status().code(), absl::StatusCode::kPermissionDenied);
  EXPECT_THAT(store.status().message(), HasSubstr("cannot make the folder of the state store, " +
                                                  folder_ + "/file/store: Not a directory"));
  EXPECT_EQ(RocksDbStore::Open(RocksDbStoreOptions()).status().code(),
            absl::StatusCode::kInvalidArgument);
}

TEST_F(RocksDbStoreTest, AFolderThatCannotBeWrittenIsRefused) {
  fs::create_directories(folder_);
  fs::permissions(folder_, fs::perms::owner_read | fs::perms::owner_exec | fs::perms::others_read |
                               fs::perms::others_exec);
  EXPECT_EXIT(
      {
        constexpr uid_t kNobody = 65534;
        if (geteuid() == 0 && setuid(kNobody) != 0) std::_Exit(1);
        const auto store = RocksDbStore::Open(OptionsFor(folder_));
        std::fprintf(stderr, "%s", store.status().ToString().c_str());
        std::_Exit(store.status().code() == absl::StatusCode::kPermissionDenied ? 0 : 1);
      },
      ::testing::ExitedWithCode(0),
      "no permission to write to the folder of the state store, .*: give it to the user");
  fs::permissions(folder_, fs::perms::owner_all);
}

TEST_F(RocksDbStoreTest, TheStoreOfAnotherVersionIsRefused) {
  RocksDbStoreOptions later = OptionsFor(folder_);
  later.schema_version = kKeySchemaVersion + 1;
  { OpenOrDie(later); }
  const auto store = RocksDbStore::Open(OptionsFor(folder_));
  EXPECT_EQ(store.status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(store.status().message(),
              HasSubstr(fmt::format("{} has schema version {}, this eroica reads and writes {}",
                                    folder_, kKeySchemaVersion + 1, kKeySchemaVersion)));
  EXPECT_TRUE(RocksDbStore::Open(later).ok());
}

TEST_F(RocksDbStoreTest, ADamagedStoreIsRefused) {
  { OpenOrDie(OptionsFor(folder_)); }
  std::ofstream(folder_ + "/CURRENT") << "no manifest";
  const auto store = RocksDbStore::Open(OptionsFor(folder_));
  EXPECT_EQ(store.status().code(), absl::StatusCode::kDataLoss);
  EXPECT_THAT(store.status().message(), HasSubstr(folder_));
  EXPECT_THAT(store.status().message(), HasSubstr("move the folder away and restart"));
}

TEST_F(RocksDbStoreTest, AStoreThatLacksAFileIsRefused) {
  {
    const auto store = OpenOrDie(OptionsFor(folder_));
    for (uint32_t i = 0; i < 256; ++i) {  // more than the write buffer, so that there are files
      StateChanges changes;
      changes.Put(Table::kFindings, std::to_string(i), Noise(size_t{40} << 10, i));
      ASSERT_TRUE(store->Write(changes).ok());
    }
  }
  int removed = 0;
  for (const auto& entry : fs::directory_iterator(folder_)) {
    if (entry.path().extension() == ".sst") removed += fs::remove(entry.path()) ? 1 : 0;
  }
  ASSERT_GT(removed, 0);
  const auto store = RocksDbStore::Open(OptionsFor(folder_));
  EXPECT_EQ(store.status().code(), absl::StatusCode::kDataLoss);
  EXPECT_THAT(store.status().message(), HasSubstr("move the folder away and restart"));
}

// Batch n: a large finding and a job that name n, and the input position n.
StateChanges BatchOf(uint64_t n) {
  const std::string number = std::to_string(n);
  StateChanges changes;
  changes.Put(Table::kFindings, "finding",
              number + ":" + Noise(size_t{40} << 10, static_cast<uint32_t>(n)));
  changes.Put(Table::kJobs, "job", number);
  changes.Put(Table::kPositions, "position", number);
  return changes;
}

// The number of the batch that the store holds; every table must name the same.
uint64_t BatchIn(const StateStore& store) {
  const std::string position = ValueOf(store, Table::kPositions, "position");
  EXPECT_EQ(ValueOf(store, Table::kJobs, "job"), position);
  const std::string finding = ValueOf(store, Table::kFindings, "finding");
  EXPECT_EQ(finding.substr(0, finding.find(':')), position);
  return std::strtoull(position.c_str(), nullptr, 10);
}

class RocksDbStoreCrashTest : public RocksDbStoreTest,
                              public ::testing::WithParamInterface<useconds_t> {
 protected:
  void SetUp() override {
    RocksDbStoreTest::SetUp();
    folder_ = ::testing::TempDir() + "eroica_rocksdb_crash_" + std::to_string(GetParam());
    fs::remove_all(folder_);
  }
};

// The process dies by a signal in the middle of its writing, after the given time.
TEST_P(RocksDbStoreCrashTest, TheReopenedStoreIsThatOfOneWholeBatch) {
  const std::string acknowledged = folder_ + ".acknowledged";
  EXPECT_EXIT(
      {
        const auto store = OpenOrDie(OptionsFor(folder_));
        const int note = open(acknowledged.c_str(), O_CREAT | O_TRUNC | O_WRONLY, 0600);
        for (uint64_t n = 1;; ++n) {
          if (!store->Write(BatchOf(n)).ok() || pwrite(note, &n, sizeof(n), 0) != sizeof(n))
            std::_Exit(1);
          if (n == 1) ualarm(GetParam(), 0);
        }
      },
      ::testing::KilledBySignal(SIGALRM), "");
  uint64_t last_acknowledged = 0;
  std::ifstream(acknowledged, std::ios::binary)
      .read(reinterpret_cast<char*>(&last_acknowledged), sizeof(last_acknowledged));
  fs::remove(acknowledged);
  ASSERT_GE(last_acknowledged, 1u);

  const auto store = OpenOrDie(OptionsFor(folder_));
  const uint64_t recovered = BatchIn(*store);
  EXPECT_GE(recovered, last_acknowledged);
  EXPECT_LE(recovered, last_acknowledged + 1);  // the one in flight may have been whole
  ASSERT_TRUE(store->Write(BatchOf(recovered + 1)).ok());
  EXPECT_EQ(BatchIn(*store), recovered + 1);
}

INSTANTIATE_TEST_SUITE_P(After, RocksDbStoreCrashTest,
                         ::testing::Values(500, 5'000, 50'000, 300'000));

// Room for a store, and how it is made larger.
struct Disk {
  std::function<bool(const std::string& folder)> make;  // whether that is allowed here
  std::function<void(const std::string& folder)> make_room;
  std::string advice;
};

// One third of it is taken by something else until there is to be room.
Disk PartlyTakenDisk() {
  const auto disk = std::make_shared<SmallDisk>();
  const auto make = [disk](const std::string& folder) {
    if (!disk->Mount(folder, 24)) return false;
    disk->Fill(size_t{16} << 20);
    return true;
  };
  return {make, [disk](const std::string&) { disk->MakeRoom(); }, "make space"};
}

// The kernel lets no file of this process grow further, as under `ulimit -f`. That is allowed
// everywhere.
Disk SmallFiles() {
  const auto limit_to = [](rlim_t bytes) {
    rlimit limit{};
    EROICA_CHECK(getrlimit(RLIMIT_FSIZE, &limit) == 0);
    limit.rlim_cur = std::min(bytes, limit.rlim_max);
    return setrlimit(RLIMIT_FSIZE, &limit) == 0;
  };
  const auto make = [limit_to](const std::string&) {
    return std::signal(SIGXFSZ, SIG_IGN) != SIG_ERR && limit_to(rlim_t{12} << 20);
  };
  return {make, [limit_to](const std::string&) { EROICA_CHECK(limit_to(RLIM_INFINITY)); },
          "ulimit -f"};
}

constexpr int kNotPermitted = 77;

// Until that is refused: the answer, and in n the number of the batch.
absl::Status WriteBatches(StateStore& store, uint64_t* n) {
  absl::Status status;
  while (status.ok() && *n < 10'000) {
    StateChanges changes = BatchOf(++*n);
    changes.Put(Table::kFindings, "kept " + std::to_string(*n),
                Noise(size_t{40} << 10, static_cast<uint32_t>(*n)));
    status = store.Write(changes);
  }
  std::fprintf(stderr, "batch %lu: %s\n", *n, status.ToString().c_str());
  return status;
}

// 0: all as promised. Runs in a child process. Failures are printed by the caller.
int FillTheDisk(const Disk& disk, const std::string& folder) {
  if (!disk.make(folder)) return kNotPermitted;
  auto store = OpenOrDie(OptionsFor(folder + "/store"));
  uint64_t n = 0;
  const absl::Status status = WriteBatches(*store, &n);
  if (status.code() != absl::StatusCode::kResourceExhausted ||
      status.message().find(disk.advice) == std::string_view::npos)
    return 1;
  store.reset();
  disk.make_room(folder);
  store = OpenOrDie(OptionsFor(folder + "/store"));
  const uint64_t recovered = BatchIn(*store);
  std::fprintf(stderr, "recovered %lu\n", recovered);
  if (recovered != n - 1 && recovered != n) return 2;
  if (!store->Write(BatchOf(n + 1)).ok() || BatchIn(*store) != n + 1) return 3;
  return ::testing::Test::HasFailure() ? 4 : 0;
}

// As above, but it stays open.
int WaitForRoom(const Disk& disk, const std::string& folder) {
  if (!disk.make(folder)) return kNotPermitted;
  auto store = OpenOrDie(OptionsFor(folder + "/store"));
  uint64_t n = 0;
  if (!absl::IsResourceExhausted(WriteBatches(*store, &n)) || BatchIn(*store) != n - 1) return 1;
  if (!absl::IsResourceExhausted(store->Write(BatchOf(n)))) return 2;
  disk.make_room(folder);
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::minutes(1);
  while (!store->Write(BatchOf(n)).ok() && std::chrono::steady_clock::now() < deadline)
    std::this_thread::yield();
  if (BatchIn(*store) != n) return 3;
  store.reset();
  store = OpenOrDie(OptionsFor(folder + "/store"));
  if (BatchIn(*store) != n) return 4;
  return ::testing::Test::HasFailure() ? 5 : 0;
}

// Of a child that ends as one of the two functions above answers.
auto EndsWell(int* code) {
  return [code](int status) {
    *code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    return *code == 0 || *code == kNotPermitted;
  };
}

TEST_F(RocksDbStoreTest, AFullDiskIsSaidAndLosesNothing) {
  int code = -1;
  EXPECT_EXIT(std::_Exit(FillTheDisk(PartlyTakenDisk(), folder_)), EndsWell(&code), "");
  if (code == kNotPermitted) GTEST_SKIP() << kMayNotMountMessage;
}

TEST_F(RocksDbStoreTest, GoesOnByItselfOnceAFullDiskHasRoom) {
  int code = -1;
  EXPECT_EXIT(std::_Exit(WaitForRoom(PartlyTakenDisk(), folder_)), EndsWell(&code), "");
  if (code == kNotPermitted) GTEST_SKIP() << kMayNotMountMessage;
}

TEST_F(RocksDbStoreTest, ALimitOnFileSizesIsSaidAndLosesNothing) {
  EXPECT_EXIT(std::_Exit(FillTheDisk(SmallFiles(), folder_)), ::testing::ExitedWithCode(0), "");
}

// 0: the store answers as ever, though the log throws at every line of RocksDB's.
int FillTheDiskBesideAThrowingLog(const Disk& disk, const std::string& folder) {
  if (!disk.make(folder)) return kNotPermitted;
  const ThrowingLog log("rocksdb=");
  auto store = OpenOrDie(OptionsFor(folder + "/store"));
  uint64_t n = 0;
  if (!absl::IsResourceExhausted(WriteBatches(*store, &n))) return 1;
  if (BatchIn(*store) != n - 1) return 2;
  store.reset();
  std::fprintf(stderr, "threw %d times\n", log.thrown());
  return log.thrown() > 0 ? 0 : 3;
}

// RocksDB logs on threads of its own, which catch nothing.
// Throws at state_store/rocksdb_store.cc: RocksDB's log
TEST_F(RocksDbStoreTest, ALogThatThrowsEndsNoThreadOfRocksDbs) {
  EXPECT_EXIT(std::_Exit(FillTheDiskBesideAThrowingLog(SmallFiles(), folder_)),
              ::testing::ExitedWithCode(0), "threw [1-9]");
}

TEST_F(RocksDbStoreTest, ItsFolderAndFilesAreItsOwnersAlone) {
  const mode_t before = ::umask(0);
  OpenOrDie(OptionsFor(folder_ + "/inner"));
  ::umask(before);
  EXPECT_EQ(fs::status(folder_).permissions(), fs::perms::owner_all);
  EXPECT_EQ(fs::status(folder_ + "/inner").permissions(), fs::perms::owner_all);
  int files = 0;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder_ + "/inner")) {
    ++files;
    EXPECT_EQ(entry.status().permissions(), fs::perms::owner_read | fs::perms::owner_write)
        << entry.path();
  }
  EXPECT_GT(files, 3);
}

TEST_F(RocksDbStoreTest, APipeAmongItsFilesIsAnErrorAtOnce) {
  fs::create_directories(folder_);
  ASSERT_EQ(::mkfifo((folder_ + "/CURRENT").c_str(), 0600), 0);
  const auto opened = RocksDbStore::Open(OptionsFor(folder_));
  EXPECT_TRUE(absl::IsFailedPrecondition(opened.status())) << opened.status();
  EXPECT_THAT(std::string(opened.status().message()), HasSubstr("CURRENT"));
  EXPECT_TRUE(absl::IsFailedPrecondition(
      RocksDbStore::OpenReadOnly(OptionsFor(folder_), kFindingsOnly).status()));
}

}  // namespace
}  // namespace eroica
