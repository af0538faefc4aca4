#include "tests/evaluation/real/variation.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <set>
#include <utility>

namespace eroica {
namespace {

using Ranks = std::vector<uint32_t>;

// `parts` choices of every parts-th rank.
std::vector<Ranks> Strided(const Ranks& all, size_t parts) {
  std::vector<Ranks> choices(parts);
  for (size_t i = 0; i < all.size(); ++i) choices[i % parts].push_back(all[i]);
  return choices;
}

// `parts` choices of neighbors.
std::vector<Ranks> Blocks(const Ranks& all, size_t parts) {
  std::vector<Ranks> choices(parts);
  for (size_t i = 0; i < all.size(); ++i) choices[i * parts / all.size()].push_back(all[i]);
  return choices;
}

std::vector<Ranks> Shares(const Ranks& all, size_t parts) {
  if (all.size() < parts) return {};
  std::vector<Ranks> choices = Strided(all, parts);
  for (Ranks& block : Blocks(all, parts)) choices.push_back(std::move(block));
  return choices;
}

// The first of each group, the second of each, and so on. None where hosts are unknown.
std::vector<Ranks> OneOfEach(const RealJob& job) {
  std::map<std::string, Ranks> groups;
  for (const auto& [rank, host] : HostsOf(job.batches)) {
    if (job.tensor == 1 && host.empty()) return {};
    groups[job.tensor > 1 ? fmt::format("{:08}", rank / job.tensor) : host].push_back(rank);
  }
  size_t largest = 0;
  for (const auto& [name, ranks] : groups) largest = std::max(largest, ranks.size());
  std::vector<Ranks> choices(largest);
  for (size_t i = 0; i < largest; ++i) {
    for (const auto& [name, ranks] : groups) choices[i].push_back(ranks[i % ranks.size()]);
    std::sort(choices[i].begin(), choices[i].end());
  }
  return choices;
}

std::vector<Ranks> AllButOne(const Ranks& all) {
  std::vector<Ranks> choices;
  for (const uint32_t missing : all) {
    Ranks& ranks = choices.emplace_back();
    std::copy_if(all.begin(), all.end(), std::back_inserter(ranks),
                 [missing](uint32_t rank) { return rank != missing; });
  }
  return all.size() < 2 ? std::vector<Ranks>{} : choices;
}

std::vector<Variation> PartsOf(const RealJob& job, const Ranks& all) {
  const std::vector<std::pair<RecordedPart, std::vector<Ranks>>> parts = {
      {RecordedPart::kHalf, Shares(all, 2)},
      {RecordedPart::kQuarter, Shares(all, 4)},
      {RecordedPart::kOneOfEach, OneOfEach(job)},
      {RecordedPart::kAllButOne, AllButOne(all)}};
  std::set<Ranks> known = {all};
  std::vector<Variation> variations;
  for (const auto& [part, choices] : parts) {
    for (const Ranks& ranks : choices) {
      if (known.insert(ranks).second) variations.push_back({.part = part, .ranks = ranks});
    }
  }
  return variations;
}

}  // namespace

std::string_view ToString(RecordedPart part) {
  switch (part) {
    case RecordedPart::kAll: return "all";
    case RecordedPart::kHalf: return "half";
    case RecordedPart::kQuarter: return "quarter";
    case RecordedPart::kOneOfEach: return "one of each";
    case RecordedPart::kAllButOne: return "all but one";
  }
  return "unknown";
}

std::vector<Variation> VariationsOf(const RealJob& job) {
  const Ranks all = RanksOf(job.batches);
  std::vector<Variation> kinds = {{.ranks = all}};
  if (!job.without_stacks.empty()) kinds.push_back({.stacks = false, .ranks = all});
  for (Variation& part : PartsOf(job, all)) kinds.push_back(std::move(part));
  std::vector<Variation> variations;
  for (const uint32_t steps : job.window_steps) {
    for (const Variation& kind : kinds) {
      variations.push_back(kind);
      variations.back().window_steps = steps;
    }
  }
  if (StepCountOf(job.batches) > 0)
    variations.push_back({.step_marks = job.unmarked(), .ranks = all});
  return variations;
}

std::string WindowName(uint32_t window_steps) {
  if (window_steps >= kWholeJob) return "whole";
  return window_steps == 1 ? "1 step" : fmt::format("{} steps", window_steps);
}

}  // namespace eroica
