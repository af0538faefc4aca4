// The store under a big job: how far the windows of 10,000 ranks are closed, 2 KB each, written
// with each window and read at a restart.
#include <benchmark/benchmark.h>

#include <filesystem>
#include <memory>
#include <random>
#include <string>
#include <utility>

#include "state_store/key_schema.h"
#include "state_store/rocksdb_store.h"

namespace eroica {
namespace {

constexpr uint32_t kRanks = 10'000;
constexpr size_t kValueBytes = 2'000;

// Half noise, half repetition, as encoded progress is.
std::string MakeValue() {
  std::mt19937 random(1);
  std::string value(kValueBytes, '\0');
  for (size_t i = 0; i < value.size(); i += 2) value[i] = static_cast<char>(random());
  return value;
}

class Folder {
 public:
  Folder() : path_(std::filesystem::temp_directory_path() / "eroica_store_benchmark") {
    std::filesystem::remove_all(path_);
  }
  ~Folder() { std::filesystem::remove_all(path_); }
  std::string path() const { return path_.string(); }

 private:
  std::filesystem::path path_;
};

std::unique_ptr<RocksDbStore> Open(const Folder& folder, benchmark::State& state) {
  RocksDbStoreOptions options;
  options.folder = folder.path();
  auto store = RocksDbStore::Open(options);
  if (!store.ok()) state.SkipWithError(store.status().ToString().c_str());
  return store.ok() ? *std::move(store) : nullptr;
}

const JobId kJob("benchmark");

std::string RankKey(uint32_t rank) {
  return BeginProgressKey(kJob, ProgressFamily::kRank).PutUint32(rank).key();
}

// In commits of so many ranks at once.
bool WriteWindow(StateStore& store, uint32_t ranks_at_once, const std::string& value) {
  for (uint32_t rank = 0; rank < kRanks;) {
    StateChanges changes;
    for (uint32_t i = 0; i < ranks_at_once; ++i, ++rank)
      changes.Put(Table::kProgress, RankKey(rank), value);
    changes.Put(Table::kPositions, "position", std::to_string(rank));
    if (!store.Write(changes).ok()) return false;
  }
  return true;
}

void BM_WriteWindow(benchmark::State& state) {
  const Folder folder;
  const auto store = Open(folder, state);
  if (store == nullptr) return;
  const std::string value = MakeValue();
  for (auto _ : state) {
    if (!WriteWindow(*store, static_cast<uint32_t>(state.range(0)), value))
      state.SkipWithError("a write failed");
  }
  state.SetItemsProcessed(state.iterations() * kRanks);
  state.SetBytesProcessed(state.iterations() * static_cast<int64_t>(kRanks * kValueBytes));
}
BENCHMARK(BM_WriteWindow)
    ->Arg(10)
    ->Arg(100)
    ->Iterations(5)
    ->Unit(benchmark::kMillisecond)
    ->UseRealTime();

void BM_ScanJob(benchmark::State& state) {
  const Folder folder;
  const auto store = Open(folder, state);
  if (store == nullptr) return;
  const std::string value = MakeValue();
  for (int window = 0; window < 3; ++window) {
    if (!WriteWindow(*store, 100, value)) state.SkipWithError("a write failed");
  }
  for (auto _ : state) {
    size_t rows = 0;
    size_t bytes = 0;
    const absl::Status status =
        store->Scan(Table::kProgress, EncodeKey(kJob), [&](std::string_view, std::string_view row) {
          ++rows;
          bytes += row.size();
          return true;
        });
    if (!status.ok() || rows != kRanks) state.SkipWithError("the job is not whole");
    benchmark::DoNotOptimize(bytes);
  }
  state.SetItemsProcessed(state.iterations() * kRanks);
  state.SetBytesProcessed(state.iterations() * static_cast<int64_t>(kRanks * kValueBytes));
}
BENCHMARK(BM_ScanJob)->Unit(benchmark::kMillisecond)->UseRealTime();

void BM_GetOneRank(benchmark::State& state) {
  const Folder folder;
  const auto store = Open(folder, state);
  if (store == nullptr || !WriteWindow(*store, 100, MakeValue())) return;
  std::mt19937 random(1);
  for (auto _ : state) {
    const auto value =
        store->Get(Table::kProgress, RankKey(static_cast<uint32_t>(random() % kRanks)));
    if (!value.ok() || !value->has_value()) state.SkipWithError("a rank is missing");
  }
}
BENCHMARK(BM_GetOneRank)->Unit(benchmark::kMicrosecond);

}  // namespace
}  // namespace eroica

BENCHMARK_MAIN();
