// The store under a big job: the patterns of 10,000 ranks in one window, 40 KB each, written and
// scanned.
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
constexpr size_t kValueBytes = 40'000;

// Half noise, half repetition, as encoded patterns are.
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

WindowKey Window(int64_t index) { return {JobId("benchmark"), WindowKind::kTime, index}; }

// In commits of so many ranks at once.
bool WriteWindow(StateStore& store, int64_t index, uint32_t ranks_at_once,
                 const std::string& value) {
  for (uint32_t rank = 0; rank < kRanks;) {
    StateChanges changes;
    for (uint32_t i = 0; i < ranks_at_once; ++i, ++rank) {
      changes.Put(Table::kPatterns, EncodeKey(PatternKey{Window(index), RankId(rank)}), value);
    }
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
  int64_t index = 0;
  for (auto _ : state) {
    if (!WriteWindow(*store, index++, static_cast<uint32_t>(state.range(0)), value))
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

void BM_ScanWindow(benchmark::State& state) {
  const Folder folder;
  const auto store = Open(folder, state);
  if (store == nullptr) return;
  const std::string value = MakeValue();
  for (int64_t index = 0; index < 3; ++index) {
    if (!WriteWindow(*store, index, 100, value)) state.SkipWithError("a write failed");
  }
  const std::string prefix = EncodeKey(Window(1));
  for (auto _ : state) {
    size_t rows = 0;
    size_t bytes = 0;
    const absl::Status status =
        store->Scan(Table::kPatterns, prefix, [&](std::string_view, std::string_view row) {
          ++rows;
          bytes += row.size();
          return true;
        });
    if (!status.ok() || rows != kRanks) state.SkipWithError("the window is not whole");
    benchmark::DoNotOptimize(bytes);
  }
  state.SetItemsProcessed(state.iterations() * kRanks);
  state.SetBytesProcessed(state.iterations() * static_cast<int64_t>(kRanks * kValueBytes));
}
BENCHMARK(BM_ScanWindow)->Unit(benchmark::kMillisecond)->UseRealTime();

void BM_GetOneRank(benchmark::State& state) {
  const Folder folder;
  const auto store = Open(folder, state);
  if (store == nullptr || !WriteWindow(*store, 0, 100, MakeValue())) return;
  std::mt19937 random(1);
  for (auto _ : state) {
    const auto value = store->Get(
        Table::kPatterns,
        EncodeKey(PatternKey{Window(0), RankId(static_cast<uint32_t>(random() % kRanks))}));
    if (!value.ok() || !value->has_value()) state.SkipWithError("a rank is missing");
  }
}
BENCHMARK(BM_GetOneRank)->Unit(benchmark::kMicrosecond);

}  // namespace
}  // namespace eroica

BENCHMARK_MAIN();
