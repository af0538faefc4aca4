// By how much the typical kernel takes longer at a place than is usual, by what bounds it.
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <vector>

#include "diagnosis/deciding_numbers.h"
#include "diagnosis/hypotheses/signature.h"
#include "diagnosis/statistics/robust_statistics.h"
#include "schemas/kernel_bound.h"

namespace eroica {

// Medians over the kernels by the time that they usually take: what a place has of its own under a
// name that others use, too, or what makes a single kernel longer, changes nothing.
class KernelGrowths {
 public:
  // growth: own / usual - 1.
  void Add(KernelBound bound, double growth, double usual_ns) {
    of_[static_cast<size_t>(bound)].push_back({growth, usual_ns});
  }

  // Whether kernels that arithmetic bounds take a good part of the time of those on data. Else
  // nothing is said of what memory bounds, and all that works on data counts as the former.
  bool bounds_are_known() const {
    const double arithmetic_ns = TimeOf(Of(KernelBound::kArithmetic));
    return arithmetic_ns > 0 && arithmetic_ns >= kLeastShare * TimeOf(OnData());
  }
  // Nothing where no such kernel was added. error: by which a healthy place may differ.
  std::optional<Change> compute(double error) const {
    return Typical(bounds_are_known() ? Of(KernelBound::kArithmetic) : OnData(), error);
  }
  std::optional<Change> memory(double error) const {
    const std::vector<Weighted>& memory = Of(KernelBound::kMemory);
    if (!bounds_are_known() || TimeOf(memory) < kLeastShare * TimeOf(OnData())) return std::nullopt;
    return Typical(memory, error);
  }
  std::optional<Change> parameters(double error) const {
    return Typical(Of(KernelBound::kParameters), error);
  }

 private:
  static constexpr double kLeastShare = 0.05;  // of the time of the kernels on data

  static double TimeOf(const std::vector<Weighted>& kernels) {
    double ns = 0;
    for (const Weighted& kernel : kernels) ns += kernel.weight;
    return ns;
  }
  static std::optional<Change> Typical(std::vector<Weighted> kernels, double error) {
    if (TimeOf(kernels) <= 0) return std::nullopt;
    return Change{.value = WeightedQuantile(std::span(kernels), kHalf), .error = error};
  }
  const std::vector<Weighted>& Of(KernelBound bound) const {
    return of_[static_cast<size_t>(bound)];
  }
  std::vector<Weighted> OnData() const {
    std::vector<Weighted> all;
    for (const KernelBound bound :
         {KernelBound::kUnknown, KernelBound::kArithmetic, KernelBound::kMemory})
      all.insert(all.end(), Of(bound).begin(), Of(bound).end());
    return all;
  }

  std::array<std::vector<Weighted>, 4> of_;
};

}  // namespace eroica
