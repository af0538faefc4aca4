// Jobs made of a few lines, for the tests and benchmarks of diagnosis: patterns and summaries as
// summarize and align would have written them.
#pragma once

#include <algorithm>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "schemas/collective_summary.h"
#include "schemas/pattern_batch.h"

namespace eroica {

inline constexpr int64_t kSyntheticWindowNs = 10'000'000'000;

struct SyntheticJob {
  std::vector<PatternBatch> batches;
  std::vector<CollectiveSummary> summaries;

  explicit SyntheticJob(uint32_t world_size, bool host_only = false) {
    batches.resize(world_size);
    for (uint32_t rank = 0; rank < world_size; ++rank) {
      PatternBatch& batch = batches[rank];
      batch.job = JobId{"synthetic"};
      batch.rank = RankId{rank};
      batch.world_size = world_size;
      batch.host_only = host_only;
      batch.window = {.kind = WindowKind::kTime,
                      .index = 7,
                      .start_ns = 0,
                      .end_ns = kSyntheticWindowNs,
                      .first_step = 0,
                      .last_step = 9};
      for (int64_t step = 0; step < 10; ++step)
        batch.steps.push_back(
            {.id = step, .duration_ns = kSyntheticWindowNs / 10, .peer_wait_ns = 0});
    }
  }

  // Adds the function to the rank, or time to the function that it has. mu < 0: no resource
  // samples.
  FunctionPattern& Run(uint32_t rank, FunctionClass function_class, std::string_view name,
                       double beta, double mu = -1, double sigma = 0) {
    const FunctionId id = HashFunction(function_class, name, FunctionId{0});
    std::vector<FunctionPattern>& patterns = batches[rank].patterns;
    auto it =
        std::lower_bound(patterns.begin(), patterns.end(), id,
                         [](const FunctionPattern& p, FunctionId f) { return p.function < f; });
    if (it == patterns.end() || it->function != id) {
      it = patterns.insert(it, FunctionPattern{});
      it->function = id;
      it->name = name;
      it->function_class = function_class;
      it->active_steps = static_cast<uint32_t>(batches[rank].steps.size());
    }
    it->beta += beta;
    it->critical_ns += static_cast<int64_t>(beta * static_cast<double>(kSyntheticWindowNs));
    it->total_ns = it->critical_ns;
    it->count += 10;
    if (mu >= 0) {
      it->mu = mu;
      it->sigma = sigma;
      it->resource = Resource::kGpuSm;
      it->resource_samples = 1'000;
    }
    return *it;
  }

  void RunOnAll(FunctionClass function_class, std::string_view name, double beta, double mu = -1,
                double sigma = 0) {
    for (uint32_t rank = 0; rank < batches.size(); ++rank)
      Run(rank, function_class, name, beta, mu, sigma);
  }

  // A communicator in which the members ran collectives.
  CollectiveSummary& Group(const std::vector<uint32_t>& ranks, uint64_t bytes = 1'000'000) {
    CollectiveSummary& summary = Communicator();
    summary.operations = 10;
    summary.bytes = bytes;
    for (const uint32_t rank : ranks) {
      MemberSummary member;
      member.rank = RankId{rank};
      member.count = summary.operations;
      summary.members.push_back(member);
      batches[rank].communicators.push_back(summary.communicator);
    }
    return summary;
  }

  // A communicator with forward and backward traffic between the given neighbours.
  CollectiveSummary& Pipeline(std::initializer_list<std::pair<uint32_t, uint32_t>> neighbours,
                              uint64_t messages = 40) {
    CollectiveSummary& summary = Communicator();
    for (const auto& [a, b] : neighbours) {
      summary.pairs.push_back({.source = RankId{a}, .destination = RankId{b}, .count = messages});
      summary.pairs.push_back({.source = RankId{b}, .destination = RankId{a}, .count = messages});
    }
    return summary;
  }

 private:
  CollectiveSummary& Communicator() {
    CollectiveSummary& summary = summaries.emplace_back();
    summary.job = JobId{"synthetic"};
    summary.communicator = CommId{100 + summaries.size()};
    summary.world_size = static_cast<uint32_t>(batches.size());
    return summary;
  }
};

}  // namespace eroica
