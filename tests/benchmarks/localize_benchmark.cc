// Building the view of a window, and localization from its dense columns: ranks x 20 functions on
// one core. DESIGN 12: 3 ms, 30 ms, 0.5 s at 1e4, 1e5, 1e6 ranks.
//
// Healthy: one tight cloud a function. Faulty: the same with 1 % of the ranks off in a third of the
// functions, and a function that few ranks run.
// Mixed: shares spread evenly over [0, 1], so that no box of the sample settles anything: the worst
// case. Roles: faulty, in 8 roles by turns, so that the columns have to be gathered.
#include <benchmark/benchmark.h>

#include <random>
#include <string>
#include <vector>

#include "diagnosis/differential/localize.h"
#include "diagnosis/synthetic_job.h"

namespace eroica {
namespace {

constexpr uint32_t kFunctions = 20;

enum class Data { kHealthy, kFaulty, kMixed };

struct Columns {
  // shared by all rows: what is asked of it are the class and, of the flagged, the critical time
  FunctionPattern pattern;
  std::vector<FunctionColumn> functions;
  std::vector<uint32_t> role;
};

PatternPoint Draw(std::mt19937& random, Data data, uint32_t function) {
  const auto unit = [&random] { return static_cast<float>(random() >> 8) * 0x1p-24f; };
  if (data == Data::kMixed) return {unit(), unit(), unit()};
  PatternPoint point{0.1f + 0.02f * static_cast<float>(function), 0.9f, 0.2f};
  for (float& value : point) value *= 0.97f + 0.06f * unit();
  if (data == Data::kFaulty && function % 3 == 0 && random() % 100 == 0)
    point[random() % 2] *= 0.4f;
  return point;
}

Columns Make(uint32_t ranks, Data data, uint32_t roles) {
  Columns columns;
  columns.pattern.resource_samples = 1;
  columns.functions.resize(kFunctions);
  std::mt19937 random(1);
  for (uint32_t f = 0; f < kFunctions; ++f) {
    FunctionColumn& column = columns.functions[f];
    column.function = FunctionId{f};
    const bool few = data == Data::kFaulty && f == kFunctions - 1;
    for (uint32_t rank = 0; rank < ranks; ++rank) {
      if (few && random() % 1'000 != 0) continue;
      const PatternPoint point = Draw(random, data, f);
      column.rank.push_back(rank);
      column.beta.push_back(point[0]);
      column.mu.push_back(point[1]);
      column.sigma.push_back(point[2]);
    }
    column.critical_ns.assign(column.size(), 0);
    column.pattern.assign(column.size(), nullptr);
  }
  for (uint32_t rank = 0; rank < ranks; ++rank) columns.role.push_back(rank % roles);
  return columns;
}

void BM_Localize(benchmark::State& state, Data data, uint32_t roles) {
  Columns columns = Make(static_cast<uint32_t>(state.range(0)), data, roles);
  double column_bytes = 0;
  for (FunctionColumn& column : columns.functions) {
    column.sample = &columns.pattern;
    column.pattern.assign(column.size(), &columns.pattern);
    column_bytes += static_cast<double>(column.size() *
                                        (sizeof(RankIndex) + 3 * sizeof(float) + sizeof(void*)));
  }
  const DifferentialInput input{
      .functions = columns.functions, .role = columns.role, .role_count = roles, .seed = 1};
  size_t flagged = 0;
  for (auto _ : state) {
    const DifferentialResult result = Localize(input);
    flagged = 0;
    for (const RoleComparison& comparison : result.comparisons) flagged += comparison.flagged;
    benchmark::DoNotOptimize(flagged);
  }
  state.counters["flagged"] = static_cast<double>(flagged);
  state.counters["column_MB"] = column_bytes / 1e6;
  state.counters["s_per_rank_function"] = benchmark::Counter(
      static_cast<double>(state.iterations()) * static_cast<double>(state.range(0)) * kFunctions,
      benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
}

// From the batches of a window to the view: columns and roles (pipeline of 8 stages, learnt from
// the pairs).
void BM_BuildView(benchmark::State& state) {
  constexpr uint32_t kStages = 8;
  const auto ranks = static_cast<uint32_t>(state.range(0));
  SyntheticJob job(ranks);
  for (uint32_t f = 0; f < kFunctions; ++f)
    job.RunOnAll(FunctionClass::kGpuCompute, "kernel" + std::to_string(f), 0.04, 0.9, 0.1);
  for (uint32_t first = 0; first < ranks; first += kStages) {
    CollectiveSummary& pipeline = job.Pipeline({});
    for (uint32_t rank = first; rank + 1 < first + kStages; ++rank) {
      pipeline.pairs.push_back(
          {.source = RankId{rank}, .destination = RankId{rank + 1}, .count = 40});
    }
  }
  for (auto _ : state) {
    const CrossRankView view(job.batches, job.summaries);
    if (view.role_count() != kStages) state.SkipWithError("the stages were not learnt");
    benchmark::DoNotOptimize(view.functions().data());
  }
}
BENCHMARK(BM_BuildView)->Arg(1'000)->Arg(10'000)->Arg(100'000)->Unit(benchmark::kMillisecond);

void Sizes(benchmark::internal::Benchmark* b) {
  b->Arg(10'000)->Arg(100'000)->Arg(1'000'000)->Unit(benchmark::kMillisecond);
}

BENCHMARK_CAPTURE(BM_Localize, healthy, Data::kHealthy, 1)->Apply(Sizes);
BENCHMARK_CAPTURE(BM_Localize, faulty, Data::kFaulty, 1)->Apply(Sizes);
BENCHMARK_CAPTURE(BM_Localize, faulty_8_roles, Data::kFaulty, 8)->Apply(Sizes);
BENCHMARK_CAPTURE(BM_Localize, mixed, Data::kMixed, 1)->Apply(Sizes);

}  // namespace
}  // namespace eroica

BENCHMARK_MAIN();
