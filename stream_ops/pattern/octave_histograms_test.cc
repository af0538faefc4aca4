#include "stream_ops/pattern/octave_histograms.h"

#include <gtest/gtest.h>

#include <random>

namespace eroica {
namespace {

TEST(OctaveHistograms, EqualsTheSparseHistogramFilledOneByOne) {
  std::mt19937_64 random(3);
  OctaveHistograms histograms;
  histograms.Resize(3);
  std::vector<DurationHistogram> expected(3);
  for (int i = 0; i < 5000; ++i) {
    const uint32_t function = static_cast<uint32_t>(random() % 3);
    const uint64_t ns = random() >> (1 + random() % 63);
    histograms.Add(function, ns);
    expected[function].Add(ns);
  }
  for (uint32_t function = 0; function < 3; ++function) {
    DurationHistogram read;
    histograms.Read(function, &read);
    EXPECT_EQ(read, expected[function]);
  }
}

TEST(OctaveHistograms, LargestValueHasAPage) {
  OctaveHistograms histograms;
  histograms.Resize(1);
  histograms.Add(0, ~uint64_t{0});
  DurationHistogram read;
  histograms.Read(0, &read);
  EXPECT_EQ(read.count(), 1u);
}

TEST(OctaveHistograms, RecycledPagesStartEmpty) {
  OctaveHistograms histograms;
  histograms.Resize(2);
  histograms.Add(0, 100);
  histograms.Forget(0);
  histograms.Recycle();
  histograms.Add(1, 101);
  DurationHistogram read;
  histograms.Read(1, &read);
  EXPECT_EQ(read.count(), 1u);
  histograms.Read(0, &read);
  EXPECT_TRUE(read.empty());
}

}  // namespace
}  // namespace eroica
