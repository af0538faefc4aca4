#include "diagnosis/measurements/loader_workers.h"

#include <gtest/gtest.h>

#include <string>

namespace eroica {
namespace {

constexpr char kWait[] = "(waiting for the data loader's 2 workers, dataset Slow, train.py:3)";
constexpr char kFetch[] = "torch/utils/data/_utils/fetch.py(45): fetch";

FunctionPattern Row(const std::string& stack, const std::string& name, int64_t ms) {
  FunctionPattern row;
  row.name = name;
  row.stack = stack;
  row.total_ns = ms * 1'000'000;
  return row;
}

std::string Below(const std::string& caller, const std::string& function) {
  return caller + std::string(kStackSeparator) + function;
}

TEST(LoaderWorkers, AreInTheInnermostFunctionThatHoldsMostOfTheTime) {
  const std::string fetch = Below(kWait, kFetch);
  const std::string item = Below(fetch, "train.py(3): __getitem__");
  PatternBatch batch;
  batch.patterns = {Row("", kWait, 500), Row(item, "train.py(9): decode", 60),
                    Row(Below(item, "train.py(9): decode"), "train.py(20): resize", 20),
                    Row(item, "train.py(30): augment", 15),
                    Row(fetch, "collate.py(5): collate", 5)};
  const std::optional<WorkersPlace> place = PlaceOfWorkers(batch, kWait);
  ASSERT_TRUE(place);
  EXPECT_EQ(place->function, "train.py(9): decode");
  EXPECT_EQ(place->stack, "train.py(3): __getitem__");
  EXPECT_DOUBLE_EQ(place->share, 0.8);
}

TEST(LoaderWorkers, AreNowhereWhereNoFunctionHoldsMostOfTheTime) {
  PatternBatch batch;
  batch.patterns = {Row("", kWait, 500), Row(kWait, "a.py(1): a", 50),
                    Row(kWait, "b.py(1): b", 50)};
  EXPECT_FALSE(PlaceOfWorkers(batch, kWait));
}

TEST(LoaderWorkers, OfAnotherWaitDoNotCount) {
  PatternBatch batch;
  batch.patterns = {Row("", kWait, 500), Row("train.py(1): main", "train.py(2): step", 50),
                    Row("(waiting for the data loader's 1 worker, dataset A)", "a.py(1): a", 50)};
  EXPECT_FALSE(PlaceOfWorkers(batch, kWait));
}

}  // namespace
}  // namespace eroica
